/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/text.h"
#include "capture_fixture.h"
#include "view/view_parts.h"

/* What a sink was told, one word an event: "+name@ts" start, "-name@ts" end, ".name" point, "=name"
 * counter, "#name" total. */
struct script {
	struct text text;
	u64 events;
	const struct view *view;
};

static int script_write(struct script *script, char what, const char *name, u64 ts)
{
	text_appendf(&script->text, "%s%c%s@%llu", script->text.length ? " " : "", what, name,
		     (unsigned long long)ts);
	script->events++;
	return 0;
}

static int script_span(void *data, const struct view_event *event, struct err *err)
{
	return script_write(data, '+', event->name, event->ts);
}

static int script_end(void *data, const struct view_event *event, struct err *err)
{
	return script_write(data, '-', event->name, event->end);
}

static int script_point(void *data, const struct view_event *event, struct err *err)
{
	return script_write(data, '.', event->name, event->ts);
}

static int script_counter(void *data, const struct view_event *event, struct err *err)
{
	return script_write(data, '=', event->name, event->ts);
}

static int script_total(void *data, const struct view_event *event, struct err *err)
{
	return script_write(data, '#', event->name, event->ts);
}

static const struct view_sink script_sink = {
	.span = script_span,
	.end = script_end,
	.point = script_point,
	.counter = script_counter,
	.total = script_total,
};

static void check_script(struct view *view, const char *expected)
{
	struct script script = {0};
	struct err err = {0};

	CHECK_OK(view_run(view, &script_sink, &script, &err), err);
	CHECK_STRING(text_string(&script.text), expected);
	text_free(&script.text);
}

/* The spans with their lanes and depths: "name:lane/depth". */
static int lanes_span(void *data, const struct view_event *event, struct err *err)
{
	struct script *script = data;

	text_appendf(&script->text, "%s%s:%u/%u", script->text.length ? " " : "", event->name,
		     event->lane, event->depth);
	return 0;
}

static void check_lanes(struct view *view, const char *expected)
{
	const struct view_sink sink = {.span = lanes_span};
	struct script script = {0};
	struct err err = {0};

	CHECK_OK(view_run(view, &sink, &script, &err), err);
	CHECK_STRING(text_string(&script.text), expected);
	text_free(&script.text);
}

#define CALL(name, ts, dur)                                                         \
	"{\"kind\":\"call\",\"pid\":1,\"tid\":1,\"probe\":\"" name "\",\"ts\":" #ts \
	",\"dur\":" #dur "}\n"
#define OPEN_CALL(name, ts) \
	"{\"kind\":\"call\",\"pid\":1,\"tid\":1,\"probe\":\"" name "\",\"ts\":" #ts "}\n"

/* ---- order ---- */

TEST(ends_come_in_time_order_inner_before_outer)
{
	struct fixture fixture _fixture_ = fixture_open(CALL("outer", 10, 90) CALL(
		"inner", 20, 80) CALL("short", 30, 10) CALL("next", 100, 5));

	check_script(fixture.view, "+outer@10 +inner@20 +short@30 -short@40 -inner@100 -outer@100 "
				   "+next@100 -next@105");
}

TEST(ends_come_before_starts_and_points_of_the_same_moment)
{
	struct fixture fixture _fixture_ = fixture_open(CALL("a", 10, 10) CALL("b", 20, 0) CALL(
		"c", 20,
		10) "{\"kind\":\"entry\",\"pid\":1,\"tid\":1,\"probe\":\"p\",\"ts\":20}\n"
		    "{\"kind\":\"level\",\"pid\":1,\"name\":\"memory\",\"ts\":30,\"value\":7}\n"
		    "{\"kind\":\"total\",\"pid\":1,\"name\":\"t\",\"ts\":10,\"dur\":30,\"calls\":7}"
		    "\n");

	/* The total is longest of those at 10. */
	check_script(fixture.view, "#t@10 +a@10 -a@20 +c@20 +b@20 -b@20 .p@20 -c@30 =memory@30");
}

TEST(a_sink_without_ends_gets_none)
{
	struct fixture fixture _fixture_ = fixture_open(CALL("a", 10, 10));
	const struct view_sink sink = {.span = script_span};
	struct script script = {0};
	struct err err = {0};

	CHECK_OK(view_run(fixture.view, &sink, &script, &err), err);
	CHECK_STRING(text_string(&script.text), "+a@10");
	text_free(&script.text);
}

#define KERNEL                                                                               \
	"{\"kind\":\"kernel\",\"pid\":1,\"name\":\"k\",\"device\":\"gpu\",\"stream\":\"s\"," \
	"\"ts\":40,\"dur\":5}\n"

/* What a sink has beside others is what it has alone. */
TEST(sinks_share_a_run)
{
	struct fixture fixture _fixture_ = fixture_open(
		CALL("a", 10, 10) "{\"kind\":\"level\",\"pid\":1,\"name\":\"memory\",\"ts\":30,"
				  "\"value\":7}\n" KERNEL);
	const struct view_sink recorded = {.counter = script_counter, .only_recorded = true};
	const struct view_sink computed = {.counter = script_counter};
	const struct view_sink ends = {.span = script_span, .end = script_end};
	const struct view_sink some = {.end = script_end, .end_kinds = {KIND_kernel}};
	const struct view_sink *const sinks[] = {&ends, &recorded, &computed, &some};
	struct script scripts[4] = {0}, alone[4] = {0};
	struct view_part parts[4];
	u64 runs = fixture.view->run_count;
	struct err err = {0};

	for (size_t i = 0; i < 4; i++) {
		parts[i] = (struct view_part){sinks[i], &scripts[i]};
		CHECK_OK(view_run(fixture.view, sinks[i], &alone[i], &err), err);
	}
	CHECK_OK(view_run_together(fixture.view, parts, 4, &err), err);
	CHECK_U64(fixture.view->run_count, runs + 5);
	for (size_t i = 0; i < 4; i++)
		CHECK_STRING(text_string(&scripts[i].text), text_string(&alone[i].text));
	CHECK_STRING(text_string(&scripts[0].text), "+a@10 -a@20 +k@40 -k@45");
	CHECK_STRING(text_string(&scripts[1].text), "=memory@30");
	CHECK(strstr(text_string(&scripts[2].text), "=GPU busy (%)@"));
	CHECK_STRING(text_string(&scripts[3].text), "-k@45");
	for (size_t i = 0; i < 4; i++) {
		text_free(&scripts[i].text);
		text_free(&alone[i].text);
	}
	CHECK_OK(view_run_together(fixture.view, parts, 0, &err), err);
	CHECK_U64(fixture.view->run_count, runs + 5);
}

TEST(ends_are_of_the_kinds_that_some_sink_wants)
{
	struct fixture fixture _fixture_ = fixture_open(CALL("a", 10, 10) KERNEL);
	const struct view_sink sinks[] = {{.end = script_end, .end_kinds = {KIND_kernel}},
					  {.end = script_end, .end_kinds = {KIND_call}}};
	struct script scripts[2] = {0};
	const struct view_part parts[] = {{&sinks[0], &scripts[0]}, {&sinks[1], &scripts[1]}};
	struct err err = {0};

	CHECK_OK(view_run_together(fixture.view, parts, 2, &err), err);
	CHECK_STRING(text_string(&scripts[0].text), "-k@45");
	CHECK_STRING(text_string(&scripts[1].text), "-a@20");
	text_free(&scripts[0].text);
	text_free(&scripts[1].text);
}

static int failing_span(void *data, const struct view_event *event, struct err *err);

TEST(the_first_sink_that_fails_ends_the_run_of_all)
{
	struct fixture fixture _fixture_ = fixture_open(CALL("a", 10, 10) CALL("b", 30, 10));
	const struct view_sink failing = {.span = failing_span}, other = {.span = script_span};
	struct script before = {0}, behind = {0};
	int calls = 0;
	const struct view_part parts[] = {{&other, &before}, {&failing, &calls}, {&other, &behind}};
	struct err err = {0};

	CHECK(view_run_together(fixture.view, parts, 3, &err) == -28);
	CHECK_STRING(err.message, "full");
	CHECK(calls == 1 && before.events == 1 && behind.events == 0);
	text_free(&before.text);
}

static int failing_span(void *data, const struct view_event *event, struct err *err)
{
	(*(int *)data)++;
	return err_set(err, -28, "full");
}

TEST(an_error_of_the_sink_ends_the_run)
{
	struct fixture fixture _fixture_ = fixture_open(CALL("a", 10, 10) CALL("b", 20, 10));
	const struct view_sink sink = {.span = failing_span};
	struct err err = {0};
	int calls = 0;

	CHECK(view_run(fixture.view, &sink, &calls, &err) == -28);
	CHECK_STRING(err.message, "full");
	CHECK_U64(calls, 1);
}

/* ---- window ---- */

TEST(open_spans_last_to_the_end_of_the_window)
{
	struct fixture fixture _fixture_ =
		fixture_open("{\"kind\":\"window\",\"ts\":0,\"dur\":1000}\n" OPEN_CALL("main", 5)
				     CALL("past", 990, 500));

	check_script(fixture.view, "+main@5 +past@990 -main@1000 -past@1490");
	CHECK_U64(view_survey(fixture.view)->last_ns, 1490);
}

TEST(what_starts_outside_the_window_is_dropped_and_counted)
{
	struct fixture fixture _fixture_ = fixture_open(
		"{\"kind\":\"window\",\"ts\":100,\"dur\":100}\n" CALL("early", 99, 50)
			CALL("first", 100, 1) CALL("last", 200, 1) CALL("late", 201, 1));
	const struct view_survey *survey = view_survey(fixture.view);

	check_script(fixture.view, "+first@100 -first@101 +last@200 -last@201");
	CHECK_U64(survey->event_count, 2);
	CHECK_U64(survey->window_start_ns, 100);
	CHECK_U64(survey->window_end_ns, 200);
	CHECK_U64(survey->loss_count, 1);
	CHECK_STRING(survey->losses[0].tag, "outside_window");
	CHECK_U64(survey->losses[0].count, 2);
}

TEST(without_a_window_the_events_are_the_range)
{
	struct fixture fixture _fixture_ = fixture_open(CALL("a", 50, 100) OPEN_CALL("b", 120));
	const struct view_survey *survey = view_survey(fixture.view);

	CHECK_U64(survey->window_start_ns, 50);
	CHECK_U64(survey->window_end_ns, 150);
	CHECK_U64(survey->first_ns, 50);
	CHECK_U64(survey->last_ns, 150);
	check_script(fixture.view, "+a@50 +b@120 -b@150 -a@150");
}

TEST(a_cut_window_ends_with_what_was_seen_last)
{
	struct fixture fixture _fixture_ =
		fixture_open("{\"kind\":\"window\",\"ts\":10}\n" CALL("a", 50, 100));

	CHECK_U64(view_survey(fixture.view)->window_start_ns, 10);
	CHECK_U64(view_survey(fixture.view)->window_end_ns, 150);
}

TEST(the_last_window_fact_holds)
{
	struct fixture fixture _fixture_ = fixture_open(
		"{\"kind\":\"window\",\"ts\":10}\n{\"kind\":\"window\",\"ts\":10,\"dur\":90}\n");

	CHECK_U64(view_survey(fixture.view)->window_end_ns, 100);
}

TEST(an_empty_capture_is_empty)
{
	struct fixture fixture _fixture_ = fixture_open("");
	const struct view_survey *survey = view_survey(fixture.view);

	CHECK_U64(survey->event_count + survey->row_count + survey->loss_count, 0);
	CHECK_U64(survey->first_ns + survey->last_ns + survey->window_end_ns, 0);
	check_script(fixture.view, "");
}

TEST(times_at_the_end_of_time)
{
	struct fixture fixture _fixture_ =
		fixture_open("{\"kind\":\"call\",\"pid\":1,\"tid\":1,\"probe\":\"x\",\"ts\":"
			     "\"0xfffffffffffffff0\",\"dur\":100}\n");

	check_script(fixture.view, "+x@18446744073709551600 -x@18446744073709551615");
}

/* ---- lanes ---- */

TEST(nested_spans_share_a_lane)
{
	struct fixture fixture _fixture_ = fixture_open(
		CALL("a", 0, 100) CALL("b", 0, 50) CALL("c", 10, 40) CALL("d", 50, 50));

	check_lanes(fixture.view, "a:0/0 b:0/1 c:0/2 d:0/1");
	CHECK_U64(view_survey(fixture.view)->rows[0].lane_count, 1);
}

TEST(overlapping_spans_get_lanes_of_their_own)
{
	struct fixture fixture _fixture_ = fixture_open(CALL("a", 0, 100) CALL("b", 50, 100) CALL(
		"c", 60, 100) CALL("d", 70, 20) CALL("e", 150, 5) CALL("f", 100, 5));

	/* d nests in a; for f and e the first lane is free again. */
	check_lanes(fixture.view, "a:0/0 b:1/0 c:2/0 d:0/1 f:0/0 e:0/0");
	CHECK_U64(view_survey(fixture.view)->rows[0].lane_count, 3);
}

TEST(lanes_of_different_rows_are_apart)
{
	struct fixture fixture _fixture_ =
		fixture_open(CALL("a", 0, 100) "{\"kind\":\"call\",\"pid\":1,\"tid\":2,\"probe\":"
					       "\"b\",\"ts\":50,\"dur\":100}\n");

	check_lanes(fixture.view, "a:0/0 b:0/0");
}

struct lane_check {
	u64 ends[64][256];
	unsigned depth[64];
	unsigned most;
	bool overlap;
};

static int lane_check_span(void *data, const struct view_event *event, struct err *err)
{
	struct lane_check *check = data;
	unsigned lane = event->lane;

	if (lane >= 64 || lane >= event->row->lane_count)
		return err_set(err, -1, "lane %u of %u", lane, event->row->lane_count);
	while (check->depth[lane] && check->ends[lane][check->depth[lane] - 1] <= event->ts)
		check->depth[lane]--;
	if (check->depth[lane] && check->ends[lane][check->depth[lane] - 1] < event->end)
		check->overlap = true;
	if (event->depth != check->depth[lane])
		return err_set(err, -1, "depth %u, not %u", event->depth, check->depth[lane]);
	check->ends[lane][check->depth[lane]++] = event->end;
	check->most = lane > check->most ? lane : check->most;
	return 0;
}

TEST(random_spans_never_overlap_in_a_lane)
{
	const struct view_sink sink = {.span = lane_check_span};
	unsigned random = 7;

	for (unsigned round = 0; round < 20; round++) {
		struct lane_check *check _cleanup_free_ = calloc(1, sizeof(*check));
		struct text text _cleanup_text_ = {0};
		struct err err = {0};

		for (unsigned i = 0; i < 300; i++) {
			unsigned ts = (random = random * 1103515245 + 12345) >> 16 & 1023;
			unsigned dur = (random = random * 1103515245 + 12345) >> 16 & 31;

			text_appendf(&text,
				     "{\"kind\":\"call\",\"pid\":1,\"tid\":1,\"probe\":\"f\","
				     "\"ts\":%u,\"dur\":%u}\n",
				     ts, dur);
		}
		struct fixture fixture _fixture_ = fixture_open(text_string(&text));
		CHECK_OK(view_run(fixture.view, &sink, check, &err), err);
		CHECK(!check->overlap);
		CHECK_U64(check->most + 1, view_survey(fixture.view)->rows[0].lane_count);
	}
}

/* ---- rows and names ---- */

TEST(rows_are_sorted_and_named)
{
	struct fixture fixture _fixture_ = fixture_open(
		"{\"kind\":\"task\",\"pid\":20,\"tid\":20,\"comm\":\"server\",\"ts\":1}\n"
		"{\"kind\":\"task\",\"pid\":20,\"tid\":20,\"comm\":\"old\",\"ts\":0}\n"
		"{\"kind\":\"task\",\"pid\":20,\"tid\":5,\"comm\":\"worker\"}\n"
		"{\"kind\":\"call\",\"pid\":20,\"tid\":30,\"probe\":\"f\",\"ts\":1,\"dur\":1}\n"
		"{\"kind\":\"call\",\"pid\":20,\"tid\":5,\"probe\":\"f\",\"ts\":2,\"dur\":1}\n"
		"{\"kind\":\"call\",\"pid\":20,\"tid\":20,\"probe\":\"f\",\"ts\":3,\"dur\":1}\n"
		"{\"kind\":\"call\",\"pid\":3,\"tid\":4,\"probe\":\"f\",\"ts\":4,\"dur\":1}\n"
		"{\"kind\":\"level\",\"pid\":20,\"name\":\"m\",\"ts\":5,\"value\":1}\n"
		"{\"kind\":\"stream\",\"id\":\"s\",\"name\":\"my stream\",\"device\":\"gpu\"}\n"
		"{\"kind\":\"kernel\",\"pid\":20,\"name\":\"k\",\"ts\":6,\"dur\":1,\"device\":"
		"\"gpu\","
		"\"stream\":\"s\"}\n");
	const struct view_survey *survey = view_survey(fixture.view);
	const struct {
		enum record_row type;
		u32 pid, tid;
		const char *name, *process;
	} expected[] = {
		{ROW_THREAD, 3, 4, "4", ""},
		{ROW_PROCESS, 20, 0, "server", "server"},
		{ROW_THREAD, 20, 20, "server", "server"},
		{ROW_THREAD, 20, 5, "worker", "server"},
		{ROW_THREAD, 20, 30, "server", "server"},
		{ROW_DEVICE, 20, 0, "GPU gpu", "server"},
		{ROW_STREAM, 20, 0, "my stream", "server"},
	};

	CHECK_U64(survey->row_count, ARRAY_SIZE(expected));
	for (size_t i = 0; i < survey->row_count && i < ARRAY_SIZE(expected); i++) {
		const struct view_row *row = &survey->rows[i];

		CHECK_U64(row->type, expected[i].type);
		CHECK_U64(row->pid, expected[i].pid);
		CHECK_U64(row->tid, expected[i].tid);
		CHECK_STRING(row->name, expected[i].name);
		CHECK_STRING(row->process_name, expected[i].process);
		/* On a GPU as a whole lies only what is computed. */
		CHECK_U64(row->event_count, row->type != ROW_DEVICE);
	}
	CHECK_STRING(view_process_name(fixture.view, 20), "server");
	CHECK_STRING(view_process_name(fixture.view, 21), "");
	CHECK_U64(survey->span_count, 5);
	CHECK_U64(survey->counter_count, 1);
}

static int rows_event(void *data, const struct view_event *event, struct err *err)
{
	const struct view_survey *survey = data;

	CHECK(event->row == &survey->rows[event->row_index]);
	CHECK_U64(event->row->pid, event->record->pid);
	CHECK_U64(event->row->tid, event->record->tid);
	return 0;
}

TEST(events_know_their_rows_after_sorting)
{
	struct fixture fixture _fixture_ = fixture_open(
		"{\"kind\":\"call\",\"pid\":9,\"tid\":9,\"probe\":\"f\",\"ts\":1,\"dur\":1}\n"
		"{\"kind\":\"call\",\"pid\":5,\"tid\":7,\"probe\":\"f\",\"ts\":2,\"dur\":1}\n"
		"{\"kind\":\"call\",\"pid\":5,\"tid\":5,\"probe\":\"f\",\"ts\":3,\"dur\":1}\n"
		"{\"kind\":\"call\",\"pid\":9,\"tid\":9,\"probe\":\"f\",\"ts\":4,\"dur\":1}\n");
	const struct view_sink sink = {.span = rows_event};
	struct err err = {0};

	CHECK_OK(view_run(fixture.view, &sink, (void *)view_survey(fixture.view), &err), err);
}

TEST(labels_are_unique)
{
	struct fixture fixture _fixture_ =
		fixture_open("{\"kind\":\"probe\",\"id\":\"1\",\"name\":\"same\"}\n"
			     "{\"kind\":\"probe\",\"id\":\"2\",\"name\":\"same\"}\n"
			     "{\"kind\":\"probe\",\"id\":\"3\",\"name\":\"other\"}\n"
			     "{\"kind\":\"probe\",\"id\":\"4\"}\n"
			     "{\"kind\":\"probe\",\"id\":\"5\",\"name\":\"same #2\"}\n");

	CHECK_STRING(view_label(fixture.view, KIND_probe, 1), "same #1");
	CHECK_STRING(view_label(fixture.view, KIND_probe, 2), "same #2#2");
	CHECK_STRING(view_label(fixture.view, KIND_probe, 3), "other");
	CHECK_STRING(view_label(fixture.view, KIND_probe, 4), "#4");
	CHECK_STRING(view_label(fixture.view, KIND_probe, 5), "same #2");
	CHECK(!view_label(fixture.view, KIND_probe, 0));
	CHECK(!view_label(fixture.view, KIND_probe, 6));
	CHECK(!view_label(fixture.view, KIND_call, 1));
	CHECK(!view_label(fixture.view, 60000, 1));
	CHECK(view_fact(fixture.view, KIND_probe, 5));
	CHECK(!view_fact(fixture.view, KIND_probe, 0));
	CHECK(!view_fact(fixture.view, KIND_probe, 6));
}

/* ---- ledger, attributes, clock ---- */

TEST(the_ledger_sums_sources_and_keeps_the_last_count)
{
	struct fixture fixture _fixture_ = fixture_open(
		"{\"kind\":\"loss\",\"reason\":\"ring_full\",\"place\":\"ring 0\",\"count\":3}\n"
		"{\"kind\":\"loss\",\"reason\":\"ring_full\",\"place\":\"ring 0\",\"count\":5}\n"
		"{\"kind\":\"loss\",\"reason\":\"ring_full\",\"place\":\"ring 1\",\"count\":7}\n"
		"{\"kind\":\"loss\",\"reason\":\"ring_full\",\"place\":\"ring 0\",\"count\":10,"
		"\"source\":4}\n"
		"{\"kind\":\"loss\",\"reason\":\"missed\",\"count\":0}\n");
	const struct view_survey *survey = view_survey(fixture.view);

	CHECK_U64(survey->loss_count, 2);
	CHECK_STRING(survey->losses[0].place, "ring 0");
	CHECK_U64(survey->losses[0].count, 15);
	CHECK_STRING(survey->losses[1].place, "ring 1");
	CHECK_U64(survey->losses[1].count, 7);
	CHECK(!survey->cut);
}

/* Captures of earlier versions do not say how many stacks there were. */
TEST(cut_stacks_are_a_share_of_all)
{
#define CUT_STACKS(place, count)                                                                   \
	"{\"kind\":\"loss\",\"reason\":\"stack_cut\",\"place\":\"" place "\",\"count\":" count "}" \
	"\n"
	struct fixture fixture _fixture_ =
		fixture_open("{\"kind\":\"attribute\",\"group\":\"result\",\"name\":"
			     "\"stacks walked by unwind tables\",\"value\":\"20000\"}\n" CUT_STACKS(
				     "it is broken", "60") CUT_STACKS("no table", "1"));
	struct fixture before _fixture_ = fixture_open(CUT_STACKS("no table", "1"));
	const struct view_survey *survey = view_survey(fixture.view);

	CHECK_U64(survey->loss_count, 2);
	CHECK_STRING(survey->losses[0].place, "it is broken, 0.3 % of stacks");
	CHECK_U64(survey->losses[0].count, 60);
	CHECK_STRING(survey->losses[1].place, "no table, less than 0.1 % of stacks");
	CHECK_STRING(view_survey(before.view)->losses[0].place, "no table");
}

TEST(a_cut_recording_is_in_the_ledger)
{
	struct fixture fixture _fixture_ = fixture_open(CALL("a", 1, 1));
	struct capture_reader *reader = NULL;
	struct view *view = NULL;
	struct err err = {0};

	CHECK(ftruncate(fixture.fd, lseek(fixture.fd, 0, SEEK_END) - 8) == 0);
	CHECK_OK(capture_reader_open(fixture.fd, &reader, &err), err);
	CHECK_OK(view_open(reader, &view, &err), err);
	CHECK(view_survey(view)->cut);
	CHECK_U64(view_survey(view)->event_count, 1);
	CHECK_U64(loss_of(view, VALUE_loss_reason_recording_cut), 1);
	view_free(view);
	capture_reader_free(reader);
}

TEST(attributes_and_clock)
{
	struct fixture fixture _fixture_ =
		fixture_open("{\"kind\":\"attribute\",\"group\":\"option\",\"name\":\"duration\","
			     "\"value\":\"5\"}\n"
			     "{\"kind\":\"clock\",\"ts\":1000,\"realtime_ns\":5000}\n"
			     "{\"kind\":\"clock\",\"ts\":2000,\"realtime_ns\":7000}\n");
	const struct view_survey *survey = view_survey(fixture.view);

	CHECK_U64(survey->attribute_count, 1);
	CHECK_STRING(survey->attributes[0].group, "option");
	CHECK_STRING(survey->attributes[0].key, "duration");
	CHECK_STRING(survey->attributes[0].value, "5");
	CHECK_U64(survey->realtime_offset_ns, 4000);
}

/* "name " of each call that is one of the OS runtime. */
static int os_runtime_span(void *data, const struct view_event *event, struct err *err)
{
	struct script *script = data;

	if (view_is_os_runtime(script->view, event))
		text_appendf(&script->text, "%s ", event->name);
	return 0;
}

#define PROBE(name, binary)                                                                  \
	"{\"kind\":\"probe\",\"id\":\"" name "\",\"name\":\"" name "\",\"binary\":\"" binary \
	"\"}\n" CALL(name, 1, 1)

TEST(functions_of_the_c_library_are_os_runtime)
{
	const struct view_sink sink = {.span = os_runtime_span};
	struct fixture fixture _fixture_ = fixture_open(
		PROBE("read", "/usr/lib/x86_64-linux-gnu/libc.so.6")
			PROBE("old", "/lib64/libpthread-2.17.so") PROBE("poll", "libc.so.6")
				PROBE("musl", "/lib/ld-musl-x86_64.so.1")
					PROBE("cu", "/usr/lib/libcuda.so.1")
						PROBE("mail", "/lib/libc-client.so")
							PROBE("folder", "/opt/libc.so/server")
								CALL("none", 1, 1));
	struct script script = {.view = fixture.view};
	struct err err = {0};

	CHECK_OK(view_run(fixture.view, &sink, &script, &err), err);
	CHECK_STRING(text_string(&script.text), "read old poll musl ");
	text_free(&script.text);
}

UNIT_MAIN()
