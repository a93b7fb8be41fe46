/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <stdio.h>
#include <unistd.h>

#include "store/capture_reader.h"
#include "store/capture_writer.h"
#include "reports/report_help.h"
#include "reports/report_runs.h"
#include "reports/report_table.h"

static const struct column_words {
	const char *report, *column;
} words[] = {
#define WORDS(report, column, words) {report, column},
#include "reports/report_words.def"
};

struct nothing {
	FILE *file;
	struct capture_reader *reader;
	struct view *view;
};

static void open_nothing(struct nothing *nothing)
{
	struct capture_writer *writer = NULL;
	struct err err = {0};

	nothing->file = tmpfile();
	CHECK_OK(capture_writer_create(fileno(nothing->file), &writer, &err), err);
	CHECK_OK(capture_writer_finish(writer, &err), err);
	capture_writer_free(writer);
	CHECK_OK(capture_reader_open(fileno(nothing->file), &nothing->reader, &err), err);
	CHECK_OK(view_open(nothing->reader, &nothing->view, &err), err);
}

static void close_nothing(struct nothing *nothing)
{
	view_free(nothing->view);
	capture_reader_free(nothing->reader);
	fclose(nothing->file);
}

/* name: with its unit. */
static bool is_about(const struct column_words *about, const struct report *report,
		     const char *name)
{
	size_t length = strlen(about->column);

	if (strncmp(about->column, name, length) != 0 ||
	    (name[length] && strncmp(name + length, " (", 2) != 0))
		return false;
	return !*about->report || !strcmp(about->report, report->name);
}

/* Marks what words say of the columns of a report. */
static void check_report(const struct report_request request, struct view *view, bool *used)
{
	const struct report *report = request.report;
	_cleanup_report_table_ struct report_table table = {0};
	struct err err = {0};

	CHECK_OK(report_runs_one(view, &request, &table, &err), err);
	CHECK(table.title && table.column_count && !table.row_count);
	for (size_t i = 0; i < table.column_count; i++) {
		const char *name = table.columns[i].name;

		if (!report_column_words(report, name))
			fprintf(stderr, "%s: nothing says what \"%s\" is\n", report->name, name);
		CHECK(report_column_words(report, name));
		for (size_t j = 0; j < ARRAY_SIZE(words); j++)
			used[j] |= is_about(&words[j], report, name);
	}
}

TEST(every_column_of_every_report_has_words)
{
	bool used[ARRAY_SIZE(words)] = {false};
	struct nothing nothing = {0};
	size_t count;
	const struct report *known = reports(&count);

	open_nothing(&nothing);
	for (size_t i = 0; i < count; i++) {
		check_report((struct report_request){.report = &known[i]}, nothing.view, used);
		if (known[i].options & REPORT_TAKES_GROUPS)
			check_report((struct report_request){.report = &known[i],
							     .by_thread = true,
							     .by_line = true},
				     nothing.view, used);
	}
	for (size_t j = 0; j < ARRAY_SIZE(words); j++) {
		/* A column that only some tables of it have. */
		if (!strcmp(words[j].report, "functions") ||
		    !strcmp(words[j].column, "Launched by"))
			continue;
		if (!used[j])
			fprintf(stderr, "no column \"%s\" of %s\n", words[j].column,
				words[j].report);
		CHECK(used[j]);
	}
	close_nothing(&nothing);
}

TEST(help_tells_names_options_and_columns)
{
	struct report_request request = {0};
	struct nothing nothing = {0};
	struct err err = {0};
	char *data = NULL;
	size_t size;
	FILE *file = open_memstream(&data, &size);

	open_nothing(&nothing);
	CHECK_OK(report_parse("kernels", &request, &err), err);
	CHECK_OK(report_help_print(&request, nothing.view, file, &err), err);
	fclose(file);
	CHECK(strstr(data, "cuda_gpu_kern_sum[:base][:mangled][:nvtx-name]\n"));
	CHECK(strstr(data, "also called kernels\n") &&
	      strstr(data, "      Avg (ns)                    arithmetic mean\n"));
	free(data);
	close_nothing(&nothing);
}

UNIT_MAIN()
