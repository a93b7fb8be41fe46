/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include "exporters/xplane/xplane_plane.h"

static int keep(void *text, const void *bytes, size_t size_bytes)
{
	text_append_bytes(text, bytes, size_bytes);
	return 0;
}

/* The plane as a file with nothing else would have it, read back by protobuf-c. */
static Tensorflow__Profiler__XSpace *written(struct xplane_plane *plane,
					     const struct spool_store *store)
{
	Tensorflow__Profiler__XSpace *space;
	struct text head = {}, file = {};
	struct err err = {};
	u64 size_bytes = 0;

	CHECK_OK(xplane_plane_pack(plane, &head, &size_bytes, &err), err);
	CHECK_OK(xplane_plane_write(plane, &head, store, keep, &file, &err), err);
	CHECK_U64(file.length, size_bytes);
	space = tensorflow__profiler__xspace__unpack(NULL, file.length, (u8 *)file.data);
	CHECK(space && space->n_planes == 1);
	text_free(&head);
	text_free(&file);
	return space;
}

static void add(struct xplane_plane *plane, struct xplane_line *line, struct spool_store *store,
		const char *name, u64 offset_ns, const char *stat_name, u64 value)
{
	struct xplane_event event;
	struct err err = {};
	xplane_stat *stat;

	CHECK(xplane_event_begin(&event, plane, name, offset_ns, 5));
	stat = xplane_event_stat(&event, xplane_plane_stat(plane, stat_name));
	stat->value_case = TENSORFLOW__PROFILER__XSTAT__VALUE_UINT64_VALUE;
	stat->uint64_value = value;
	CHECK_OK(xplane_line_add(line, store, &event, &err), err);
}

TEST(events_of_two_lines_come_back_with_their_names_and_stats)
{
	struct spool_store store = SPOOL_STORE_INIT;
	Tensorflow__Profiler__XSpace *space;
	Tensorflow__Profiler__XPlane *got;
	struct xplane_plane plane;
	u64 events = 20000;

	CHECK(!xplane_plane_init(&plane, 7, "/device:GPU:7"));
	CHECK(xplane_plane_line(&plane, 100) && xplane_plane_line(&plane, 101) &&
	      xplane_plane_line(&plane, 102));
	text_append(&plane.lines[0].name, "first");
	for (u64 i = 0; i < events; i++)
		add(&plane, &plane.lines[i % 2], &store, i % 3 ? "other" : "one", i * 10, "value",
		    i);
	CHECK(!xplane_plane_add_s64(&plane, "count", -3));
	space = written(&plane, &store);
	got = space->planes[0];
	CHECK_U64(got->id, 7);
	CHECK_STRING(got->name, "/device:GPU:7");
	CHECK_U64(got->n_lines, 2); /* the third has no events */
	CHECK_STRING(got->lines[0]->name, "first");
	CHECK_U64(got->lines[1]->id, 101);
	for (u64 i = 0; i < events; i++) {
		Tensorflow__Profiler__XEvent *event = got->lines[i % 2]->events[i / 2];

		CHECK_U64(event->offset_ps, i * 10000);
		CHECK_U64(event->duration_ps, 5000);
		CHECK_STRING(got->event_metadata[event->metadata_id - 1]->value->name,
			     i % 3 ? "other" : "one");
		CHECK_U64(got->event_metadata[event->metadata_id - 1]->key, event->metadata_id);
		CHECK_U64(event->stats[0]->value_case,
			  TENSORFLOW__PROFILER__XSTAT__VALUE_UINT64_VALUE);
		CHECK_U64(event->stats[0]->uint64_value, i);
		CHECK_STRING(got->stat_metadata[event->stats[0]->metadata_id - 1]->value->name,
			     "value");
	}
	CHECK_U64(got->n_stats, 1);
	CHECK(got->stats[0]->int64_value == -3);
	tensorflow__profiler__xspace__free_unpacked(space, NULL);
	xplane_plane_free(&plane);
	spool_store_close(&store);
}

TEST(a_stat_of_value_0_is_there)
{
	struct spool_store store = SPOOL_STORE_INIT;
	Tensorflow__Profiler__XSpace *space;
	struct xplane_plane plane;

	CHECK(!xplane_plane_init(&plane, 0, "plane"));
	CHECK(xplane_plane_line(&plane, 1) != NULL);
	add(&plane, &plane.lines[0], &store, "event", 0, "zero", 0);
	space = written(&plane, &store);
	CHECK_U64(space->planes[0]->lines[0]->events[0]->stats[0]->value_case,
		  TENSORFLOW__PROFILER__XSTAT__VALUE_UINT64_VALUE);
	tensorflow__profiler__xspace__free_unpacked(space, NULL);
	xplane_plane_free(&plane);
	spool_store_close(&store);
}

TEST(an_event_takes_so_many_stats_and_no_more)
{
	struct xplane_plane plane;
	struct xplane_event event;

	CHECK(!xplane_plane_init(&plane, 0, "plane"));
	CHECK(xplane_event_begin(&event, &plane, "event", 0, 0));
	for (int i = 0; i < XPLANE_STATS_MAX; i++)
		CHECK(xplane_event_stat(&event, i + 1) != NULL);
	CHECK(!xplane_event_stat(&event, 1));
	xplane_plane_free(&plane);
}

TEST(names_of_counters_need_no_escapes)
{
	struct text scratch = {0};

	CHECK_STRING(xplane_counter_name("GPU busy (%)", &scratch), "GPU busy (%)");
	CHECK_STRING(xplane_counter_name("gr\xc3\xbc\xc3\x9f", &scratch), "gr\xc3\xbc\xc3\x9f");
	CHECK_STRING(xplane_counter_name("a \"b\" c\\d\te\x01\n", &scratch), "a 'b' c/d e  ");
	CHECK_STRING(xplane_counter_name("\xff\"", &scratch), "?'");
	CHECK_STRING(xplane_counter_name("", &scratch), "");
	text_free(&scratch);
}

TEST(what_is_no_utf8_becomes_question_marks)
{
	struct text scratch = {};

	CHECK_STRING(text_utf8("plain", &scratch), "plain");
	CHECK_STRING(text_utf8("gr\xc3\xbc\xc3\x9f", &scratch), "gr\xc3\xbc\xc3\x9f");
	CHECK_STRING(text_utf8("a\xff\xc3[\xed\xa0\x80z", &scratch), "a??[???z");
	CHECK_STRING(text_utf8("cut \xe2\x82", &scratch), "cut ??");
	text_free(&scratch);
}

UNIT_MAIN()

/* A reader tells 256 of one picosecond apart. */
TEST(points_of_one_moment_are_moved_apart_by_less_than_a_nanosecond)
{
	struct spool_store store = SPOOL_STORE_INIT;
	Tensorflow__Profiler__XSpace *space;
	struct xplane_plane plane;
	Tensorflow__Profiler__XLine *line;
	u64 points = 300000, at_once = 0, until;
	struct err err = {};

	CHECK(!xplane_plane_init(&plane, 7, "/host:CPU"));
	CHECK(xplane_plane_line(&plane, 100));
	for (u64 i = 0; i < points + 2; i++) {
		struct xplane_event event;

		/* One that lasts before them, one point behind them. */
		CHECK(xplane_event_begin(&event, &plane, "point", i > points ? 8 : 7, i == 0));
		CHECK_OK(xplane_line_add(&plane.lines[0], &store, &event, &err), err);
	}
	space = written(&plane, &store);
	line = space->planes[0]->lines[0];
	CHECK_U64(line->n_events, points + 2);
	CHECK_U64(line->events[0]->offset_ps, 7000);
	until = line->events[1]->offset_ps;
	CHECK_U64(until, 7000);
	for (u64 i = 1; i < 1001; i++) {
		u64 offset_ps = line->events[i]->offset_ps;

		at_once = offset_ps == until ? at_once + 1 : 1;
		CHECK(offset_ps >= until && at_once <= 200);
		until = offset_ps;
	}
	CHECK_U64(line->events[points]->offset_ps, 7999);
	CHECK_U64(line->events[points + 1]->offset_ps, 8000);
	tensorflow__profiler__xspace__free_unpacked(space, NULL);
	spool_store_close(&store);
	xplane_plane_free(&plane);
}
