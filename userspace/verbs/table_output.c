/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verbs/table_output.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/output.h"
#include "base/path.h"
#include "base/text.h"

static const char standard_output[] = "-";

enum table_output_type table_output_type(const char *spelled)
{
	if (!strcmp(spelled, standard_output))
		return TABLE_OUTPUT_STANDARD;
	return spelled[0] == '@' ? TABLE_OUTPUT_COMMAND : TABLE_OUTPUT_FILE;
}

/* BASE_REPORT.csv, with the options of a report behind it: BASE_cuda_gpu_kern_sum_base.csv */
static char *make_path(const char *spelled, const char *words, const char *capture,
		       enum report_format format)
{
	const char *base = strcmp(spelled, ".") ? spelled : capture;
	size_t length = strlen(base);
	struct text path = {0};

	if (base == capture) {
		const char *ending = strrchr(path_base_name(capture), '.');

		length = ending && ending != path_base_name(capture) ? (size_t)(ending - capture)
								     : strlen(capture);
		if (!strcmp(capture, standard_output))
			return make_path("stats", words, capture, format);
	}
	text_append_bytes(&path, base, length);
	/* In a folder it is the name of the report alone. */
	if (length && base[length - 1] != '/')
		text_append_char(&path, '_');
	for (const char *c = words; *c; c++)
		text_append_char(&path, strchr(":=/", *c) ? '_' : *c);
	text_appendf(&path, ".%s", report_format_ending(format));
	if (path.failed)
		text_free(&path);
	return path.data;
}

static ssize_t write_output(void *cookie, const char *data, size_t size_bytes)
{
	int result = output_write(cookie, data, size_bytes);

	if (result == 0)
		return size_bytes;
	errno = -result;
	return 0;
}

static int open_output(const char *path, struct table_output *output, struct err *err)
{
	int result = output_create(path, OUTPUT_PLAIN, &output->output, err);

	if (result < 0)
		return result;
	output->file =
		fopencookie(output->output, "w", (cookie_io_functions_t){.write = write_output});
	if (output->file)
		return 0;
	output->output = output_discard(output->output);
	return err_errno(err, -ENOMEM, "can't write %s", path);
}

static int open_command(const char *command, struct table_output *output, struct err *err)
{
	if (!*command)
		return err_set(err, -EINVAL, "-o @: no command stands behind the @");
	/* It would inherit that SIGPIPE is ignored. */
	signal(SIGPIPE, SIG_DFL);
	output->file = popen(command, "we");
	signal(SIGPIPE, SIG_IGN);
	if (!output->file)
		return err_errno(err, -errno, "can't start %s", command);
	/* So that nothing is left for pclose() to write, of which it could not tell that nobody wanted it. */
	setvbuf(output->file, NULL, _IONBF, 0);
	return 0;
}

int table_output_open(const char *spelled, const char *words, const char *capture,
		      enum report_format format, struct table_output *ret_output, struct err *err)
{
	struct table_output output = {0};
	enum table_output_type type = table_output_type(spelled);
	int result;

	signal(SIGPIPE, SIG_IGN);
	if (type == TABLE_OUTPUT_FILE)
		output.name = make_path(spelled, words, capture, format);
	else
		output.name = strdup(spelled + (type == TABLE_OUTPUT_COMMAND));
	if (!output.name)
		return err_errno(err, -ENOMEM, "can't write %s", spelled);
	if (type == TABLE_OUTPUT_COMMAND)
		result = open_command(output.name, &output, err);
	else
		result = open_output(output.name, &output, err);
	if (result < 0)
		free(output.name);
	else
		*ret_output = output;
	return result;
}

static int close_command(const struct table_output *output, struct err *err)
{
	int status = pclose(output->file);

	if (status < 0)
		return err_errno(err, -errno, "can't wait for %s", output->name);
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	if (WIFEXITED(status))
		return err_set(err, -EIO, "%s ended with exit code %d", output->name,
			       WEXITSTATUS(status));
	return err_set(err, -EIO, "%s was killed by signal %d", output->name, WTERMSIG(status));
}

int table_output_close(struct table_output *output, bool commit, struct err *err)
{
	bool is_standard = !strcmp(output->name, standard_output);
	int result = 0;

	if (!output->output) {
		result = close_command(output, err);
	} else {
		fclose(output->file); /* what failed, output knows */
		if (commit)
			result = output_commit(output->output, err);
		else
			output_discard(output->output);
	}
	if (result == -EPIPE && is_standard)
		result = 0;
	free(output->name);
	memset(output, 0, sizeof(*output));
	return result;
}
