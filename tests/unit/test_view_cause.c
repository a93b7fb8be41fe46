/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "base/text.h"
#include "capture_fixture.h"
#include "view/view_parts.h"

#define API(name, correlation, ts, dur)                          \
	"{\"kind\":\"api\",\"pid\":1,\"tid\":1,\"name\":\"" name \
	"\",\"correlation\":" #correlation ",\"ts\":" #ts ",\"dur\":" #dur "}\n"
#define KERNEL(name, correlation, ts)                                                        \
	"{\"kind\":\"kernel\",\"pid\":1,\"name\":\"" name "\",\"correlation\":" #correlation \
	",\"ts\":" #ts ",\"dur\":5,\"device\":\"gpu\",\"stream\":\"s\"}\n"

static int cause_span(void *data, const struct view_event *event, struct err *err)
{
	struct text *text = data;

	if (event->kind->number == KIND_kernel)
		text_appendf(text, "%s%s<%s", text->length ? " " : "", event->name,
			     event->cause ? event->cause->name : "?");
	return 0;
}

static void check_causes(struct view *view, const char *expected)
{
	const struct view_sink sink = {.span = cause_span};
	struct text text _cleanup_text_ = {0};
	struct err err = {0};

	CHECK_OK(view_run(view, &sink, &text, &err), err);
	CHECK_STRING(text_string(&text), expected);
}

TEST(the_outer_of_two_calls_with_one_number_is_the_launch)
{
	struct fixture fixture _fixture_ = fixture_open(API("runtime", 7, 10, 20) API(
		"driver", 7, 12, 10) KERNEL("k", 7, 15) KERNEL("again", 7, 100));

	check_causes(fixture.view, "k<runtime again<runtime");
	CHECK_U64(view_survey(fixture.view)->loss_count, 0);
}

TEST(a_number_used_again_is_a_new_launch)
{
	struct fixture fixture _fixture_ = fixture_open(API("first", 7, 10, 5) KERNEL(
		"a", 7, 20) API("second", 7, 30, 5) KERNEL("b", 7, 40));

	check_causes(fixture.view, "a<first b<second");
}

TEST(numbers_of_other_sources_are_others)
{
	struct fixture fixture _fixture_ = fixture_open(
		API("mine", 7, 10,
		    5) "{\"kind\":\"api\",\"source\":4,\"pid\":2,\"tid\":2,\"name\":"
		       "\"theirs\",\"correlation\":7,\"ts\":12,\"dur\":50}\n" KERNEL("k", 7, 20));

	check_causes(fixture.view, "k<mine");
}

TEST(numbers_that_share_their_lowest_bits)
{
	struct fixture fixture _fixture_ = fixture_open(
		API("low", 7, 10, 5) API("high", 1048583, 20, 5) API("higher", 2097159, 30, 5)
			KERNEL("a", 7, 40) KERNEL("b", 1048583, 50) KERNEL("c", 2097159, 60)
				API("again", 7, 70, 5) KERNEL("d", 7, 80) KERNEL("e", 2097159, 90)
					KERNEL("f", 1048583, 95));

	check_causes(fixture.view, "a<low b<high c<higher d<again e<higher f<high");
}

TEST(kernels_without_launch_are_counted)
{
	struct fixture fixture _fixture_ = fixture_open(
		KERNEL("early", 7, 5) API("launch", 7, 10, 5) KERNEL("k", 7, 20)
			KERNEL("lost", 8, 30) "{\"kind\":\"kernel\",\"pid\":1,\"name\":\"plain\","
					      "\"ts\":50,\"dur\":1}\n");

	check_causes(fixture.view, "early<? k<launch lost<? plain<?");
	CHECK_U64(loss_of(fixture.view, VALUE_loss_reason_launch_after_kernel), 1);
	CHECK_U64(loss_of(fixture.view, VALUE_loss_reason_launch_missing), 1);
	CHECK_U64(loss_of(fixture.view, VALUE_loss_reason_launch_forgotten), 0);
}

/* Numbers grow: 5 and 6 came before all calls that were recorded. */
TEST(kernels_launched_before_the_recording_are_no_loss)
{
	struct fixture fixture _fixture_ = fixture_open(KERNEL("five", 5, 5) KERNEL(
		"six", 6, 6) API("launch", 7, 10, 5) KERNEL("k", 7, 20));
	struct fixture lost _fixture_ = fixture_open(KERNEL("six", 6, 6) API(
		"launch", 7, 10, 5) KERNEL("k", 7, 20) KERNEL("nine", 9, 30));
	struct fixture alone _fixture_ = fixture_open(KERNEL("six", 6, 6));

	check_causes(fixture.view, "five<? six<? k<launch");
	CHECK_U64(loss_of(fixture.view, VALUE_loss_reason_launched_before), 2);
	CHECK_U64(loss_of(fixture.view, VALUE_loss_reason_launch_missing), 0);
	CHECK(view_is_complete(view_survey(fixture.view)));
	CHECK_U64(loss_of(lost.view, VALUE_loss_reason_launched_before), 1);
	CHECK_U64(loss_of(lost.view, VALUE_loss_reason_launch_missing), 1);
	CHECK(!view_is_complete(view_survey(lost.view)));
	/* Where no call was recorded nobody knows. */
	CHECK_U64(loss_of(alone.view, VALUE_loss_reason_launch_missing), 1);
}

TEST(a_launch_of_another_process_is_none)
{
	struct fixture fixture _fixture_ = fixture_open(
		"{\"kind\":\"api\",\"pid\":2,\"tid\":2,\"name\":\"theirs\",\"correlation\":7,"
		"\"ts\":10,\"dur\":5}\n" KERNEL("k", 7, 20));

	check_causes(fixture.view, "k<?");
	CHECK_U64(loss_of(fixture.view, VALUE_loss_reason_launch_missing), 1);
}

#define SYNC(correlation, ts)                                                       \
	"{\"kind\":\"sync\",\"pid\":1,\"correlation\":" #correlation ",\"ts\":" #ts \
	",\"dur\":2,\"type\":"                                                      \
	"\"event\"}\n"

/* CUPTI makes the same record of cudaEventQuery as of a wait for an event. */
TEST(a_question_is_no_wait)
{
	struct fixture first _fixture_ = fixture_open(SYNC(6, 5) API("launch", 7, 10, 5));
	struct fixture polls _fixture_ = fixture_open(API("cudaEventSynchronize", 7, 10, 5) SYNC(
		7, 11) SYNC(8, 20) API("cudaEventQuery_v3020", 9, 30, 5) SYNC(9, 31));
	struct fixture capped _fixture_ =
		fixture_open(API("cudaEventSynchronize", 7, 10, 5) SYNC(7, 11) SYNC(
			8, 20) "{\"kind\":\"loss\",\"reason\":\"events_capped\",\"count\":9}\n");

	/* Numbered before the first call of the window: its call began before it. */
	struct fixture began_before _fixture_ = fixture_open(
		API("cudaEventSynchronize", 7, 10, 5) SYNC(6, 12) SYNC(7, 13) SYNC(8, 20));

	CHECK_U64(view_survey(began_before.view)->event_count, 3);
	/* Where no call is recorded nothing tells them apart. */
	CHECK_U64(view_survey(first.view)->event_count, 2);
	CHECK_U64(view_survey(polls.view)->event_count, 3);
	CHECK_U64(view_survey(capped.view)->event_count, 3);
}

/* Of 20 + 40 + 100 ns the 40. */
TEST(what_has_no_launch_is_told_with_its_share_of_the_time)
{
	struct fixture fixture _fixture_ = fixture_open(
		API("launch", 7, 10, 5) "{\"kind\":\"kernel\",\"pid\":1,\"name\":\"early\","
					"\"correlation\":9,\"ts\":12,\"dur\":20}\n"
					"{\"kind\":\"kernel\",\"pid\":1,\"name\":\"k\","
					"\"correlation\":7,\"ts\":40,\"dur\":100}\n"
					"{\"kind\":\"kernel\",\"pid\":1,\"name\":\"lost\","
					"\"correlation\":8,\"ts\":150,\"dur\":40}\n" API("late", 9,
											 200, 5));
	const struct view_survey *survey = view_survey(fixture.view);
	const char *place = NULL;

	for (size_t i = 0; i < survey->loss_count; i++)
		if (survey->losses[i].reason == VALUE_loss_reason_launch_missing)
			place = survey->losses[i].place;
	CHECK(place && !strcmp(place, "25.0 % of GPU time"));
}

TEST(waits_and_overhead_need_no_launch)
{
	struct fixture fixture _fixture_ = fixture_open(
		"{\"kind\":\"sync\",\"pid\":1,\"correlation\":7,\"ts\":20,\"dur\":5,\"type\":"
		"\"stream\"}\n"
		"{\"kind\":\"overhead\",\"pid\":1,\"correlation\":8,\"ts\":30,\"dur\":5}\n");

	CHECK_U64(view_survey(fixture.view)->loss_count, 0);
}

static struct view_event make_event(struct record_header *record, u64 ts)
{
	record->ts = ts;
	return (struct view_event){.record = record,
				   .kind = schema_kind(record->kind),
				   .ts = ts,
				   .dur = 1,
				   .name = "x"};
}

TEST(the_oldest_launches_are_forgotten)
{
	struct record_kernel kernel = {.header = {.kind = KIND_kernel}};
	struct record_api api = {.header = {.kind = KIND_api}};
	struct view_kinds kinds = {0};
	struct view_causes causes;
	struct view_event event;

	CHECK(view_kinds_init(&kinds) == 0);
	view_causes_init(&causes, 4, 4);
	for (u32 i = 1; i <= 6; i++) {
		api.correlation = i;
		event = make_event(&api.header, 10 * i);
		CHECK(view_causes_add(&causes, &kinds.kinds[KIND_api], &event, 0, NULL, NULL) == 0);
		CHECK_U64(event.launch, i);
	}
	for (u32 i = 1; i <= 7; i++) {
		kernel.correlation = i;
		event = make_event(&kernel.header, 100);
		CHECK(view_causes_add(&causes, &kinds.kinds[KIND_kernel], &event, 0, NULL, NULL) ==
		      0);
		if (i <= 2 || i == 7)
			CHECK(!event.cause);
		else
			CHECK_U64(event.cause->number, i);
	}
	CHECK_U64(causes.forgotten_count, 2);
	CHECK_U64(causes.missing_count, 1);
	view_causes_free(&causes);
	free(kinds.kinds);
}

/* Launches 1 to 5 with other paths, then their kernels; text: what is known of each cause. */
static void walk_late(struct view_causes *causes, const struct view_kinds *kinds, struct text *text)
{
	struct record_kernel kernel = {.header = {.kind = KIND_kernel}};
	struct record_api api = {.header = {.kind = KIND_api, .tid = 7}};
	const struct view_within within = {.path = 3};
	struct view_event event;

	for (u32 i = 1; i <= 5; i++) {
		api.correlation = i;
		event = make_event(&api.header, 10 * i);
		event.row_index = 4;
		/* The second lies around all that follows. */
		event.dur = i == 2 ? 1000 : 5;
		CHECK(view_causes_add(causes, &kinds->kinds[KIND_api], &event, i % 2, &within,
				      NULL) == 0);
	}
	api.correlation = 2;
	event = make_event(&api.header, 60);
	CHECK(view_causes_add(causes, &kinds->kinds[KIND_api], &event, 0, NULL, NULL) == 0);
	CHECK(event.inner_call);
	/* The first has two, the third none, the sixth has none that launched it. */
	for (u32 i = 1; i <= 12; i++) {
		kernel.correlation = i % 7;
		if (i % 7 == 3 || i % 7 == 0 || i > 8)
			continue;
		event = make_event(&kernel.header, 100 + i);
		CHECK(view_causes_add(causes, &kinds->kinds[KIND_kernel], &event, 0, NULL, NULL) ==
		      0);
		if (event.cause)
			text_appendf(text, "%u:%llu at %llu, tid %u, row %zu, path %u in %u; ", i,
				     (unsigned long long)event.cause->number,
				     (unsigned long long)event.cause->ts, event.cause->tid,
				     event.cause->row_index, event.cause->path,
				     event.cause->within.path);
	}
}

/* Of the last two launches all is kept, of older ones what the survey says is asked for. */
TEST(late_kernels_know_all_of_their_launches)
{
	struct text surveyed _cleanup_text_ = {0}, all _cleanup_text_ = {0},
			     few _cleanup_text_ = {0};
	struct view_causes survey, whole, causes;
	struct view_kinds kinds = {0};

	CHECK(view_kinds_init(&kinds) == 0);
	view_causes_init(&survey, 100, 2);
	walk_late(&survey, &kinds, &surveyed);
	/* No times of launch 1, which the ring gave away; 2 still runs. */
	CHECK(strstr(text_string(&surveyed), "1:1 at 0, tid 7, row 4, path 1 in 0; "));
	CHECK(strstr(text_string(&surveyed), "2:2 at 20, tid 7, row 4, path 0 in 3; "));
	view_causes_finish(&survey);
	CHECK(view_bits_has(&survey.launches.late, 1));
	CHECK(!view_bits_has(&survey.launches.late, 2));
	CHECK(!view_bits_has(&survey.launches.late, 3));
	CHECK_U64(view_causes_effects(&survey, 1), 2);
	CHECK_U64(view_causes_effects(&survey, 3), 0);

	view_causes_init(&whole, 100, 100);
	walk_late(&whole, &kinds, &all);
	view_causes_init(&causes, 100, 2);
	causes.launches.surveyed = &survey.launches;
	walk_late(&causes, &kinds, &few);
	CHECK_STRING(text_string(&few), text_string(&all));
	CHECK(strstr(text_string(&few), "1:1 at 10, tid 7, row 4, path 1 in 3; "));
	/* The first and the second: nobody asked for the third. */
	CHECK_U64(causes.launches.kept.count, 2);
	view_causes_free(&whole);
	view_causes_free(&causes);
	view_causes_free(&survey);
	free(kinds.kinds);
}

/* What was kept whole goes with its place. */
TEST(launches_kept_are_forgotten_too)
{
	struct record_kernel kernel = {.header = {.kind = KIND_kernel}, .correlation = 1};
	struct record_api api = {.header = {.kind = KIND_api}};
	struct view_kinds kinds = {0};
	struct view_causes causes;
	struct view_event event;

	CHECK(view_kinds_init(&kinds) == 0);
	view_causes_init(&causes, 4, 2);
	for (u32 i = 1; i <= 40; i++) {
		/* One number again and again: the last one is it. */
		api.correlation = i % 4 ? i : 1;
		event = make_event(&api.header, 10 * i);
		event.dur = 10000;
		api.header.tid = i;
		CHECK(view_causes_add(&causes, &kinds.kinds[KIND_api], &event, 0, NULL, NULL) == 0);
		CHECK(causes.launches.kept.count <= 2);
	}
	event = make_event(&kernel.header, 1000);
	CHECK(view_causes_add(&causes, &kinds.kinds[KIND_kernel], &event, 0, NULL, NULL) == 0);
	CHECK(event.cause);
	CHECK_U64(event.cause->number, 40);
	CHECK_U64(event.cause->tid, 40);
	view_causes_free(&causes);
	free(kinds.kinds);
}

/* ---- keys ---- */

struct key_check {
	struct view *view;
	const char *key;
	struct text text;
};

static int key_span(void *data, const struct view_event *event, struct err *err)
{
	struct key_check *check = data;
	const struct view_key *key = NULL;
	struct view_value value;
	struct err unknown = {0};

	if (check->text.length)
		text_append(&check->text, " ");
	if (view_key(check->view, "test", event->kind, check->key, &key, &unknown) < 0) {
		CHECK_U64(unknown.code, -EINVAL);
		text_append(&check->text, "none");
		return 0;
	}
	value = view_value(check->view, key, event);
	if (value.type == VALUE_ABSENT)
		text_append(&check->text, "absent");
	else if (value.type == VALUE_STRING)
		text_append(&check->text, value.string);
	else
		text_appendf(&check->text, value.type == VALUE_HEX ? "%#llx" : "%llu",
			     (unsigned long long)value.number);
	return 0;
}

static void check_key(struct view *view, const char *key, const char *expected)
{
	const struct view_sink sink = {.span = key_span};
	struct key_check check = {.view = view, .key = key};
	struct err err = {0};

	CHECK_OK(view_run(view, &sink, &check, &err), err);
	CHECK_STRING(text_string(&check.text), expected);
	text_free(&check.text);
}

TEST(values_by_key)
{
	struct fixture fixture _fixture_ = fixture_open(
		"{\"kind\":\"probe\",\"id\":\"f\",\"name\":\"f\",\"binary\":\"/bin/x\","
		"\"address\":\"0x1234\",\"returns\":\"session\"}\n"
		"{\"kind\":\"task\",\"pid\":1,\"tid\":1,\"comm\":\"me\"}\n"
		"{\"kind\":\"call\",\"pid\":1,\"tid\":1,\"probe\":\"f\",\"ts\":5,\"dur\":7,"
		"\"ended\":\"returned\",\"stack\":[\"0xa\",\"0xb\"]}\n" API("launch", 3, 10, 2)
			KERNEL("k", 3, 15));

	check_key(fixture.view, "ts", "5 10 15");
	check_key(fixture.view, "dur", "7 2 5");
	check_key(fixture.view, "end", "12 12 20");
	check_key(fixture.view, "name", "f launch k");
	check_key(fixture.view, "pid", "1 1 1");
	check_key(fixture.view, "ended", "returned none none");
	check_key(fixture.view, "probe", "f none none");
	check_key(fixture.view, "probe.binary", "/bin/x none none");
	check_key(fixture.view, "probe.address", "0x1234 none none");
	check_key(fixture.view, "probe.mangled", "absent none none");
	check_key(fixture.view, "probe.returns", "session none none");
	check_key(fixture.view, "probe.nothing", "none none none");
	check_key(fixture.view, "probe.pad", "none none none");
	check_key(fixture.view, "stack", "0xa < 0xb absent absent");
	check_key(fixture.view, "process", "me me me");
	check_key(fixture.view, "row", "me me s");
	check_key(fixture.view, "correlation", "none 3 3");
	check_key(fixture.view, "device", "none none gpu");
	check_key(fixture.view, "launch_number", "absent 1 absent");
	check_key(fixture.view, "launch", "none none absent");
	check_key(fixture.view, "queue_ns", "absent absent 3");
	check_key(fixture.view, "occupancy", "none none absent");
	check_key(fixture.view, "bandwidth", "none none none");
	check_key(fixture.view, "cause", "absent absent 1");
	check_key(fixture.view, "cause_name", "absent absent launch");
	check_key(fixture.view, "launch_delay_ns", "absent absent 5");
	check_key(fixture.view, "nothing", "none none none");
}

UNIT_MAIN()
