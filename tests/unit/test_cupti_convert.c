/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CUPTI's records become ours: the table of offsets against CUPTI's own headers and library, and what is counted. */
#include "cupti_buffers.h"
#include "cupti_fixture.h"
#include "real_cupti.h"
#include "unit.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <time.h>

#include "../gpu/cupti/cupti_convert.h"
#include "../gpu/cupti/cupti_sizes.h"
#include "../bpf/record.h"

#if __has_include(<cupti.h>)
#include <cupti.h>
#if CUPTI_API_VERSION >= 130000
#define HAS_HEADERS 1
#endif
#endif

static void make_kernel(u8 *record)
{
	memset(record, 0, 248);
	put(record, 0, 10, 4);
	put(record, 6, 40, 2);
	put(record, 16, 1000, 8);
	put(record, 24, 1500, 8);
	put(record, 40, 2, 4);
	put(record, 44, 1, 4);
	put(record, 48, 7, 4);
	put(record, 52, 264, 4);
	put(record, 64, 256, 4);
	put(record, 92, 77, 4);
	put(record, 104, 0x1234, 8);
	put(record, 136, 1, 1);
	put(record, 168, 9, 4);
	put(record, 172, 1, 4);
}

TEST(a_kernel_becomes_a_record_with_its_name_and_stream_in_front)
{
	struct fixture *fixture = fixture_make();
	const struct record_kernel *kernel;
	const struct record_stream *stream;
	const struct record_text *text;
	u8 record[248];

	make_kernel(record);
	fixture->convert.record_bytes[10] = 216;
	cupti_convert(&fixture->convert, record, 216);
	kernel = last(fixture, KIND_kernel);
	stream = last(fixture, KIND_stream);
	text = last(fixture, KIND_text);
	CHECK(kernel && stream && text);
	CHECK((void *)text < (void *)kernel && (void *)stream < (void *)kernel);
	CHECK_U64(kernel->header.ts, 1000);
	CHECK_U64(kernel->header.dur, 500);
	CHECK_U64(kernel->header.pid, 42);
	CHECK_U64(kernel->header.name, text->id);
	CHECK_U64(kernel->correlation, 77);
	CHECK_U64(kernel->device, 2);
	CHECK_U64(kernel->context, 1);
	CHECK_U64(kernel->stream, stream->id);
	CHECK_U64(kernel->registers_per_thread, 40);
	CHECK_U64(kernel->grid[0], 264);
	CHECK_U64(kernel->block[0], 256);
	CHECK_U64(kernel->launch, VALUE_launch_type_cooperative);
	CHECK_U64(kernel->queued, 0);
	CHECK_U64(stream->number, 7);
	CHECK_U64(stream->device, 2);
	CHECK(!memcmp(text + 1, "kernel_a", 8));
	fixture_free(fixture);
}

TEST(a_priority_is_signed_and_only_in_records_that_have_it)
{
	struct fixture *fixture = fixture_make();
	const struct record_kernel *kernel;
	u8 record[248];

	make_kernel(record);
	put(record, 208, 1, 1);
	put(record, 216, (u32)-5, 4);
	fixture->convert.record_bytes[10] = 208;
	cupti_convert(&fixture->convert, record, 208);
	kernel = last(fixture, KIND_kernel);
	CHECK(kernel->priority == INT32_MIN);
	CHECK_U64(kernel->device_launched, 0);
	fixture->convert.record_bytes[10] = 224;
	cupti_convert(&fixture->convert, record, 224);
	kernel = last(fixture, KIND_kernel);
	CHECK(kernel->priority == -5);
	CHECK_U64(kernel->device_launched, VALUE_yes_no_yes);
	fixture_free(fixture);
}

static const struct record_gpu_environment *convert_environment(struct fixture *fixture, u32 kind)
{
	u8 record[40] = {0};

	put(record, 0, 20, 4);
	put(record, 4, 3, 4);
	put(record, 8, 1000, 8);
	put(record, 16, kind, 4);
	put(record, 20, 71, 4);
	put(record, 24, 72, 4);
	cupti_convert(&fixture->convert, record, sizeof(record));
	return last(fixture, KIND_gpu_environment);
}

TEST(of_the_environment_that_is_known_which_the_record_tells)
{
	struct fixture *fixture = fixture_make();
	static const u32 expected[][6] = {
		{~0U, ~0U, ~0U, ~0U, ~0U, ~0U}, {71, 72, ~0U, ~0U, ~0U, ~0U},
		{~0U, ~0U, 71, ~0U, ~0U, ~0U},	{~0U, ~0U, ~0U, 71, 72, ~0U},
		{~0U, ~0U, ~0U, ~0U, ~0U, 71},	{~0U, ~0U, ~0U, ~0U, ~0U, ~0U},
	};

	for (u32 i = 0; i < ARRAY_SIZE(expected); i++) {
		const struct record_gpu_environment *record = convert_environment(fixture, i);

		CHECK(record);
		CHECK_U64(record->header.ts, 1000);
		CHECK_U64(record->device, 3);
		CHECK_U64(record->sm_clock_mhz, expected[i][0]);
		CHECK_U64(record->memory_clock_mhz, expected[i][1]);
		CHECK_U64(record->temperature_celsius, expected[i][2]);
		CHECK_U64(record->power_milliwatts, expected[i][3]);
		CHECK_U64(record->power_limit_milliwatts, expected[i][4]);
		CHECK_U64(record->fan_percent, expected[i][5]);
	}
	fixture_free(fixture);
}

TEST(sizes_of_a_pool_are_known_where_it_is_local)
{
	struct fixture *fixture = fixture_make();

	for (u32 type = 0; type < 40; type++) {
		u64 expected = type == 1 ? 4096 : ~0ULL;
		const struct record_gpu_memory *memory;
		const struct record_gpu_pool *pool;
		u8 record[120] = {0};

		put(record, 0, 49, 4);
		put(record, 32, 1000, 8);
		put(record, 80, type, 4);
		put(record, 104, 4096, 8);
		cupti_convert(&fixture->convert, record, 120);
		memory = last(fixture, KIND_gpu_memory);
		CHECK(memory);
		CHECK_U64(memory->pool_bytes, expected);
		memset(record, 0, sizeof(record));
		put(record, 0, 50, 4);
		put(record, 8, type, 4);
		put(record, 40, 4096, 8);
		put(record, 56, 1000, 8);
		cupti_convert(&fixture->convert, record, 72);
		pool = last(fixture, KIND_gpu_pool);
		CHECK(pool);
		CHECK_U64(pool->bytes, expected);
	}
	fixture_free(fixture);
}

TEST(a_record_is_read_only_as_far_as_it_goes)
{
	struct fixture *fixture = fixture_make();
	const struct record_sync *sync;
	u8 record[56] = {0};

	put(record, 0, 38, 4);
	put(record, 8, 10, 8);
	put(record, 16, 20, 8);
	put(record, 32, ~0ULL, 4);
	put(record, 36, ~0ULL, 4);
	put(record, 48, 5, 4); /* what it returned: from 12.8 on */
	fixture->convert.record_bytes[38] = 40;
	cupti_convert(&fixture->convert, record, 40);
	sync = last(fixture, KIND_sync);
	CHECK(sync);
	CHECK_U64(sync->result, 0xffffffff);
	CHECK_U64(sync->stream, 0xffffffff);
	CHECK_U64(sync->event, 0xffffffff);
	fixture->convert.record_bytes[38] = 56;
	cupti_convert(&fixture->convert, record, 56);
	sync = last(fixture, KIND_sync);
	CHECK_U64(sync->result, 5);
	fixture_free(fixture);
}

TEST(what_is_not_sent_is_counted)
{
	struct fixture *fixture = fixture_make();
	struct cupti_convert *convert = &fixture->convert;
	u8 record[248];

	/* Kinds and sizes that are not known. */
	make_kernel(record);
	cupti_convert(convert, record, 100);
	put(record, 0, 40, 4);
	cupti_convert(convert, record, 248);
	put(record, 0, 0x80000000, 4);
	cupti_convert(convert, record, 248);
	cupti_convert(convert, record, 3);
	CHECK_U64(counted(fixture, AGENT_COUNT_ACTIVITY_UNKNOWN), 4);
	/* Times that were not taken. */
	make_kernel(record);
	put(record, 16, 0, 8);
	put(record, 24, 0, 8);
	cupti_convert(convert, record, 200);
	put(record, 16, 1000, 8);
	cupti_convert(convert, record, 200);
	CHECK_U64(counted(fixture, AGENT_COUNT_NO_TIMESTAMPS), 2);
	/* The window. */
	make_kernel(record);
	fixture->control->window_start_ns = 1501;
	cupti_convert(convert, record, 200);
	fixture->control->window_start_ns = 0;
	cupti_convert(convert, record, 200);
	fixture->control->window_start_ns = 1;
	fixture->control->window_end_ns = 999;
	cupti_convert(convert, record, 200);
	CHECK_U64(counted(fixture, AGENT_COUNT_OUTSIDE_WINDOW), 3);
	/* One that reaches into it is in it. */
	fixture->control->window_end_ns = 1000;
	cupti_convert(convert, record, 200);
	CHECK(last(fixture, KIND_kernel) != NULL);
	/* Caps. */
	fixture->control->window_end_ns = 0;
	fixture->control->cupti.activity_events_max = 1;
	cupti_convert(convert, record, 200);
	CHECK_U64(counted(fixture, AGENT_COUNT_CAPPED_ACTIVITIES), 1);
	fixture->control->cupti.activity_events_max = 0;
	/* A full ring. */
	ring_release(&fixture->writer);
	fixture->ring.chunk_count = 0;
	cupti_convert(convert, record, 200);
	CHECK_U64(counted(fixture, AGENT_COUNT_RING_FULL), 1);
	fixture_free(fixture);
}

static void make_api(u8 *record, u32 kind, u32 callback)
{
	memset(record, 0, 40);
	put(record, 0, kind, 4);
	put(record, 4, callback, 4);
	put(record, 8, 100, 8);
	put(record, 16, 200, 8);
	put(record, 24, 4711, 4);
	put(record, 28, 4712, 4);
	put(record, 32, 9, 4);
}

TEST(api_calls_have_a_domain_a_thread_and_a_name_and_those_not_wanted_are_left_out)
{
	struct fixture *fixture = fixture_make();
	const struct record_api *api;
	const struct record_text *text;
	u8 record[40];

	/* The names of the fixture: what is not 211 is cuLaunchKernel, which is none of the runtime's. */
	api_calls_resolve(&fixture->convert.apis, API_GROUPS_DEFAULT, callback_name, NULL);
	make_api(record, 5, 211);
	cupti_convert(&fixture->convert, record, sizeof(record));
	api = last(fixture, KIND_api);
	CHECK(api);
	CHECK_U64(api->domain, VALUE_api_domain_runtime);
	CHECK_U64(api->callback, 211);
	CHECK_U64(api->header.tid, 4712);
	CHECK_U64(api->header.pid, 42);
	CHECK_U64(api->result, 0);
	/* The number of the version of its interface is no part of a function's name. */
	text = last(fixture, KIND_text);
	CHECK_U64(text->length_bytes, 16);
	CHECK(!memcmp(text + 1, "cudaLaunchKernel", 16));
	make_api(record, 5, 138); /* another */
	cupti_convert(&fixture->convert, record, sizeof(record));
	api = last(fixture, KIND_api);
	CHECK_U64(api->callback, 211);
	api_calls_resolve(&fixture->convert.apis, API_GROUPS_EVERY, callback_name, NULL);
	cupti_convert(&fixture->convert, record, sizeof(record));
	api = last(fixture, KIND_api);
	CHECK_U64(api->callback, 138);
	CHECK_U64(api->domain, VALUE_api_domain_runtime);
	make_api(record, 4, 307);
	cupti_convert(&fixture->convert, record, sizeof(record));
	api = last(fixture, KIND_api);
	CHECK_U64(api->callback, 307);
	CHECK_U64(api->domain, VALUE_api_domain_driver);
	fixture->control->cupti.callback_events_max = 3;
	cupti_convert(&fixture->convert, record, sizeof(record));
	CHECK_U64(counted(fixture, AGENT_COUNT_CAPPED_CALLBACKS), 1);
	fixture_free(fixture);
}

TEST(numbers_that_mean_none_are_absent)
{
	struct fixture *fixture = fixture_make();
	const struct record_copy *copy;
	const struct record_overhead *overhead;
	u8 record[96] = {0};

	put(record, 0, 1, 4);
	put(record, 4, 1, 1);
	put(record, 7, 1, 1);
	put(record, 8, 4096, 8);
	put(record, 16, 10, 8);
	put(record, 24, 20, 8);
	put(record, 36, ~0ULL, 4);
	put(record, 40, ~0ULL, 4);
	put(record, 76, ~0ULL, 4);
	cupti_convert(&fixture->convert, record, 96);
	copy = last(fixture, KIND_copy);
	CHECK(copy);
	CHECK_U64(copy->context, 0xffffffff);
	CHECK_U64(copy->stream, 0xffffffff);
	CHECK_U64(copy->channel, 0xffffffff);
	CHECK_U64(copy->async, VALUE_yes_no_yes);
	CHECK_U64(copy->source_device, 0xffffffff);
	/* From 13.2 on it is 0. */
	put(record, 36, 0, 4);
	cupti_convert(&fixture->convert, record, 96);
	copy = last(fixture, KIND_copy);
	CHECK_U64(copy->context, 0);
	fixture->convert.version = 130200;
	cupti_convert(&fixture->convert, record, 96);
	copy = last(fixture, KIND_copy);
	CHECK_U64(copy->context, 0xffffffff);
	/* Kinds of overhead go up in steps. */
	memset(record, 0, sizeof(record));
	put(record, 0, 17, 4);
	put(record, 4, 0x50000, 4);
	put(record, 8, 2, 4);
	put(record, 12, 4711, 4);
	put(record, 16, 4712, 4);
	put(record, 24, 10, 8);
	put(record, 32, 20, 8);
	cupti_convert(&fixture->convert, record, 56);
	overhead = last(fixture, KIND_overhead);
	CHECK(overhead);
	CHECK_U64(overhead->type, VALUE_overhead_type_function_loading);
	CHECK_U64(overhead->header.tid, 4712);
	put(record, 8, 3, 4);
	cupti_convert(&fixture->convert, record, 56);
	overhead = last(fixture, KIND_overhead);
	CHECK_U64(overhead->header.tid, 0);
	fixture_free(fixture);
}

static bool read_skewed(void *data, u64 *ret_cupti)
{
	/* A counter of 3 GHz, as kineto's. */
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	*ret_cupti = (now.tv_sec * 1000000000ULL + now.tv_nsec) * 3 + 12345;
	return true;
}

TEST(a_foreign_clock_is_fitted)
{
	struct clock clock = {.fitted = true};
	u64 cupti, monotonic_ns, tolerance_ns = 200000;
	struct timespec now;

	CHECK_U64(clock_examine(read_skewed, NULL), CLOCK_IS_FOREIGN);
	for (int i = 0; i < CLOCK_POINTS + 5; i++) {
		clock_take_point(&clock, read_skewed, NULL);
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	}
	read_skewed(NULL, &cupti);
	clock_gettime(CLOCK_MONOTONIC, &now);
	monotonic_ns = now.tv_sec * 1000000000ULL + now.tv_nsec;
	/* A preemption between the two readings here, and between those of a point, is in it. */
	tolerance_ns += 4ULL * clock.residual_ns;
	cupti = clock_convert(&clock, cupti);
	CHECK(cupti <= monotonic_ns + tolerance_ns);
	CHECK(clock.slope > 0.32 && clock.slope < 0.35);
	CHECK_U64(clock_convert(&clock, 0), 0);
}

/* data: what somebody has set it forward by. */
static bool read_realtime(void *data, u64 *ret_cupti)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	*ret_cupti = now.tv_sec * 1000000000ULL + now.tv_nsec + *(u64 *)data;
	return true;
}

static s64 away_from_now(struct clock *clock, u64 set_ns)
{
	struct timespec now;
	u64 cupti;

	read_realtime(&set_ns, &cupti);
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (s64)(clock_convert(clock, cupti) - (now.tv_sec * 1000000000ULL + now.tv_nsec));
}

TEST(lengths_by_a_real_time_clock_stay_as_they_are)
{
	struct clock clock = {.fitted = true, .realtime = true};
	u64 set_ns = 0, cupti, at[3];
	s64 away_ns;

	read_realtime(&set_ns, &cupti);
	for (int i = 0; i < 3; i++) {
		clock_take_point(&clock, read_realtime, &set_ns);
		at[i] = clock_convert(&clock, cupti + i);
	}
	CHECK_U64(at[1] - at[0], 1);
	CHECK_U64(at[2] - at[1], 1);
	away_ns = away_from_now(&clock, set_ns);
	CHECK(away_ns > -100000000 && away_ns < 1000000);
	/* It is set. */
	set_ns = 3600ULL * 1000000000ULL;
	clock_take_point(&clock, read_realtime, &set_ns);
	away_ns = away_from_now(&clock, set_ns);
	CHECK(away_ns > -100000000 && away_ns < 1000000);
	CHECK_U64(clock_convert(&clock, 0), 0);
}

#ifdef HAS_HEADERS
#define LAYOUT(family, tag, bytes, start, end, times, header) \
	typedef header cupti_##family;                        \
	static void check_##family(void)                      \
	{
#define FIELD(family, offset, bytes, member, name, how)      \
	CHECK_U64(offset, offsetof(cupti_##family, member)); \
	CHECK_U64(bytes, sizeof(((cupti_##family *)NULL)->member));
#define WHERE(family, offset, bytes, member, name, how, at, of, values) \
	FIELD(family, offset, bytes, member, name, how)                 \
	FIELD(family, at, 4, of, name, how)
#define LASTS(family, at, of, values) FIELD(family, at, 4, of, name, how)
#define LATER(family, offset, bytes, member, name, how)
#define END(family) }
#include "../gpu/cupti/cupti_layout.def"

TEST(the_table_agrees_with_the_headers_of_cupti)
{
#define LAYOUT(family, tag, bytes, start, end, times, header) \
	check_##family();                                     \
	CHECK(bytes <= sizeof(cupti_##family));
#include "../gpu/cupti/cupti_layout.def"
}
#else
TEST(the_table_agrees_with_the_headers_of_cupti)
{
	SKIP("no headers of CUPTI 13.0 or later");
}
#endif

TEST(the_real_library_steps_over_records_as_the_table_says)
{
	static const struct {
		u32 kind, bytes;
	} of_13_0[] = {{1, 96},	  {2, 88},  {4, 40},   {5, 40},	 {8, 184},  {9, 32},
		       {10, 216}, {17, 56}, {20, 40},  {22, 96}, {25, 104}, {36, 56},
		       {37, 24},  {38, 56}, {49, 128}, {50, 80}, {51, 56}};
	struct loader loader = {dlopen, dlsym, dlclose};
	u16 record_bytes[AGENT_ACTIVITY_KINDS];
	void *handle = real_cupti_open();
	struct cupti_calls calls;
	u32 version = 0;

	if (!handle)
		SKIP(REAL_CUPTI_MISSING);
	if (cupti_calls_find(&calls, &loader, handle) || calls.GetVersion(&version) ||
	    version / 100 != 1300)
		SKIP("the libcupti that is here is not that of 13.0, which answers without a "
		     "driver");
	cupti_sizes_measure(&calls, version, record_bytes);
	for (size_t i = 0; i < ARRAY_SIZE(of_13_0); i++)
		CHECK_U64(record_bytes[of_13_0[i].kind], of_13_0[i].bytes);
}

/* ---- buffers as a CUPTI filled them: tests/gpu/run brings them home ---- */

#define BUFFERS_FOLDER "tests/unit/fixtures/cupti_buffers"
#define BUFFERS_BYTES  (64 << 10)

/* Of a CUPTI kind, what its records become. */
static const struct {
	u32 activity;
	u16 kind;
} replayed[] = {
	{1, KIND_copy}, {2, KIND_set},	   {4, KIND_api},
	{5, KIND_api},	{10, KIND_kernel}, {38, KIND_sync},
};

struct replay {
	u64 records[256]; /* by our kind */
	u64 kernel_ns;
};

static void add_up(const struct fixture *fixture, struct replay *replay)
{
	for (u32 i = 0; i < CHUNKS; i++) {
		const struct agent_chunk *chunk =
			(const void *)((u8 *)fixture->control + AGENT_CONTROL_BYTES +
				       (size_t)i * AGENT_CHUNK_BYTES);

		for (u32 offset = 0; offset < chunk->fill_bytes;) {
			const struct record_header *header =
				(const void *)(chunk->records + offset);

			replay->records[header->kind]++;
			replay->kernel_ns += header->kind == KIND_kernel ? header->dur : 0;
			offset += header->size_bytes;
		}
	}
}

static void convert_all(struct fixture *fixture, const struct cupti_buffers_header *header,
			const u8 *records)
{
	u32 offset = 0, seen[CUPTI_BUFFERS_KINDS] = {0};

	fixture->convert.version = header->version;
	memcpy(fixture->convert.record_bytes, header->record_bytes, sizeof(header->record_bytes));
	while (offset < header->bytes) {
		u32 kind;

		memcpy(&kind, records + offset, sizeof(kind));
		CHECK(kind < CUPTI_BUFFERS_KINDS && header->record_bytes[kind]);
		cupti_convert(&fixture->convert, records + offset, header->bytes - offset);
		offset += header->record_bytes[kind];
		seen[kind]++;
	}
	for (u32 kind = 0; kind < CUPTI_BUFFERS_KINDS; kind++)
		CHECK_U64(seen[kind], header->records[kind]);
}

static void replay_file(const char *name)
{
	struct fixture *fixture = fixture_make();
	struct cupti_buffers_header header;
	u64 expected[256] = {0};
	struct replay replay = {0};
	u8 *records = malloc(BUFFERS_BYTES);
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), BUFFERS_FOLDER "/%s", name);
	file = fopen(path, "rb");
	CHECK(file && fread(&header, sizeof(header), 1, file) == 1);
	CHECK_U64(header.magic, CUPTI_BUFFERS_MAGIC);
	CHECK(header.bytes <= BUFFERS_BYTES);
	CHECK_U64(fread(records, 1, header.bytes, file), header.bytes);
	fclose(file);
	convert_all(fixture, &header, records);
	add_up(fixture, &replay);
	for (size_t i = 0; i < ARRAY_SIZE(replayed); i++)
		expected[replayed[i].kind] += header.records[replayed[i].activity];
	for (size_t i = 0; i < ARRAY_SIZE(replayed); i++)
		CHECK_U64(replay.records[replayed[i].kind], expected[replayed[i].kind]);
	CHECK(expected[KIND_kernel] > 0);
	CHECK_U64(replay.kernel_ns, header.kernel_ns);
	CHECK_U64(counted(fixture, AGENT_COUNT_ACTIVITY_UNKNOWN), 0);
	CHECK_U64(counted(fixture, AGENT_COUNT_RING_FULL), 0);
	free(records);
	fixture_free(fixture);
}

TEST(recorded_buffers_are_replayed)
{
	DIR *directory = opendir(BUFFERS_FOLDER);
	const struct dirent *entry;
	size_t count = 0;

	CHECK(directory);
	while ((entry = readdir(directory))) {
		const char *dot = strrchr(entry->d_name, '.');

		if (!dot || strcmp(dot, ".bin"))
			continue;
		replay_file(entry->d_name);
		count++;
	}
	closedir(directory);
	CHECK(count > 0);
}

UNIT_MAIN()
