/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The summary: its size, whatever a capture holds, and that its blocks name what there is. */
#include "capture_fixture.h"
#include "reports/block_append.h"
#include "reports/blocks.h"
#include "reports/report_runs.h"
#include "reports/report_table.h"

#define WINDOW "{\"kind\":\"window\",\"ts\":1000,\"dur\":1000000}\n"

/* Free it. */
static char *summary(struct view *view, struct blocks_style style)
{
	struct err err = {0};
	char *text = NULL;
	size_t size;

	style.file = open_memstream(&text, &size);
	CHECK_OK(blocks_print(view, &style, &err), err);
	fclose(style.file);
	return text;
}

/* How many lines it has. */
static size_t check_width(const char *text, size_t columns)
{
	size_t lines = 0;

	while (*text) {
		size_t length = strcspn(text, "\n");
		char *line = strndup(text, length);

		CHECK(text_columns(line) <= columns);
		free(line);
		text += length + (text[length] == '\n');
		lines++;
	}
	return lines;
}

static size_t check_columns(const char *text)
{
	return check_width(text, BLOCKS_COLUMNS);
}

/* Fifty of everything. */
static void append_everything(struct text *text)
{
	text_append(text,
		    WINDOW "{\"kind\":\"device\",\"source\":1,\"pid\":7,\"id\":\"g\",\"number\":0,"
			   "\"name\":\"H\"}\n");
	for (unsigned i = 0; i < 50; i++) {
		unsigned ts = 2000 + 1000 * i;
		char name[120];

		snprintf(name, sizeof(name), "%090u", i);
		text_appendf(text,
			     "{\"kind\":\"kernel\",\"source\":1,\"pid\":7,\"device\":\"g\","
			     "\"name\":\"%s\",\"ts\":%u,\"dur\":100}\n",
			     name, ts);
		text_appendf(text,
			     "{\"kind\":\"copy\",\"source\":1,\"pid\":7,\"device\":\"g\","
			     "\"ts\":%u,\"dur\":100,\"bytes\":%u}\n",
			     ts + 200, i);
		text_appendf(text,
			     "{\"kind\":\"api\",\"source\":1,\"pid\":7,\"tid\":7,\"name\":\"%s\","
			     "\"ts\":%u,\"dur\":10}\n",
			     name, ts);
		text_appendf(text,
			     "{\"kind\":\"range\",\"source\":1,\"pid\":7,\"tid\":7,\"name\":\"%s\","
			     "\"ts\":%u,\"dur\":300}\n",
			     name, ts);
		text_appendf(text,
			     "{\"kind\":\"call\",\"pid\":7,\"tid\":8,\"name\":\"%s\",\"ts\":%u,"
			     "\"dur\":10}\n",
			     name, ts);
		text_appendf(text,
			     "{\"kind\":\"off_cpu\",\"pid\":7,\"tid\":7,\"name\":\"%s\","
			     "\"ts\":%u,\"dur\":50}\n",
			     name, ts + 400);
		text_appendf(text,
			     "{\"kind\":\"usdt_point\",\"pid\":7,\"tid\":8,\"name\":\"a:%s\","
			     "\"ts\":%u}\n",
			     name, ts);
		text_appendf(text,
			     "{\"kind\":\"loss\",\"ts\":%u,\"reason\":\"ring_full\","
			     "\"place\":\"%s\",\"count\":1}\n",
			     ts, name);
	}
}

TEST(forty_lines_have_room_for_everything)
{
	static const char *const titles[] = {"GPU ",	  "time ",   "kernels ",   "ranges ",
					     "CUDA API ", "copies ", "functions ", "USDT ",
					     "waits ",	  "ledger ", "more: "};
	struct text text _cleanup_text_ = {0};
	char *printed;

	append_everything(&text);
	{
		struct fixture fixture _fixture_ = fixture_open(text_string(&text));

		printed = summary(fixture.view, (struct blocks_style){.path = "x.gpr"});
		CHECK(check_columns(printed) <= BLOCKS_LINES);
		for (size_t i = 0; i < ARRAY_SIZE(titles); i++) {
			const char *found = strstr(printed, titles[i]);

			while (found && found > printed && found[-1] != '\n')
				found = strstr(found + 1, titles[i]);
			if (!found)
				UNIT_FAIL("no block %s", titles[i]);
		}
		CHECK(strstr(printed, " of 50)"));
		free(printed);
		/* All rows, where that is asked for. */
		printed = summary(fixture.view, (struct blocks_style){.has_max_rows = true});
		CHECK(!strstr(printed, " of 50)"));
		CHECK(strstr(printed,
			     "more, with -o FILE.gpr: gpuprobe stats FILE.gpr -r REPORT: "));
		free(printed);
	}
}

TEST(a_narrow_terminal_has_fewer_columns_and_no_longer_lines)
{
	struct text text _cleanup_text_ = {0};

	append_everything(&text);
	{
		struct fixture fixture _fixture_ = fixture_open(text_string(&text));

		for (size_t columns = 60; columns <= BLOCKS_COLUMNS; columns += 20) {
			char *printed =
				summary(fixture.view,
					(struct blocks_style){.path = "x.gpr", .columns = columns});

			check_width(printed, columns);
			CHECK(strstr(printed, " of 50)"));
			CHECK(!strstr(printed, "  operations  ") == (columns < BLOCKS_COLUMNS));
			free(printed);
		}
	}
}

/* Those of a live recording's messages are among the forty. */
TEST(what_stands_beside_the_summary_takes_its_lines)
{
	struct text text _cleanup_text_ = {0};
	size_t left_out = 0;

	append_everything(&text);
	{
		struct fixture fixture _fixture_ = fixture_open(text_string(&text));

		for (size_t lines = 0; lines < 17; lines++) {
			char *printed = summary(fixture.view, (struct blocks_style){
								      .path = "x.gpr",
								      .lines_elsewhere = lines,
							      });
			bool copies = strstr(printed, "\ncopies "),
			     more = strstr(printed, ": cuda_gpu_mem_time_sum");

			CHECK(check_columns(printed) + lines <= BLOCKS_LINES);
			/* What has no room is named. */
			CHECK(copies != more);
			CHECK(strstr(printed, "\nGPU ") && strstr(printed, "\nledger "));
			left_out += !copies;
			free(printed);
		}
		CHECK(left_out > 0);
	}
}

TEST(a_gpu_is_busy_once_at_a_time)
{
	/* Two streams at once, one GPU that two processes see, and work that goes on behind the window. */
	struct fixture fixture _fixture_ = fixture_open(
		WINDOW
		"{\"kind\":\"device\",\"source\":1,\"pid\":7,\"id\":\"g\",\"number\":0,"
		"\"uuid\":\"000102030405060708090a0b0c0d0e0f\"}\n"
		"{\"kind\":\"device\",\"source\":2,\"pid\":8,\"id\":\"h\",\"number\":1,"
		"\"uuid\":\"000102030405060708090a0b0c0d0e0f\"}\n"
		"{\"kind\":\"stream\",\"source\":1,\"pid\":7,\"id\":\"s\",\"device\":\"g\","
		"\"number\":1}\n"
		"{\"kind\":\"kernel\",\"source\":1,\"pid\":7,\"device\":\"g\",\"name\":\"k\","
		"\"ts\":101000,\"dur\":100000}\n"
		"{\"kind\":\"kernel\",\"source\":1,\"pid\":7,\"device\":\"g\",\"stream\":\"s\","
		"\"name\":\"k\",\"ts\":151000,\"dur\":100000}\n"
		"{\"kind\":\"copy\",\"source\":2,\"pid\":8,\"device\":\"h\",\"ts\":201000,"
		"\"dur\":50000}\n"
		"{\"kind\":\"set\",\"source\":1,\"pid\":7,\"device\":\"g\",\"ts\":951000,"
		"\"dur\":100000}\n");
	struct report_table table _cleanup_report_table_ = {0};
	struct report_request request;
	struct err err = {0};

	CHECK_OK(report_parse("busy", &request, &err), err);
	CHECK_OK(report_runs_one(fixture.view, &request, &table, &err), err);
	CHECK_U64(table.row_count, 1);
	CHECK(table.rows[0].cells[1].decimal == 20.0);
	CHECK_U64(table.rows[0].cells[4].count, 200000);
	/* Before the first work that of before may have run. */
	CHECK_U64(table.rows[0].cells[5].count, 700000);
	CHECK_U64(table.rows[0].cells[6].count, 100000);
	CHECK_U64(table.rows[0].cells[7].count, 150000);
	CHECK_U64(table.rows[0].cells[8].count, 50000);
	CHECK_U64(table.rows[0].cells[9].count, 50000);
	CHECK_U64(table.rows[0].cells[10].count, 4);
}

static double share_of(const struct report_table *table, const char *what)
{
	for (size_t i = 0; i < table->row_count; i++)
		if (strstr(table->rows[i].cells[2].text, what))
			return table->rows[i].cells[0].decimal;
	return -1;
}

TEST(each_moment_is_of_one_row)
{
	/* 100 us launch call, 100 us kernel, of it 50 us beside a wait for it; 30 us of waits; 20 us copy and set, from the start on; another thread never launches. */
	struct fixture fixture _fixture_ = fixture_open(
		WINDOW
		"{\"kind\":\"device\",\"source\":1,\"pid\":7,\"id\":\"g\",\"number\":0}\n"
		"{\"kind\":\"set\",\"source\":1,\"pid\":7,\"device\":\"g\",\"ts\":1000,"
		"\"dur\":1000}\n"
		"{\"kind\":\"api\",\"source\":1,\"pid\":7,\"tid\":7,\"correlation\":1,"
		"\"name\":\"cudaLaunchKernel\",\"ts\":101000,\"dur\":100000}\n"
		"{\"kind\":\"kernel\",\"source\":1,\"pid\":7,\"device\":\"g\",\"name\":\"k\","
		"\"correlation\":1,\"ts\":201000,\"dur\":100000}\n"
		"{\"kind\":\"api\",\"source\":1,\"pid\":7,\"tid\":7,\"correlation\":2,"
		"\"name\":\"cudaStreamSynchronize\",\"ts\":251000,\"dur\":60000}\n"
		"{\"kind\":\"off_cpu\",\"pid\":7,\"tid\":7,\"name\":\"futex\",\"ts\":401000,"
		"\"dur\":30000}\n"
		"{\"kind\":\"copy\",\"source\":1,\"pid\":7,\"device\":\"g\",\"ts\":501000,"
		"\"dur\":19000}\n"
		"{\"kind\":\"api\",\"source\":1,\"pid\":7,\"tid\":9,\"correlation\":3,"
		"\"name\":\"cudaMalloc\",\"ts\":601000,\"dur\":50000}\n");
	struct report_table table _cleanup_report_table_ = {0};
	struct report_request request;
	struct err err = {0};
	double all = 0;

	CHECK_OK(report_parse("time_sum", &request, &err), err);
	CHECK_OK(report_runs_one(fixture.view, &request, &table, &err), err);
	CHECK(share_of(&table, "runs kernels") == 10);
	CHECK(share_of(&table, "copies or sets") == 2);
	CHECK(share_of(&table, "in a CUDA call") == 10);
	CHECK(share_of(&table, "waits for a GPU") == 1);
	CHECK(share_of(&table, "all threads that launch wait") == 3);
	CHECK(share_of(&table, "other code") == 74);
	for (size_t i = 0; i < table.row_count; i++)
		all += table.rows[i].cells[0].decimal;
	CHECK(all > 99.99 && all < 100.01);
}

/* Each column of each block is one of the report or the one beside it; of a functions table not all are always there. */
TEST(blocks_name_columns_that_there_are)
{
	static const struct {
		const char *report, *beside;
		struct block_column columns[BLOCK_COLUMNS_MAX + 1];
	} rows[] = {
#define BLOCK(title, kinds, report, beside, least, most, columns) {report, beside, columns},
#include "reports/blocks.def"
	};
	struct fixture fixture _fixture_ = fixture_open(WINDOW);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct report_table tables[2] = {0};
		struct err err = {0};

		for (size_t j = 0; j < 2; j++) {
			struct report_request request;

			if (j && !rows[i].beside)
				continue;
			CHECK_OK(report_parse(j ? rows[i].beside : rows[i].report, &request, &err),
				 err);
			CHECK_OK(report_runs_one(fixture.view, &request, &tables[j], &err), err);
		}
		for (const struct block_column *column = rows[i].columns; column->heading;
		     column++) {
			bool found = false;

			for (size_t j = 0; j < 2; j++)
				for (size_t k = 0; k < tables[j].column_count; k++)
					found |= !strcmp(tables[j].columns[k].name, column->name);
			/* Of kernels only captures with stacks or sources have these. */
			if (!found && column->shown != SHOWN_PLACE_IF_ANY)
				UNIT_FAIL("%s has no column %s", rows[i].report, column->name);
		}
		report_table_free(&tables[0]);
		report_table_free(&tables[1]);
	}
}

TEST(reports_for_programs_are_those_of_the_blocks)
{
	static const char *const names[] = {"functions", "usdt_sum"};
	struct fixture fixture _fixture_ = fixture_open(
		"{\"kind\":\"call\",\"ts\":1000,\"dur\":9,\"pid\":1,\"tid\":1,\"name\":\"f\"}\n"
		"{\"kind\":\"usdt_point\",\"ts\":1001,\"pid\":1,\"tid\":1,\"name\":\"a:b\"}\n"
		"{\"kind\":\"growth\",\"ts\":1002,\"pid\":1,\"tid\":1,\"name\":\"brk\"}\n");
	struct report_request *requests;
	struct err err = {0};
	size_t count;

	reports(&count);
	requests = calloc(count, sizeof(*requests));
	CHECK_OK(blocks_reports(fixture.view, requests, &count, &err), err);
	CHECK_U64(count, ARRAY_SIZE(names));
	for (size_t i = 0; i < count; i++)
		CHECK_STRING(requests[i].report->name, names[i]);
	free(requests);
}

UNIT_MAIN()
