/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chrome traces of captures that are made of text: what a reader would take wrong must not be in
 * them. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "exporters/exporter.h"
#include "import/ndjson.h"
#include "store/capture_writer.h"
#include "unit.h"

#define OWN_TID 1000000000
#define OWN_PID 2000000000

/* Writes the capture as a trace; NULL (and a failed check) when that does not work. */
static char *export_capture(int capture_fd, const char *suffix)
{
	struct err err = {0};
	struct capture_reader *reader = NULL;
	const struct exporter *exporter = NULL;
	struct view *view = NULL;
	char path[64] = "/tmp/gpuprobe-test-XXXXXX";
	char *data = NULL;
	u64 size = 0;
	int fd = mkstemp(path);

	close(fd);
	unlink(path);
	strcat(path, suffix);
	CHECK_OK(capture_reader_open(capture_fd, &reader, &err), err);
	CHECK_OK(view_open(reader, &view, &err), err);
	CHECK_OK(exporter_find(path, NULL, &exporter, &err), err);
	CHECK_OK(exporter_write(exporter, view, path, &size, &err), err);
	view_free(view);
	capture_reader_free(reader);
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0);
	data = calloc(1, size + 1);
	CHECK_U64(read(fd, data, size), size);
	close(fd);
	unlink(path);
	return data;
}

static int import_text(const char *text)
{
	struct err err = {0};
	int text_fd _cleanup_close_ = memfd_create("text", 0), capture_fd = -1;

	CHECK_U64(write(text_fd, text, strlen(text)), strlen(text));
	lseek(text_fd, 0, SEEK_SET);
	CHECK_OK(import_ndjson(text_fd, "text", &capture_fd, &err), err);
	return capture_fd;
}

static char *export_text(const char *text, const char *suffix)
{
	int capture_fd _cleanup_close_ = import_text(text);

	return export_capture(capture_fd, suffix);
}

static json_t *parse(const char *data)
{
	json_error_t error;
	json_t *trace = json_loads(data, JSON_REJECT_DUPLICATES, &error);

	if (!trace)
		UNIT_FAIL("no strict JSON: %s, line %d", error.text, error.line);
	return trace;
}

static json_t *trace_of(const char *text)
{
	char *data _cleanup_free_ = export_text(text, ".json");

	return parse(data);
}

static const char *string_of(json_t *object, const char *key)
{
	const char *string = json_string_value(json_object_get(object, key));

	return string ? string : "";
}

static u64 number_of(json_t *object, const char *key)
{
	return (u64)json_integer_value(json_object_get(object, key));
}

static u64 ns_of(json_t *event, const char *key)
{
	return (u64)llround(json_number_value(json_object_get(event, key)) * 1000);
}

/* The nth event with this phase and name (NULL: any). */
static json_t *event_of(json_t *trace, const char *phase, const char *name, unsigned n)
{
	json_t *event;
	size_t i;

	json_array_foreach(json_object_get(trace, "traceEvents"), i, event)
	{
		if (strcmp(string_of(event, "ph"), phase) != 0 ||
		    (name && strcmp(string_of(event, "name"), name) != 0))
			continue;
		if (n-- == 0)
			return event;
	}
	UNIT_FAIL("no event %s %s", phase, name ? name : "");
	return NULL;
}

static u64 count_named(json_t *trace, const char *name)
{
	json_t *event;
	size_t i;
	u64 count = 0;

	json_array_foreach(json_object_get(trace, "traceEvents"), i, event) count +=
		strcmp(string_of(event, "name"), name) == 0;
	return count;
}

static u64 count_of(json_t *trace, const char *phase)
{
	json_t *event;
	size_t i;
	u64 count = 0;

	json_array_foreach(json_object_get(trace, "traceEvents"), i, event) count +=
		strcmp(string_of(event, "ph"), phase) == 0;
	return count;
}

#define WINDOW "{\"kind\":\"window\",\"source\":1,\"ts\":1000,\"dur\":1000000}\n"

TEST(an_empty_capture_is_a_trace_without_events)
{
	json_t *trace = trace_of(WINDOW);

	CHECK_U64(json_array_size(json_object_get(trace, "traceEvents")), 0);
	CHECK(json_is_true(
		json_object_get(json_object_get(trace, "metadata"), "capture_complete")));
	json_decref(trace);
}

TEST(times_are_written_from_integers)
{
	char *data _cleanup_free_ =
		export_text("{\"kind\":\"call\",\"ts\":8000000000000001,\"dur\":7,\"pid\":5,"
			    "\"tid\":5,\"name\":\"f\"}\n",
			    ".json");

	CHECK(strstr(data, "\"ts\":8000000000000.001,\"dur\":0.007") != NULL);
}

TEST(times_beyond_100_days_are_reduced_by_a_multiple_of_90)
{
	const u64 day = 86400ULL * 1000000000, uptime = 200 * day;
	struct text text _cleanup_text_ = {0};
	json_t *trace, *clock;

	text_appendf(
		&text,
		"{\"kind\":\"clock\",\"ts\":%llu,\"realtime_ns\":%llu}\n"
		"{\"kind\":\"window\",\"ts\":%llu,\"dur\":500}\n"
		"{\"kind\":\"call\",\"ts\":%llu,\"dur\":7,\"pid\":5,\"tid\":5,\"name\":\"f\"}\n",
		(unsigned long long)uptime, (unsigned long long)(uptime + 12345),
		(unsigned long long)uptime, (unsigned long long)uptime + 3);
	trace = trace_of(text_string(&text));
	clock = json_object_get(json_object_get(trace, "metadata"), "clock");
	CHECK_U64(number_of(clock, "subtractedNanoseconds"), 180 * day);
	CHECK_U64(number_of(clock, "baseTimeNanoseconds"), 180 * day + 12345);
	CHECK_U64(ns_of(event_of(trace, "X", "f", 0), "ts"), 20 * day + 3);
	json_decref(trace);
}

TEST(names_of_rows_stand_before_all_events)
{
	json_t *trace = trace_of(
		WINDOW
		"{\"kind\":\"task\",\"ts\":1,\"pid\":5,\"tid\":5,\"comm\":\"server\"}\n"
		"{\"kind\":\"task\",\"ts\":1,\"pid\":5,\"tid\":6,\"comm\":\"worker\"}\n"
		"{\"kind\":\"call\",\"ts\":2000,\"dur\":7,\"pid\":5,\"tid\":6,\"name\":\"f\"}\n"
		"{\"kind\":\"call\",\"ts\":3000,\"dur\":7,\"pid\":5,\"tid\":5,\"name\":\"f\"}\n");
	json_t *events = json_object_get(trace, "traceEvents"), *event;
	bool names = true;
	size_t i;

	json_array_foreach(events, i, event)
	{
		bool name = strcmp(string_of(event, "ph"), "M") == 0;

		CHECK(names || !name);
		names = name;
	}
	event = event_of(trace, "M", "process_name", 0);
	CHECK_STRING(string_of(json_object_get(event, "args"), "name"), "server");
	event = event_of(trace, "M", "thread_name", 1);
	CHECK_STRING(string_of(json_object_get(event, "args"), "name"), "worker");
	CHECK_U64(number_of(event, "tid"), 6);
	CHECK_U64(count_of(trace, "M"), 7);
	json_decref(trace);
}

TEST(a_row_without_pid_or_tid_gets_numbers_that_nobody_has)
{
	json_t *trace = trace_of(
		WINDOW
		"{\"kind\":\"call\",\"ts\":2000,\"dur\":7,\"name\":\"nobody\"}\n"
		"{\"kind\":\"call\",\"ts\":2000,\"dur\":7,\"pid\":5,\"name\":\"no thread\"}\n"
		"{\"kind\":\"call\",\"ts\":2000,\"dur\":7,\"pid\":1000000000,"
		"\"tid\":1000000000,\"name\":\"taken\"}\n"
		"{\"kind\":\"call\",\"ts\":2000,\"dur\":7,\"pid\":2000000000,"
		"\"tid\":2000000000,\"name\":\"taken too\"}\n");
	json_t *nobody = event_of(trace, "X", "nobody", 0);
	json_t *no_thread = event_of(trace, "X", "no thread", 0);

	CHECK(number_of(nobody, "pid") > OWN_PID);
	CHECK(number_of(nobody, "tid") > OWN_TID);
	CHECK_U64(number_of(no_thread, "pid"), 5);
	CHECK(number_of(no_thread, "tid") > OWN_TID);
	CHECK(number_of(no_thread, "tid") != number_of(nobody, "tid"));
	CHECK_U64(number_of(event_of(trace, "X", "taken", 0), "tid"), 1000000000);
	CHECK_U64(number_of(event_of(trace, "X", "taken too", 0), "pid"), 2000000000);
	json_decref(trace);
}

TEST(a_stream_is_a_row_of_a_process_of_its_own)
{
	json_t *trace = trace_of(
		WINDOW "{\"kind\":\"task\",\"ts\":1,\"pid\":5,\"tid\":5,\"comm\":\"python\"}\n"
		       "{\"kind\":\"device\",\"id\":\"H200\",\"name\":\"H200\",\"number\":0}\n"
		       "{\"kind\":\"stream\",\"id\":\"stream 7\",\"name\":\"stream "
		       "7\",\"device\":\"H200\",\"number\":7}\n"
		       "{\"kind\":\"api\",\"ts\":2000,\"dur\":10,\"pid\":5,\"tid\":5,"
		       "\"name\":\"launch\",\"correlation\":1}\n"
		       "{\"kind\":\"kernel\",\"ts\":2020,\"dur\":10,\"pid\":5,\"name\":\"gemm\","
		       "\"correlation\":1,\"device\":\"H200\",\"stream\":\"stream 7\"}\n");
	json_t *launch = event_of(trace, "X", "launch", 0);
	json_t *kernel = event_of(trace, "X", "gemm", 0);

	CHECK(number_of(kernel, "pid") >= OWN_PID);
	CHECK(number_of(kernel, "tid") >= OWN_TID);
	CHECK_U64(number_of(json_object_get(kernel, "args"), "device"), 0);
	CHECK_U64(number_of(json_object_get(kernel, "args"), "stream"), 7);
	CHECK_U64(number_of(event_of(trace, "s", "ac2g", 0), "id"), 1);
	CHECK_U64(number_of(event_of(trace, "s", "ac2g", 0), "tid"), number_of(launch, "tid"));
	CHECK_U64(number_of(event_of(trace, "f", "ac2g", 0), "id"), 1);
	CHECK_U64(number_of(event_of(trace, "f", "ac2g", 0), "tid"), number_of(kernel, "tid"));
	CHECK_STRING(string_of(event_of(trace, "f", "ac2g", 0), "bp"), "e");
	json_decref(trace);
}

/* Also where a GPU ran nothing but graphs that are recorded as a whole, or sets. */
TEST(work_of_any_kind_has_its_ranges_on_its_stream)
{
	static const char *const works[] = {"kernel", "copy", "set", "graph_launch"};

	for (size_t i = 0; i < ARRAY_SIZE(works); i++) {
		struct text text _cleanup_text_ = {0};
		json_t *trace, *range;

		text_append(&text,
			    WINDOW "{\"kind\":\"device\",\"id\":\"H200\",\"number\":0}\n"
				   "{\"kind\":\"stream\",\"id\":\"stream 7\","
				   "\"device\":\"H200\",\"number\":7}\n"
				   "{\"kind\":\"range\",\"ts\":1990,\"dur\":25,\"pid\":5,\"tid\":5,"
				   "\"name\":\"forward\",\"ended\":\"ended\"}\n"
				   "{\"kind\":\"api\",\"ts\":2000,\"dur\":10,\"pid\":5,\"tid\":5,"
				   "\"name\":\"launch\",\"correlation\":1}\n");
		text_appendf(&text,
			     "{\"kind\":\"%s\",\"ts\":2020,\"dur\":10,\"pid\":5,"
			     "\"correlation\":1,\"device\":\"H200\",\"stream\":\"stream 7\"}\n",
			     works[i]);
		trace = trace_of(text_string(&text));
		range = event_of(trace, "X", "forward", 1);
		CHECK_STRING(string_of(range, "cat"), "gpu_user_annotation");
		CHECK_U64(ns_of(range, "dur"), 10);
		json_decref(trace);
	}
}

/* Readers of Kineto's traces count a step again for each row on which it stands. */
TEST(steps_stand_on_their_thread_alone)
{
	static const char *const names[] = {"step %d", "ProfilerStep#%d"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct text text _cleanup_text_ = {0};
		json_t *trace;

		text_append(&text, WINDOW "{\"kind\":\"device\",\"id\":\"H200\",\"number\":0}\n"
					  "{\"kind\":\"stream\",\"id\":\"stream 7\","
					  "\"device\":\"H200\",\"number\":7}\n");
		for (int step = 0; step < 3; step++) {
			text_appendf(&text,
				     "{\"kind\":\"range\",\"ts\":%d,\"dur\":90,\"pid\":5,\"tid\":5,"
				     "\"ended\":\"ended\",\"name\":\"",
				     2000 + 100 * step);
			text_appendf(&text, names[i], step);
			text_appendf(
				&text,
				"\"}\n{\"kind\":\"api\",\"ts\":%d,\"dur\":10,\"pid\":5,\"tid\":5,"
				"\"name\":\"launch\",\"correlation\":%d}\n"
				"{\"kind\":\"kernel\",\"ts\":%d,\"dur\":10,\"pid\":5,\"name\":"
				"\"gemm\","
				"\"correlation\":%d,\"device\":\"H200\",\"stream\":\"stream 7\"}\n",
				2010 + 100 * step, step + 1, 2030 + 100 * step, step + 1);
		}
		trace = trace_of(text_string(&text));
		CHECK_STRING(string_of(event_of(trace, "X", "ProfilerStep#1", 0), "cat"),
			     "user_annotation");
		CHECK_U64(count_named(trace, "ProfilerStep#1"), 1);
		/* Other ranges do. */
		CHECK_U64(count_named(trace, "step 1"), i == 0 ? 2 : 0);
		json_decref(trace);
	}
}

TEST(a_kernel_says_how_it_was_launched_where_that_is_not_regular)
{
	json_t *trace = trace_of(
		WINDOW "{\"kind\":\"kernel\",\"ts\":2020,\"dur\":10,\"pid\":5,\"name\":\"all\","
		       "\"correlation\":1,\"launch\":\"cooperative\"}\n"
		       "{\"kind\":\"kernel\",\"ts\":2040,\"dur\":10,\"pid\":5,\"name\":\"one\","
		       "\"correlation\":2,\"launch\":\"regular\"}\n");
	json_t *all = json_object_get(event_of(trace, "X", "all", 0), "args");
	json_t *one = json_object_get(event_of(trace, "X", "one", 0), "args");

	CHECK_STRING(string_of(all, "launch type"), "cooperative");
	CHECK(one && !json_object_get(one, "launch type"));
	json_decref(trace);
}

TEST(an_attribute_that_is_there_twice_is_an_array)
{
	json_t *trace = trace_of(
		WINDOW
		"{\"kind\":\"attribute\",\"group\":\"target\",\"name\":\"pid\",\"value\":\"7\"}\n"
		"{\"kind\":\"attribute\",\"group\":\"host\",\"name\":\"kernel\",\"value\":\"6.18\"}"
		"\n"
		"{\"kind\":\"attribute\",\"group\":\"target\",\"name\":\"pid\",\"value\":\"3\"}\n");
	json_t *metadata = json_object_get(trace, "metadata");
	json_t *pids = json_object_get(json_object_get(metadata, "target"), "pid");

	CHECK_U64(json_array_size(pids), 2);
	CHECK_STRING(json_string_value(json_array_get(pids, 0)), "7");
	CHECK_STRING(json_string_value(json_array_get(pids, 1)), "3");
	CHECK_STRING(string_of(json_object_get(metadata, "host"), "kernel"), "6.18");
	json_decref(trace);
}

/* No record is missing: the stack itself says how it ends, and the ledger how many do. */
TEST(cut_stacks_make_no_recording_incomplete)
{
	json_t *trace = trace_of(
		WINDOW
		"{\"kind\":\"loss\",\"reason\":\"stack_cut\",\"place\":\"no table\",\"count\":5}\n"
		"{\"kind\":\"loss\",\"reason\":\"names_cut\",\"count\":2}\n"
		"{\"kind\":\"call\",\"ts\":2000,\"dur\":7,\"pid\":5,\"tid\":5,\"name\":\"f\"}\n");
	json_t *metadata = json_object_get(trace, "metadata");

	CHECK(json_is_true(json_object_get(metadata, "capture_complete")));
	CHECK_U64(json_array_size(json_object_get(metadata, "losses")), 2);
	CHECK_U64(count_of(trace, "X"), 1);
	json_decref(trace);
}

TEST(what_is_missing_is_said)
{
	json_t *trace = trace_of(
		WINDOW
		"{\"kind\":\"loss\",\"reason\":\"ring_full\",\"place\":\"CPU 0\",\"count\":5}\n"
		"{\"kind\":\"call\",\"ts\":2000,\"dur\":7,\"pid\":5,\"tid\":5,\"name\":\"f\"}\n");
	json_t *metadata = json_object_get(trace, "metadata");
	json_t *loss = json_array_get(json_object_get(metadata, "losses"), 0);

	CHECK(json_is_false(json_object_get(metadata, "capture_complete")));
	CHECK_STRING(string_of(loss, "reason"), "ring_full");
	CHECK_STRING(string_of(loss, "place"), "CPU 0");
	CHECK_U64(number_of(loss, "count"), 5);
	CHECK(*string_of(loss, "meaning"));
	loss = event_of(trace, "X", "something is missing: see the losses", 0);
	CHECK_U64(ns_of(loss, "ts"), 1000);
	CHECK_U64(ns_of(loss, "dur"), 1000000);
	CHECK(number_of(loss, "pid") >= OWN_PID);
	json_decref(trace);
}

/* ---- names that are no text ---- */

static int capture_with_name(const char *name, size_t length)
{
	struct err err = {0};
	struct capture_writer *writer = NULL;
	struct batch *batch = NULL;
	struct record_call call = {
		.header = {.size_bytes = sizeof(call),
			   .kind = KIND_call,
			   .source = RECORD_SOURCE_BPF,
			   .ts = 2000,
			   .dur = 7,
			   .pid = 5,
			   .tid = 5,
			   .name = 1},
		.ended = VALUE_call_ended_returned,
	};
	int fd = memfd_create("capture", 0);

	CHECK_OK(capture_writer_create(fd, &writer, &err), err);
	CHECK_U64(batch_create(&batch), 0);
	CHECK_U64(batch_add_text(batch, RECORD_SOURCE_BPF, 1, name, length), 0);
	CHECK_U64(batch_add(batch, &call.header), 0);
	CHECK_OK(capture_writer_append(writer, batch, &err), err);
	CHECK_OK(capture_writer_finish(writer, &err), err);
	capture_writer_free(writer);
	batch_free(batch);
	return fd;
}

TEST(any_bytes_as_a_name_make_strict_json)
{
	static const char *const names[] = {
		"\xff\xfe",	     "cut \xe2\x82",	      "\xed\xa0\x80 surrogate",
		"\xc0\xaf overlong", "\"\\\n\x01\x1b[2J\x7f",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		for (unsigned format = 0; format < 2; format++) {
			int fd _cleanup_close_ = capture_with_name(names[i], strlen(names[i]));
			char *data _cleanup_free_ =
				export_capture(fd, format ? ".json" : ".ndjson");
			char *rest = data, *line;

			/* In the one format a line is a value of its own, in the other the file is.
			 */
			while (format == 0 && (line = strsep(&rest, "\n")) && *line)
				json_decref(parse(line));
			if (format == 1)
				json_decref(parse(data));
		}
}

/* ---- a property: random spans never overlap on a row, and all are there ---- */

#define RANDOM_SPANS 3000
#define RANDOM_ROWS  64
#define RANDOM_DEPTH 4096

static u64 random_next(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

struct random_span {
	u64 ts, dur;
	u32 tid;
	unsigned seen;
};

struct random_row {
	u64 pid, tid;
	u64 ends[RANDOM_DEPTH]; /* of the spans open now */
	size_t depth;
};

static struct random_row *random_row(struct random_row *rows, size_t *count, u64 pid, u64 tid)
{
	for (size_t i = 0; i < *count; i++)
		if (rows[i].pid == pid && rows[i].tid == tid)
			return &rows[i];
	if (*count == RANDOM_ROWS)
		return NULL;
	rows[*count] = (struct random_row){.pid = pid, .tid = tid};
	return &rows[(*count)++];
}

static void check_random_event(struct random_row *rows, size_t *row_count,
			       struct random_span *spans, json_t *event)
{
	u64 ts = ns_of(event, "ts"), dur = ns_of(event, "dur"), tid = number_of(event, "tid");
	struct random_row *row = random_row(rows, row_count, number_of(event, "pid"), tid);
	struct random_span *span = &spans[strtoul(string_of(event, "name") + 1, NULL, 10)];

	CHECK_U64(ts, span->ts);
	CHECK_U64(dur, span->dur);
	CHECK(tid == span->tid || tid >= OWN_TID);
	span->seen++;
	CHECK(row != NULL);
	if (!row)
		return;
	while (row->depth && row->ends[row->depth - 1] <= ts)
		row->depth--;
	if (row->depth && ts + dur > row->ends[row->depth - 1])
		UNIT_FAIL("%s overlaps", string_of(event, "name"));
	if (row->depth < RANDOM_DEPTH)
		row->ends[row->depth++] = ts + dur;
}

static void check_random_spans(u64 seed, u64 range, u64 longest)
{
	struct random_span *spans _cleanup_free_ = calloc(RANDOM_SPANS, sizeof(*spans));
	struct random_row *rows _cleanup_free_ = calloc(RANDOM_ROWS, sizeof(*rows));
	struct text text _cleanup_text_ = {0};
	size_t row_count = 0, i;
	json_t *trace, *event;

	for (i = 0; i < RANDOM_SPANS; i++) {
		spans[i].ts = 1000 + random_next(&seed) % range;
		spans[i].dur = random_next(&seed) % longest;
		spans[i].tid = 5 + random_next(&seed) % 3;
		text_appendf(&text,
			     "{\"kind\":\"call\",\"ts\":%llu,\"dur\":%llu,\"pid\":5,\"tid\":%u,"
			     "\"name\":\"s%zu\"}\n",
			     (unsigned long long)spans[i].ts, (unsigned long long)spans[i].dur,
			     spans[i].tid, i);
	}
	trace = trace_of(text_string(&text));
	json_array_foreach(json_object_get(trace, "traceEvents"), i,
			   event) if (strcmp(string_of(event, "ph"), "X") == 0)
		check_random_event(rows, &row_count, spans, event);
	for (i = 0; i < RANDOM_SPANS; i++)
		CHECK_U64(spans[i].seen, 1);
	json_decref(trace);
}

TEST(random_spans_nest_on_every_row)
{
	check_random_spans(88172645463325252ULL, 1000000, 3000);
	check_random_spans(7, 1000000, 2);    /* many of length 0 */
	check_random_spans(12345, 30000, 30); /* many touch, many start together */
}

/* ---- the table of formats ---- */

TEST(the_format_follows_from_the_name)
{
	static const struct {
		const char *path;
		const char *format; /* given */
		const char *found;
	} cases[] = {
		{"a.json", NULL, "chrome"},   {"a.json.gz", NULL, "chrome"},
		{"a.ndjson", NULL, "ndjson"}, {"x/y.json/a.ndjson.gz", NULL, "ndjson"},
		{"-", "ndjson", "ndjson"},    {"a.json", "ndjson", "ndjson"},
	};
	const struct exporter *exporter;
	struct err err = {0};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CHECK_OK(exporter_find(cases[i].path, cases[i].format, &exporter, &err), err);
		CHECK_STRING(exporter->format, cases[i].found);
	}
	exporter = exporters(&(size_t){0});
	CHECK_U64(exporter_find("a.gpr", NULL, &exporter, &err), 0);
	CHECK(exporter == NULL);
	CHECK(exporter_find("a.txt", NULL, &exporter, &err) == -EINVAL);
	CHECK(strstr(err.message, ".ndjson.gz") != NULL);
	CHECK(exporter_find("a.txt", "crome", &exporter, &err) == -EINVAL);
	CHECK(strstr(err.message, "chrome") != NULL);
}

UNIT_MAIN()
