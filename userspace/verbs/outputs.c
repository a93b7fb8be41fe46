/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verbs/outputs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/log.h"
#include "base/output.h"
#include "base/temporary_file.h"
#include "explain/explain.h"
#include "exporters/exporter.h"
#include "steps/view_steps.h"
#include "why/why_times.h"

#define CHUNK_BYTES (256 * 1024)

/* Where an output lies: two with the same are one file, however they are spelled. */
struct place {
	dev_t device;
	ino_t folder;
	char name[NAME_MAX + 1];
};

/* The end of the name decides; -f where it says nothing. ret_exporter NULL: the capture itself. */
static int find_exporter(const struct options *options, const char *path,
			 const struct exporter **ret_exporter, struct err *err)
{
	if (exporter_find(path, NULL, ret_exporter, err) == 0)
		return 0;
	if (!options->format && strcmp(path, "-") == 0)
		return err_set(err, -EINVAL, "-o -: the format of standard output is given by -f");
	if (!options->format)
		return -EINVAL;
	return exporter_find(path, options->format, ret_exporter, err);
}

static int find_place(const char *path, struct place *ret_place, struct err *err)
{
	_cleanup_close_ int folder = -1;
	struct stat status;
	int result;

	memset(ret_place, 0, sizeof(*ret_place));
	if (strcmp(path, "-") == 0) {
		strcpy(ret_place->name, path);
		return 0;
	}
	result = folder_open_parent(path, &folder, ret_place->name, err);
	if (result < 0)
		return result;
	if (fstat(folder, &status) < 0)
		return err_errno(err, -errno, "can't write %s", path);
	ret_place->device = status.st_dev;
	ret_place->folder = status.st_ino;
	return 0;
}

static bool same_place(const struct place *a, const struct place *b)
{
	return a->device == b->device && a->folder == b->folder && strcmp(a->name, b->name) == 0;
}

int outputs_check(const struct options *options, struct err *err)
{
	const struct options_list *outputs = &options->outputs;
	_cleanup_free_ struct place *places = calloc(outputs->count + 1, sizeof(*places));
	const struct exporter *exporter;
	int result;

	if (!places)
		return err_errno(err, -ENOMEM, "can't check the outputs");
	/* Also where no output needs it. */
	if (options->format) {
		result = exporter_find("-", options->format, &exporter, err);
		if (result < 0)
			return result;
	}
	for (size_t i = 0; i < outputs->count; i++) {
		result = find_exporter(options, outputs->items[i], &exporter, err);
		if (result == 0)
			result = exporter_check(exporter, outputs->items[i], err);
		/* Each profile in a folder has a name of its own. */
		if (result == 0 && exporter_is_folder(exporter, outputs->items[i]))
			continue;
		if (result == 0)
			result = find_place(outputs->items[i], &places[i], err);
		if (result < 0)
			return result;
		for (size_t j = 0; j < i; j++)
			if (*places[j].name && same_place(&places[i], &places[j]))
				return err_set(err, -EINVAL,
					       "-o %s: the same output is named twice",
					       outputs->items[i]);
	}
	return 0;
}

const char *outputs_capture_path(const struct options *options)
{
	const struct exporter *exporter;

	for (size_t i = 0; i < options->outputs.count; i++)
		if (find_exporter(options, options->outputs.items[i], &exporter, NULL) == 0 &&
		    !exporter)
			return options->outputs.items[i];
	return NULL;
}

char *outputs_name_beside(const struct options *options, const char *path, const char *end)
{
	const struct exporter *exporter = NULL;
	size_t length = strlen(path);
	char *beside = NULL;
	bool is_folder = find_exporter(options, path, &exporter, NULL) == 0 &&
			 exporter_is_folder(exporter, path);

	if (!is_folder && !output_is_file(path))
		return NULL;
	while (is_folder && length && path[length - 1] == '/')
		length--;
	if (!length || path[length - 1] == '.' ||
	    asprintf(&beside, "%.*s%s", (int)length, path, end) < 0)
		return NULL;
	/* A folder that is still to be made has nothing beside it. */
	if (!is_folder || output_is_file(beside))
		return beside;
	free(beside);
	return NULL;
}

static int copy_capture(int capture_fd, const char *path, u64 *ret_size_bytes, struct err *err)
{
	_cleanup_free_ char *chunk = malloc(CHUNK_BYTES);
	struct output *output;
	u64 offset = 0;
	int result;

	if (!chunk)
		return err_errno(err, -ENOMEM, "can't write %s", path);
	result = output_create(path, OUTPUT_PLAIN, &output, err);
	if (result < 0)
		return result;
	while (result == 0) {
		ssize_t size_bytes = file_read_at(capture_fd, chunk, CHUNK_BYTES, offset);

		if (size_bytes < 0) {
			result = err_errno(err, (int)size_bytes,
					   "can't write %s: reading the capture", path);
			output_discard(output);
			return result;
		}
		if (size_bytes == 0)
			break;
		offset += size_bytes;
		result = output_write(output, chunk, size_bytes);
	}
	*ret_size_bytes = offset;
	return output_commit(output, err);
}

/* "812 bytes", "1.2 MB", "41 MB" */
static const char *size_text(u64 size_bytes, char buffer[32])
{
	static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
	double size = size_bytes;
	size_t unit = 0;

	while (size >= 999.5 && unit + 1 < ARRAY_SIZE(units)) {
		size /= 1000;
		unit++;
	}
	snprintf(buffer, 32, "%.*f %s", unit && size < 9.95 ? 1 : 0, size, units[unit]);
	return buffer;
}

static int write_one(struct view **view, struct capture_reader *reader, int capture_fd,
		     const struct options *options, const char *path)
{
	const struct exporter *exporter = NULL;
	struct err err = {0};
	u64 size_bytes = 0;
	char size[32];
	int result;

	result = find_exporter(options, path, &exporter, &err);
	if (result == 0 && exporter && !*view) {
		result = view_open(reader, view, &err);
		if (result == 0 && view_set_step_name(*view, options->step_name) < 0)
			result = err_errno(&err, -ENOMEM, "can't read the capture");
	}
	if (result == 0 && exporter)
		result = exporter_write(exporter, *view, path, &size_bytes, &err);
	else if (result == 0)
		result = copy_capture(capture_fd, path, &size_bytes, &err);
	/* Whoever read standard output has seen enough. */
	if (result == -EPIPE && strcmp(path, "-") == 0)
		return 0;
	if (result < 0)
		log_error("%s", err.message);
	else if (strcmp(path, "-") != 0)
		log_info("wrote %s (%s): %s", path, size_text(size_bytes, size),
			 exporter ? exporter->meaning : "the capture, for export and stats");
	return result;
}

/* Once, of all outputs. */
static void warn_of_steps(const struct view *view)
{
	const char *why = view_steps_why_short(view);

	if (why)
		log_warning("steps that no name tells were looked for among the first launches "
			    "only: %s",
			    why);
}

int outputs_write(struct capture_reader *reader, int capture_fd, const char *capture_path,
		  const struct options *options)
{
	struct view *view = NULL;
	int first_result = 0;

	for (size_t i = 0; i < options->outputs.count; i++) {
		const char *path = options->outputs.items[i];
		int result;

		if (capture_path && strcmp(path, capture_path) == 0)
			continue;
		result = write_one(&view, reader, capture_fd, options, path);
		if (first_result == 0)
			first_result = result;
	}
	if (view && why_times_missing(view))
		log_warning("traces are without why GPUs were idle: %s", why_times_missing(view));
	if (view)
		warn_of_steps(view);
	view_free(view);
	return first_result;
}

/* Of a recording with work of GPUs; it takes some of the lines. */
static int print_verdict(struct view *view, struct blocks_style *style, struct err *err)
{
	static const u16 work[VIEW_ROW_KINDS_MAX] = {VIEW_GPU_WORK};
	const struct explain_style brief = {
		.brief = true,
		.columns = style->columns && style->columns < EXPLAIN_COLUMNS ? style->columns
									      : EXPLAIN_COLUMNS,
	};
	_cleanup_text_ struct text text = {0};
	int result;

	if (!view_has_any(view, work))
		return 0;
	result = explain_append(view, &brief, &text, err);
	if (temporary_file_is_failure(result)) {
		log_warning("the verdict is left out: %s", err->message);
		return 0;
	}
	if (result < 0)
		return result;
	fprintf(style->file, "\n%s", text_string(&text));
	style->has_verdict = true;
	style->lines_elsewhere++;
	for (const char *line = text_string(&text); (line = strchr(line, '\n')); line++)
		style->lines_elsewhere++;
	return 0;
}

int summary_print(struct capture_reader *reader, const struct blocks_style *asked, struct err *err)
{
	struct blocks_style style = *asked;
	struct view *view = NULL;
	int result;

	result = view_open(reader, &view, err);
	if (result == 0)
		result = print_verdict(view, &style, err);
	if (result == 0)
		result = blocks_print(view, &style, err);
	view_free(view);
	return result;
}
