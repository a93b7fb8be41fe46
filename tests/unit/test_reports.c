/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

#include "import/ndjson.h"
#include "reports/report_table.h"
#include "reports/reports.h"
#include "reports/statistics.h"

static const char capture_of_nothing[] =
	"{\"kind\": \"window\", \"ts\": 1000000000, \"dur\": 1000}\n";

struct capture {
	int fd;
	struct capture_reader *reader;
	struct view *view;
};

static struct capture capture_open(const char *ndjson)
{
	struct capture capture = {.fd = -1};
	FILE *text = tmpfile();
	struct err err = {0};

	fputs(ndjson, text);
	rewind(text);
	CHECK_OK(import_ndjson(fileno(text), "x.ndjson", &capture.fd, &err), err);
	CHECK_OK(capture_reader_open(capture.fd, &capture.reader, &err), err);
	CHECK_OK(view_open(capture.reader, &capture.view, &err), err);
	fclose(text);
	return capture;
}

static void capture_close(struct capture *capture)
{
	view_free(capture->view);
	capture_reader_free(capture->reader);
	close(capture->fd);
}

/* Of a capture without events. */
static int print_to_file(const struct report_request *request, const struct report_style *style,
			 struct err *err)
{
	struct capture capture = capture_open(capture_of_nothing);
	int result = report_print(request, capture.view, style, NULL, err);

	capture_close(&capture);
	return result;
}

/* Malloc'ed. */
static char *print_made(const struct report_request *request, struct report_style style)
{
	struct err err = {0};
	char *data = NULL;
	size_t size;

	style.file = open_memstream(&data, &size);
	CHECK_OK(print_to_file(request, &style, &err), err);
	fclose(style.file);
	return data;
}

/* Of a report that is made of rows that are given. */
struct rows_request {
	struct report_request request;
	const struct statistics_row *rows;
	size_t count;
};

static int make_rows(struct view *view, const struct report_request *request,
		     struct report_table *table, struct err *err)
{
	const struct rows_request *rows = (const struct rows_request *)request;

	return report_functions_fill(rows->rows, rows->count, 1000000000, table, err);
}

static char *print_rows(const struct statistics_row *rows, size_t count, enum report_format format,
			u64 max_rows)
{
	struct report_style style = {.format = format, .max_rows = max_rows};
	struct rows_request request = {.rows = rows, .count = count};
	struct report report;
	struct err err = {0};

	CHECK_OK(report_parse("functions", &request.request, &err), err);
	report = *request.request.report;
	report.make = make_rows;
	report.begin = NULL;
	request.request.report = &report;
	return print_made(&request.request, style);
}

static struct statistics_row make_row(const char *name, const char *binary, u64 calls, u64 timed,
				      u64 total)
{
	return (struct statistics_row){
		.name = (char *)name,
		.binary = (char *)binary,
		.call_count = calls,
		.timed_count = timed,
		.total_ns = total,
		.minimum_ns = 1,
		.maximum_ns = total,
		.average_ns = timed ? (double)total / timed : 0,
		.median_ns = 540.5,
		.deviation_ns = 402.125,
	};
}

TEST(columns_are_aligned_as_by_nsys)
{
	struct statistics_row rows[] = {
		make_row("b", "/bin/x", 4, 4, 1000),
		make_row("a", "/bin/x", 1430110, 1430110, 812331000),
	};
	char *text = print_rows(rows, 2, REPORT_COLUMN, 0);

	CHECK_STRING(
		text,
		"\n ** Functions, by the time in them (functions):\n\n"
		" Time (%)  Total Time (ns)  Num Calls  Avg (ns)  Med (ns)  Min (ns)  Max (ns)   "
		"StdDev (ns)  Name\n"
		" --------  ---------------  ---------  --------  --------  --------  ---------  "
		"-----------  ----\n"
		"    100.0        812331000    1430110     568.0     540.5         1  812331000  "
		"      402.1  a\n"
		"      0.0             1000          4     250.0     540.5         1       1000  "
		"      402.1  b\n");
	free(text);
}

TEST(counted_functions_have_no_median_and_probes_have_a_price)
{
	u64 buckets[STATISTICS_BUCKETS] = {0};
	struct statistics_row rows[] = {
		make_row("a", "/bin/x", 4, 4, 1000),
		make_row("b", "/bin/x", 2, 2, 500),
	};
	char *text;

	rows[0].buckets = buckets;
	rows[1].cost_ns = 25;
	rows[1].cpu_ns = 1000;
	rows[1].switched_off_ns = 3500000000;
	text = print_rows(rows, 2, REPORT_CSV, 0);
	CHECK_STRING(text, "Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),"
			   "StdDev (ns),Overhead (%),Name\n"
			   "66.7,1000,4,250.0,None,1,1000,None,None,a\n"
			   "33.3,500,2,250.0,540.5,1,500,402.1,2.5,b\n");
	free(text);
	text = print_rows(rows, 2, REPORT_COLUMN, 0);
	CHECK(strstr(text, " * b: recorded only up to 2.500 s after the start of the window"));
	CHECK(strstr(text, "those without median were only counted"));
	free(text);
}

TEST(csv_is_plain)
{
	struct statistics_row rows[] = {
		make_row("f(int, char)", "/bin/x", 3, 3, 1000),
		make_row("a \"quoted\" name", "/bin/x", 1, 0, 0),
	};
	char *text = print_rows(rows, 2, REPORT_CSV, 0);

	CHECK_STRING(text, "Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max "
			   "(ns),StdDev (ns),Name\n"
			   "100.0,1000,3,333.3,540.5,1,1000,402.1,\"f(int, char)\"\n"
			   "None,None,1,None,None,None,None,None,\"a \"\"quoted\"\" name\"\n");
	free(text);
}

TEST(json_is_strict_with_the_same_keys)
{
	struct statistics_row rows[] = {
		make_row("f\x01\n\"\xff", "/bin/x", 3, 3, 1000),
		make_row("entries", "/bin/x", 2, 0, 0),
	};
	char *text = print_rows(rows, 2, REPORT_JSON, 0);
	json_error_t error;
	json_t *array = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	json_t *object = json_array_get(array, 0);

	CHECK_U64(json_array_size(array), 2);
	CHECK_U64(json_object_size(object), 9);
	CHECK_U64(json_integer_value(json_object_get(object, "Total Time (ns)")), 1000);
	CHECK(json_number_value(json_object_get(object, "Med (ns)")) == 540.5);
	CHECK_STRING(json_string_value(json_object_get(object, "Name")), "f\x01\n\"\xef\xbf\xbd");
	object = json_array_get(array, 1);
	CHECK_STRING(json_string_value(json_object_get(object, "Time (%)")), "None");
	CHECK_U64(json_integer_value(json_object_get(object, "Num Calls")), 2);
	json_decref(array);
	free(text);
}

TEST(names_cannot_control_the_terminal)
{
	struct statistics_row rows[] = {make_row("\033[2Jx\r\ny", "/bin/x", 1, 1, 5)};
	static const enum report_format formats[] = {REPORT_COLUMN, REPORT_CSV, REPORT_JSON};

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		char *text = print_rows(rows, 1, formats[i], 0);

		CHECK(!strchr(text, '\033') && !strchr(text, '\r'));
		free(text);
	}
}

TEST(rows_are_sorted_by_time_then_calls_then_name)
{
	struct statistics_row rows[] = {
		make_row("d", "", 1, 1, 10), make_row("c", "", 2, 2, 10),
		make_row("b", "", 2, 2, 10), make_row("e", "", 9, 0, 0),
		make_row("a", "", 1, 1, 20),
	};
	char *text = print_rows(rows, 5, REPORT_CSV, 0), *rest = text;
	char names[6] = "";

	strsep(&rest, "\n");
	for (size_t i = 0; i < 5; i++) {
		char *line = strsep(&rest, "\n");

		names[i] = strrchr(line, ',')[1];
	}
	CHECK_STRING(names, "abcde");
	free(text);
}

TEST(equal_names_get_their_binary)
{
	struct statistics_row rows[] = {
		make_row("main", "/usr/bin/a", 1, 1, 40), make_row("main", "/usr/bin/b", 1, 1, 30),
		make_row("init", "/x/lib.so", 1, 1, 20),  make_row("init", "/y/lib.so", 1, 1, 10),
		make_row("only", "/y/lib.so", 1, 1, 5),
	};
	char *text = print_rows(rows, 5, REPORT_CSV, 0);

	CHECK(strstr(text, ",main [a]\n") && strstr(text, ",main [b]\n"));
	CHECK(strstr(text, ",init [/x/lib.so]\n") && strstr(text, ",init [/y/lib.so]\n"));
	CHECK(strstr(text, ",only\n"));
	free(text);
}

TEST(a_limit_says_how_many_rows_are_left_out)
{
	struct statistics_row rows[] = {make_row("a", "", 1, 1, 3), make_row("b", "", 1, 1, 2),
					make_row("c", "", 1, 1, 1)};
	char *text = print_rows(rows, 3, REPORT_COLUMN, 1);

	CHECK(strstr(text, "  a\n") && !strstr(text, "  b\n"));
	CHECK(strstr(text, "and 2 more rows"));
	/* The share is of all, not of those that are shown. */
	CHECK(strstr(text, "50.0"));
	free(text);
	text = print_rows(rows, 3, REPORT_COLUMN, 3);
	CHECK(!strstr(text, "more rows"));
	free(text);
	text = print_rows(rows, 3, REPORT_CSV, 1);
	CHECK(!strstr(text, "more rows") && strstr(text, ",a\n") && !strstr(text, ",b\n"));
	free(text);
}

TEST(calls_without_times_are_explained)
{
	struct statistics_row rows[] = {make_row("mixed", "", 40, 28, 100),
					make_row("never", "", 3, 0, 0)};
	char *text = print_rows(rows, 2, REPORT_COLUMN, 0);

	CHECK(strstr(text, "mixed *\n"));
	CHECK(strstr(text, "\n * mixed: of 40 calls 12 have no duration"));
	CHECK(strstr(text, "never\n") && strstr(text, "Functions without times"));
	free(text);
	text = print_rows(rows, 1, REPORT_CSV, 0);
	CHECK(strstr(text, ",mixed\n") && !strstr(text, "no duration"));
	free(text);
}

TEST(many_notes_are_cut)
{
	struct statistics_row rows[8];
	char *text;

	for (size_t i = 0; i < 8; i++)
		rows[i] = make_row("f", i % 2 ? "/a" : "/b", 2, 1, i);
	text = print_rows(rows, 8, REPORT_COLUMN, 0);
	CHECK(strstr(text, "* and 3 more\n"));
	free(text);
}

TEST(an_empty_table)
{
	char *text = print_rows(NULL, 0, REPORT_COLUMN, 0);

	CHECK(strstr(text, "No calls were recorded."));
	free(text);
	text = print_rows(NULL, 0, REPORT_CSV, 0);
	CHECK(strncmp(text, "Time (%),", 9) == 0 && strchr(text, '\n')[1] == '\0');
	free(text);
	text = print_rows(NULL, 0, REPORT_JSON, 0);
	CHECK_STRING(text, "[]\n");
	free(text);
}

TEST(reports_and_formats_are_found)
{
	enum report_format format = REPORT_COLUMN;
	struct report_request request = {0};
	struct err err = {0};

	CHECK_OK(report_parse("ledger", &request, &err), err);
	CHECK_STRING(request.report->name, "ledger");
	CHECK_OK(report_parse("gpumemtimesum", &request, &err), err);
	CHECK_STRING(request.report->name, "cuda_gpu_mem_time_sum");
	CHECK_U64(report_parse("function", &request, &err), (unsigned long long)-22);
	CHECK(strstr(err.message, "There are functions, distribution, usdt_sum, cuda_api_sum, ") &&
	      strstr(err.message, "mean functions"));
	CHECK_U64(report_parse("ledger:base", &request, &err), (unsigned long long)-22);
	CHECK(strstr(err.message, "the report ledger takes no \":base\""));
	CHECK_OK(report_format_find("csv", &format, &err), err);
	CHECK_U64(format, REPORT_CSV);
	CHECK_U64(report_format_find("xml", &format, &err), (unsigned long long)-22);
	CHECK(strstr(err.message, "column, table, csv, tsv, json"));
}

#define STREAMED_ROWS 5000

static const struct report_column streamed_columns[] = {
	{"Start (ns)", REPORT_COUNT, 0},
	{"Value", REPORT_DECIMAL, 1},
	{"Name", REPORT_TEXT, 0},
};

/* The most rows that were kept at once. */
static size_t add_streamed_rows(struct report_table *table)
{
	size_t most = 0;

	for (size_t i = 0; i < STREAMED_ROWS; i++) {
		struct report_row *row = report_table_add(table);

		if (!row)
			return 0;
		report_cell_count(&row->cells[0], i * 1000);
		report_cell_decimal(&row->cells[1], i + 0.25);
		CHECK(report_cell_text(&row->cells[2], "x") == 0);
		most = table->row_count > most ? table->row_count : most;
	}
	return most;
}

static int make_streamed_rows(struct view *view, const struct report_request *request,
			      struct report_table *table, struct err *err)
{
	size_t most;

	table->title = "Rows";
	table->columns = streamed_columns;
	table->column_count = ARRAY_SIZE(streamed_columns);
	table->streamed = true;
	most = add_streamed_rows(table);
	if (!most)
		return err_set(err, -ENOMEM, "can't make the report rows");
	CHECK(most < STREAMED_ROWS / 4);
	return 0;
}

static const struct report streamed_report = {.name = "rows", .make = make_streamed_rows};

TEST(rows_are_printed_as_they_come)
{
	const struct report_request request = {.report = &streamed_report};
	const struct report_time_unit *unit = NULL;
	struct report_style style = {.format = REPORT_CSV};
	struct err err = {0};
	char *data;

	CHECK_OK(report_time_unit_find("usec", &unit, &err), err);
	style.time_unit = unit;
	data = print_made(&request, style);
	/* What lies in the middle is rounded up, as by SQLite. */
	CHECK(strstr(data, "Start (us),Value,Name\n0.000,0.3,x\n1.000,1.3,x\n") == data);
	CHECK(strstr(data, "\n4999.000,4999.3,x\n"));
	free(data);
	CHECK_U64(report_time_unit_find("week", &unit, &err), (unsigned long long)-EINVAL);
}

/* Of a report of one row with these values. */
struct values_request {
	struct report_request request;
	double average_ns, size_mb;
};

static int make_values(struct view *view, const struct report_request *request,
		       struct report_table *table, struct err *err)
{
	static const struct report_column columns[] = {{"Avg (ns)", REPORT_DECIMAL, 1},
						       {"Avg (MB)", REPORT_DECIMAL, 3}};
	const struct values_request *values = (const struct values_request *)request;
	struct report_row *row;

	table->title = "Values";
	table->columns = columns;
	table->column_count = ARRAY_SIZE(columns);
	row = report_table_add(table);
	CHECK(row);
	report_cell_decimal(&row->cells[0], values->average_ns);
	report_cell_decimal(&row->cells[1], values->size_mb);
	return 0;
}

/* The csv of one row with these values, in ns where unit is NULL. */
static char *print_values(double average_ns, double size_mb, const char *unit)
{
	const struct report report = {.name = "values", .make = make_values};
	struct values_request request = {{.report = &report}, average_ns, size_mb};
	struct report_style style = {.format = REPORT_CSV};
	struct err err = {0};

	if (unit)
		CHECK_OK(report_time_unit_find(unit, &style.time_unit, &err), err);
	return print_made(&request.request, style);
}

static void check_values(double average_ns, double size_mb, const char *unit, const char *expected)
{
	char *data = print_values(average_ns, size_mb, unit);
	const char *row = strchr(data, '\n');

	CHECK_STRING(row ? row : data, expected);
	free(data);
}

/* As nsys stats 2022.4 printed these. */
TEST(times_are_rounded_as_by_sqlite_and_sizes_as_by_printf)
{
	check_values(12834916.85, 0.0775, NULL, "\n12834916.9,0.077\n");
	check_values(2556.45, 550.8855, NULL, "\n2556.5,550.885\n");
	check_values(2556.44, 23.2565, NULL, "\n2556.4,23.256\n");
	check_values(1.45, 1, "usec", "\n0.002,1.000\n"); /* by way of 1.5 */
}

TEST(a_full_disk_ends_the_printing_with_its_reason)
{
	const struct report_request request = {.report = &streamed_report};
	struct report_style style = {.format = REPORT_CSV};
	struct err err = {0};

	style.file = fopen("/dev/full", "w");
	CHECK_U64(print_to_file(&request, &style, &err), (unsigned long long)-ENOSPC);
	CHECK(strstr(err.message, "can't write the report rows"));
	fclose(style.file);
}

UNIT_MAIN()
