/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/xplane/xplane_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/output.h"
#include "base/output_folder.h"

#define PROFILE_FOLDER	  "plugins/profile"
#define RUN_ATTEMPTS	  100
#define ENVIRONMENT_PLANE "Task Environment"
#define UNKNOWN_HOST	  "localhost"
#define HOST_BYTES_MAX	  200 /* with a number and a suffix behind it, it is the name of a file */
#define PATH_BYTES_MAX	  4096

bool xplane_path_is_folder(const char *path)
{
	size_t length = strlen(path), end = strlen(XPLANE_SUFFIX);

	return strcmp(path, "-") != 0 &&
	       (length < end || strcmp(path + length - end, XPLANE_SUFFIX) != 0);
}

int xplane_path_check(const char *path, struct err *err)
{
	_cleanup_free_ char *folder = NULL;

	if (asprintf(&folder, "%s/" PROFILE_FOLDER, path) < 0)
		return err_errno(err, -ENOMEM, "can't write %s", path);
	return output_folder_check(folder, err);
}

int xplane_too_large(const char *path, struct err *err)
{
	return err_set(err, -EFBIG,
		       "can't write %s: a file would be larger than 2 GiB, which readers of XPlane "
		       "refuse. Record "
		       "for a shorter time (-d), or less (gpuprobe help record: levels, "
		       "--no-blocking, -F)",
		       path);
}

/* ---- what is known of the recording ---- */

/* In file names too: readers take what stands before the colon or the end of the name. */
static void host_name(const struct view *view, struct text *ret_name)
{
	const char *name = view_attribute(view, "host", "hostname");

	for (const char *at = name ? name : UNKNOWN_HOST; *at && ret_name->length < HOST_BYTES_MAX;
	     at++) {
		bool is_plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
				(*at >= '0' && *at <= '9') || *at == '-' || *at == '_' ||
				(*at == '.' && ret_name->length);

		text_append_char(ret_name, is_plain ? *at : '_');
	}
	if (!ret_name->length)
		text_append(ret_name, UNKNOWN_HOST);
}

/* Where the absolute times are: everything else counts from the start. */
static int make_environment(const struct xplane_rows *rows, struct xplane_plane *ret_plane)
{
	u64 offset_ns = rows->survey->realtime_offset_ns;
	int result = xplane_plane_init(ret_plane, 0, ENVIRONMENT_PLANE);

	if (result == 0 && offset_ns)
		result = xplane_plane_add_u64(ret_plane, "profile_start_time",
					      rows->start_ns + offset_ns);
	if (result == 0 && offset_ns)
		result = xplane_plane_add_u64(ret_plane, "profile_stop_time",
					      rows->end_ns + offset_ns);
	return result;
}

/* All but the planes. */
static int pack_tail(const struct xplane_messages *messages, const char *host,
		     struct text *ret_tail)
{
	Tensorflow__Profiler__XSpace message = TENSORFLOW__PROFILER__XSPACE__INIT;
	_cleanup_free_ u8 *bytes = NULL;
	char *hosts[] = {(char *)host};

	message.n_errors = messages->errors.count;
	message.errors = messages->errors.strings;
	message.n_warnings = messages->warnings.count;
	message.warnings = messages->warnings.strings;
	message.n_hostnames = 1;
	message.hostnames = hosts;
	bytes = malloc(tensorflow__profiler__xspace__get_packed_size(&message) + 1);
	if (bytes)
		text_append_bytes(ret_tail, bytes,
				  tensorflow__profiler__xspace__pack(&message, bytes));
	return !bytes || ret_tail->failed ? -ENOMEM : 0;
}

/* ---- one file ---- */

struct file {
	const char *path;
	const struct spool_store *store;
	struct text *heads; /* of each plane */
	struct text tail;
	struct xplane_plane environment;
	u64 size_bytes;
};

struct destination {
	struct output *output;
	bool failed; /* which output_commit() tells of */
};

static int write_bytes(void *data, const void *bytes, size_t size_bytes)
{
	struct destination *destination = data;
	int result = output_write(destination->output, bytes, size_bytes);

	destination->failed |= result < 0;
	return result;
}

static struct xplane_plane *plane_of(struct file *file, struct xplane_rows *rows,
				     const struct xplane_space *space, size_t index)
{
	if (index < space->plane_count)
		return &rows->planes[space->first_plane + index];
	return index == space->plane_count ? &file->environment : space->metadata;
}

static size_t plane_count_of(const struct xplane_space *space)
{
	return space->plane_count + 1 + (space->metadata != NULL);
}

static int pack_file(struct file *file, struct xplane_rows *rows, const struct xplane_space *space,
		     struct err *err)
{
	u64 size_bytes;
	int result = 0;

	file->heads = calloc(plane_count_of(space), sizeof(*file->heads));
	if (!file->heads)
		return err_errno(err, -ENOMEM, "can't write %s", file->path);
	for (size_t i = 0; i < plane_count_of(space) && result == 0; i++) {
		result = xplane_plane_pack(plane_of(file, rows, space, i), &file->heads[i],
					   &size_bytes, err);
		if (result == 0)
			file->size_bytes += size_bytes;
	}
	file->size_bytes += file->tail.length;
	if (result == 0 && file->size_bytes > XPLANE_FILE_BYTES_MAX)
		result = xplane_too_large(file->path, err);
	return result;
}

static int write_file(struct file *file, struct xplane_rows *rows, const struct xplane_space *space,
		      struct err *err)
{
	struct destination destination = {0};
	int result = output_create(file->path, OUTPUT_PLAIN, &destination.output, err);

	if (result < 0)
		return result;
	for (size_t i = 0; i < plane_count_of(space) && result == 0; i++)
		result = xplane_plane_write(plane_of(file, rows, space, i), &file->heads[i],
					    file->store, write_bytes, &destination, err);
	if (result == 0)
		result = write_bytes(&destination, file->tail.data, file->tail.length);
	if (result == 0 || destination.failed)
		return output_commit(destination.output, err);
	output_discard(destination.output);
	return result;
}

static int write_space(const char *path, const struct xplane_messages *messages,
		       struct xplane_rows *rows, const struct xplane_space *space,
		       const struct spool_store *store, const char *host, u64 *ret_size_bytes,
		       struct err *err)
{
	struct file file = {.path = path, .store = store};
	int result = make_environment(rows, &file.environment);

	if (result == 0)
		result = pack_tail(messages, host, &file.tail);
	if (result < 0)
		result = err_errno(err, result, "can't write %s", path);
	if (result == 0)
		result = pack_file(&file, rows, space, err);
	if (result == 0)
		result = write_file(&file, rows, space, err);
	if (result == 0)
		*ret_size_bytes += file.size_bytes;
	for (size_t i = 0; file.heads && i < plane_count_of(space); i++)
		text_free(&file.heads[i]);
	free(file.heads);
	text_free(&file.tail);
	xplane_plane_free(&file.environment);
	return result;
}

/* ---- all of them ---- */

/* A folder of the run's own, which shows when it was recorded. */
static int make_run(const char *path, const struct view_survey *survey,
		    struct output_folder *ret_folder, struct err *err)
{
	u64 start_ns = survey->window_start_ns + survey->realtime_offset_ns;
	time_t seconds =
		survey->realtime_offset_ns ? (time_t)(start_ns / NS_PER_SECOND) : time(NULL);
	char run[64], full[PATH_BYTES_MAX];
	struct tm local;

	if (!localtime_r(&seconds, &local) ||
	    !strftime(run, sizeof(run), "%Y_%m_%d_%H_%M_%S", &local))
		return err_set(err, -ERANGE, "can't write %s: the recording has no time of day",
			       path);
	for (int attempt = 1; attempt <= RUN_ATTEMPTS; attempt++) {
		char number[16] = "";
		int result;

		if (attempt > 1)
			snprintf(number, sizeof(number), "_%d", attempt);
		if (snprintf(full, sizeof(full), "%s/" PROFILE_FOLDER "/%s%s", path, run, number) >=
		    (int)sizeof(full))
			return err_errno(err, -ENAMETOOLONG, "can't write %s", path);
		result = output_folder_make(ret_folder, full, err);
		if (result < 0)
			return result;
		if (ret_folder->existing_length < strlen(ret_folder->path))
			return 0;
		output_folder_free(ret_folder);
	}
	return err_set(err, -EEXIST, "can't write %s: it has %d profiles of that second already",
		       path, RUN_ATTEMPTS);
}

/* One process: the host's name. More: each its own, of which readers make one run with many hosts. */
static char *file_path(const char *folder, const struct xplane_rows *rows,
		       const struct xplane_space *space, const char *host)
{
	char *path = NULL;
	int length;

	if (rows->space_count == 1)
		length = asprintf(&path, "%s/%s" XPLANE_SUFFIX, folder, host);
	else
		length = asprintf(&path, "%s/%s_%u" XPLANE_SUFFIX, folder, host, space->pid);
	return length < 0 ? NULL : path;
}

static int write_folder(const char *path, const struct view_survey *survey,
			const struct xplane_messages *messages, struct xplane_rows *rows,
			const struct spool_store *store, const char *host, u64 *ret_size_bytes,
			struct err *err)
{
	struct output_folder folder = {0};
	size_t count = 0;
	int result = make_run(path, survey, &folder, err);

	if (result < 0)
		return result;
	for (; count < rows->space_count && result == 0; count++) {
		_cleanup_free_ char *file =
			file_path(folder.path, rows, &rows->spaces[count], host);

		result = file ? write_space(file, messages, rows, &rows->spaces[count], store, host,
					    ret_size_bytes, err)
			      : err_errno(err, -ENOMEM, "can't write %s", path);
	}
	while (result < 0 && count--) {
		_cleanup_free_ char *file =
			file_path(folder.path, rows, &rows->spaces[count], host);

		if (file)
			unlink(file);
	}
	if (result < 0)
		output_folder_remove(&folder);
	output_folder_free(&folder);
	return result;
}

int xplane_files_write(const char *path, const struct view *view, struct xplane_rows *rows,
		       const struct xplane_messages *messages, const struct spool_store *store,
		       u64 *ret_size_bytes, struct err *err)
{
	const struct view_survey *survey = view_survey(view);
	struct text host _cleanup_text_ = {0};
	u64 size_bytes = 0;
	int result;

	host_name(view, &host);
	if (host.failed)
		return err_errno(err, -ENOMEM, "can't write %s", path);
	if (xplane_path_is_folder(path))
		result = write_folder(path, survey, messages, rows, store, text_string(&host),
				      &size_bytes, err);
	else if (rows->space_count > 1)
		result = err_set(err, -EINVAL,
				 "can't write %s: the recording is of %zu processes, and a file "
				 "holds one. Name a "
				 "folder: -o logdir/",
				 path, rows->space_count);
	else
		result = write_space(path, messages, rows, &rows->spaces[0], store,
				     text_string(&host), &size_bytes, err);
	if (result == 0 && ret_size_bytes)
		*ret_size_bytes = size_bytes;
	return result;
}
