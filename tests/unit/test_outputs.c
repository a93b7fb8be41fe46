/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "exporters/exporter.h"
#include "import/ndjson.h"
#include "options/options_table.h"
#include "verbs/input.h"
#include "verbs/outputs.h"
#include "reports/reports.h"

static int check_outputs(char **argv, int argc, struct err *err)
{
	struct options options;
	int result;

	memset(err, 0, sizeof(*err));
	CHECK_OK(options_parse(argc, argv, &options, err), *err);
	result = outputs_check(&options, err);
	options_free(&options);
	return result;
}

#define CHECK_OUTPUTS(...)                                                                    \
	check_outputs(                                                                        \
		(char *[]){(char *)"gpuprobe", (char *)"-p", (char *)"1", __VA_ARGS__, NULL}, \
		3 + (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), &err)

/* A folder of our own, in which the test runs. */
static void enter_folder(char folder[64])
{
	strcpy(folder, "/tmp/test_outputs.XXXXXX");
	CHECK(mkdtemp(folder));
	CHECK(chdir(folder) == 0);
}

static void leave_folder(const char *folder, const char *const *files)
{
	for (; *files; files++)
		unlink(*files);
	CHECK(chdir("/") == 0);
	CHECK(rmdir(folder) == 0);
}

TEST(good_outputs)
{
	static const char *const files[] = {NULL};
	struct err err = {0};
	char folder[64];

	enter_folder(folder);
	CHECK_OK(
		CHECK_OUTPUTS("-o", "a.json", "-o", "a.json.gz", "-o", "./b.ndjson", "-o", "c.gpr"),
		err);
	CHECK_OK(CHECK_OUTPUTS("-o", "a.json", "-o", "strange", "-f", "ndjson"), err);
	CHECK_OK(CHECK_OUTPUTS("-o", "-", "-f", "chrome"), err);
	CHECK_OK(CHECK_OUTPUTS("-q"), err);
	leave_folder(folder, files);
}

TEST(bad_outputs_are_wrong_usage)
{
	static const char *const files[] = {NULL};
	struct err err = {0};
	char folder[64];

	enter_folder(folder);
	CHECK(CHECK_OUTPUTS("-o", "a.foo") == -EINVAL && strstr(err.message, "a.foo"));
	CHECK(CHECK_OUTPUTS("-o", "a.json", "-f", "jsn") == -EINVAL && strstr(err.message, "jsn"));
	CHECK(CHECK_OUTPUTS("-o", "-") == -EINVAL && strstr(err.message, "-f"));
	CHECK(CHECK_OUTPUTS("-o", "a.json", "-o", "a.json") == -EINVAL &&
	      strstr(err.message, "twice"));
	CHECK(CHECK_OUTPUTS("-o", "a.json", "-o", "./a.json") == -EINVAL &&
	      strstr(err.message, "twice"));
	CHECK(CHECK_OUTPUTS("-o", "-", "-o", "-", "-f", "ndjson") == -EINVAL);
	leave_folder(folder, files);
}

TEST(bad_folders_are_failures)
{
	static const char *const files[] = {NULL};
	struct err err = {0};
	char folder[64];

	enter_folder(folder);
	CHECK(CHECK_OUTPUTS("-o", "none/a.json") == -ENOENT && strstr(err.message, "none"));
	CHECK(CHECK_OUTPUTS("-o", "/dev/null/a.json") == -ENOTDIR);
	CHECK(mkdir("d.json", 0700) == 0);
	CHECK(CHECK_OUTPUTS("-o", "d.json") == -EISDIR);
	rmdir("d.json");
	leave_folder(folder, files);
}

TEST(the_first_capture_among_the_outputs)
{
	char *argv[] = {(char *)"gpuprobe", (char *)"-p1",     (char *)"-oa.json",
			(char *)"-ob.gpr",  (char *)"-oc.gpr", NULL};
	struct options options;
	struct err err = {0};

	CHECK_OK(options_parse(5, argv, &options, &err), err);
	CHECK_STRING(outputs_capture_path(&options), "b.gpr");
	options_free(&options);
	CHECK_OK(options_parse(3, argv, &options, &err), err);
	CHECK(!outputs_capture_path(&options));
	options_free(&options);
}

static const char recording[] =
	"{\"kind\":\"probe\",\"id\":\"f\",\"name\":\"f\",\"binary\":\"/bin/a\"}\n"
	"{\"kind\":\"call\",\"ts\":10,\"dur\":7,\"pid\":1,\"tid\":1,\"probe\":\"f\"}\n";

static void write_file(const char *path, const char *data, size_t size_bytes)
{
	FILE *file = fopen(path, "w");

	CHECK(fwrite(data, 1, size_bytes, file) == size_bytes);
	fclose(file);
}

TEST(one_that_fails_leaves_the_others)
{
	static const char *const files[] = {"in.ndjson", "a.json", "b.gpr", "c.gpr", NULL};
	char *argv[] = {
		(char *)"gpuprobe",	 (char *)"export",  (char *)"in.ndjson", (char *)"-oa.json",
		(char *)"-onone/x.json", (char *)"-ob.gpr", (char *)"-oc.gpr",	 NULL};
	struct options options;
	struct input input, copy;
	struct err err = {0};
	char folder[64];

	enter_folder(folder);
	log_set_level(LOG_QUIET);
	write_file("in.ndjson", recording, strlen(recording));
	CHECK_OK(options_parse(7, argv, &options, &err), err);
	CHECK_OK(input_open("in.ndjson", &input, &err), err);
	CHECK(outputs_write(input.reader, input.fd, "c.gpr", &options) == -ENOENT);
	CHECK(access("a.json", F_OK) == 0);
	CHECK(access("c.gpr", F_OK) < 0); /* it is the capture that the recording itself writes */
	CHECK_OK(input_open("b.gpr", &copy, &err), err);
	input_close(&copy);
	input_close(&input);
	options_free(&options);
	leave_folder(folder, files);
}

TEST(inputs_that_are_none_are_refused)
{
	static const char *const files[] = {"empty", "gzip", "foreign", "bad.ndjson", NULL};
	struct input input;
	struct err err = {0};
	char folder[64];

	enter_folder(folder);
	write_file("empty", "", 0);
	write_file("gzip", "\x1f\x8b\x08", 3);
	write_file("foreign",
		   "\x7f"
		   "ELF and more of it, as long as a header of a capture may be",
		   60);
	write_file("bad.ndjson", "{\"kind\":\"cal\",\"ts\":1}\n", 22);
	CHECK(input_open("none", &input, &err) == -ENOENT && strstr(err.message, "none"));
	CHECK(input_open(".", &input, &err) == -EISDIR);
	CHECK(input_open("empty", &input, &err) < 0 && strstr(err.message, "empty"));
	CHECK(input_open("gzip", &input, &err) < 0 && strstr(err.message, "gunzip"));
	CHECK(input_open("foreign", &input, &err) < 0 && strstr(err.message, "no capture"));
	CHECK(input_open("bad.ndjson", &input, &err) < 0 && strstr(err.message, "bad.ndjson:1"));
	leave_folder(folder, files);
}

TEST(summary_shows_functions)
{
	static const char *const files[] = {"in.ndjson", NULL};
	struct input input;
	struct err err = {0};
	char folder[64], *data = NULL;
	size_t size;
	FILE *file = open_memstream(&data, &size);

	enter_folder(folder);
	write_file("in.ndjson", recording, strlen(recording));
	CHECK_OK(input_open("in.ndjson", &input, &err), err);
	CHECK_OK(summary_print(input.reader, &(struct blocks_style){.file = file}, &err), err);
	fclose(file);
	CHECK(strstr(data, "\nfunctions ") && strstr(data, "  f\n"));
	free(data);
	input_close(&input);
	leave_folder(folder, files);
}

/* What completion offers is what there is. */
TEST(words_of_completion_are_the_formats_and_reports)
{
	size_t exporter_count, report_count;
	const struct exporter *exporter = exporters(&exporter_count);
	const struct report *report = reports(&report_count);
	struct text formats = {0}, names = {0}, endings = {0};

	for (size_t i = 0; i < exporter_count; i++) {
		text_appendf(&formats, "%s%s", i ? " " : "", exporter[i].format);
		/* "/" is no ending of files: folders are offered anyway. */
		for (const char *c = exporter[i].suffixes; *c; c++)
			if (!strncmp(c, "/ ", 2))
				c++;
			else if (*c != '.' || (c > exporter[i].suffixes && c[-1] != ' '))
				text_append_char(&endings, *c);
		text_append_char(&endings, ' ');
	}
	text_append(&endings, "gpr");
	for (size_t i = 0; i < report_count; i++)
		text_appendf(&names, "%s%s", i ? " " : "", report[i].name);
	for (const struct words_row *row = words_rows; row->member; row++) {
		if (strcmp(row->member, "outputs") == 0)
			CHECK_STRING(row->words, text_string(&endings));
		if (strcmp(row->member, "format") == 0 && row->verbs & VERB_EXPORT)
			CHECK_STRING(row->words, text_string(&formats));
		if (strcmp(row->member, "report") == 0)
			CHECK_STRING(row->words, text_string(&names));
	}
	text_free(&formats);
	text_free(&names);
	text_free(&endings);
}

UNIT_MAIN()
