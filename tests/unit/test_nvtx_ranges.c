/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the agent keeps of NVTX: open ranges, strings, and the words that it sets and puts back. */
#include "unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "../gpu/nvtx/nvtx_ranges.h"
#include "../gpu/nvtx/nvtx_sites.h"
#include "../gpu/nvtx/nvtx_texts.h"

#define SELF 0x1000

static struct nvtx_range range_named(u32 name, u64 domain)
{
	return (struct nvtx_range){.name = name, .domain = domain, .tid = 7};
}

static void push(struct nvtx_ranges *ranges, u32 tid, u32 name, u64 domain)
{
	struct nvtx_range range = range_named(name, domain);

	CHECK(nvtx_ranges_push(ranges, tid, SELF, &range));
}

/* The name of what was popped; 0: unknown. */
static u32 pop(struct nvtx_ranges *ranges, u32 tid, u64 domain)
{
	struct nvtx_range range = {0};

	return nvtx_ranges_pop(ranges, tid, SELF, domain, &range) == NVTX_POPPED ? range.name : 0;
}

TEST(each_thread_and_each_domain_has_its_own_order)
{
	struct nvtx_ranges *ranges = nvtx_ranges_open(1);

	CHECK_U64(pop(ranges, 7, 0), 0);
	push(ranges, 7, 1, 0);
	push(ranges, 8, 2, 0);
	push(ranges, 7, 3, 5);
	push(ranges, 7, 4, 5);
	CHECK_U64(pop(ranges, 7, 0), 1);
	CHECK_U64(pop(ranges, 7, 0), 0);
	CHECK_U64(pop(ranges, 8, 0), 2);
	CHECK_U64(pop(ranges, 7, 5), 4);
	CHECK_U64(pop(ranges, 7, 5), 3);
	CHECK_U64(pop(ranges, 7, 5), 0);
	nvtx_ranges_close(ranges);
}

TEST(what_is_too_deep_is_lost_with_its_end)
{
	struct nvtx_ranges *ranges = nvtx_ranges_open(1);
	struct nvtx_range range = range_named(99, 0);

	for (u32 i = 1; i <= NVTX_DEPTH_MAX; i++)
		push(ranges, 7, i, 0);
	CHECK(!nvtx_ranges_push(ranges, 7, SELF, &range));
	CHECK(!nvtx_ranges_push(ranges, 7, SELF, &range));
	CHECK_U64(nvtx_ranges_pop(ranges, 7, SELF, 0, &range), NVTX_POPPED_LOST);
	CHECK_U64(nvtx_ranges_pop(ranges, 7, SELF, 0, &range), NVTX_POPPED_LOST);
	for (u32 i = NVTX_DEPTH_MAX; i; i--)
		CHECK_U64(pop(ranges, 7, 0), i);
	nvtx_ranges_close(ranges);
}

TEST(a_thread_with_the_id_of_one_that_ended_begins_anew)
{
	struct nvtx_ranges *ranges = nvtx_ranges_open(1);
	struct nvtx_range range;

	push(ranges, 7, 1, 0);
	CHECK_U64(nvtx_ranges_pop(ranges, 7, SELF + 64, 0, &range), NVTX_POPPED_UNKNOWN);
	nvtx_ranges_close(ranges);
}

/* As where other processes start threads too between two lots of them: ids that are the same ones modulo what there is room for. */
TEST(threads_find_room_as_long_as_there_is_some)
{
	struct nvtx_ranges *ranges = nvtx_ranges_open(1);

	for (u32 far = 0; far < 3; far++)
		for (u32 i = 0; i < 400; i++)
			push(ranges, 1000 + far * 2048 + i, i + 1, 0);
	for (u32 far = 0; far < 3; far++)
		for (u32 i = 0; i < 400; i++)
			CHECK_U64(pop(ranges, 1000 + far * 2048 + i, 0), i + 1);
	nvtx_ranges_close(ranges);
}

TEST(ids_are_unique_and_end_once)
{
	struct nvtx_ranges *ranges = nvtx_ranges_open(1000);
	struct nvtx_range range = range_named(1, 0);
	bool kept;
	u64 first = nvtx_ranges_start(ranges, &range, &kept), second;

	CHECK(kept && first == 1000);
	range.name = 2;
	second = nvtx_ranges_start(ranges, &range, &kept);
	CHECK(kept && second != first);
	CHECK(nvtx_ranges_end(ranges, first, &range) && range.name == 1);
	CHECK(!nvtx_ranges_end(ranges, first, &range));
	CHECK(!nvtx_ranges_end(ranges, 0, &range));
	CHECK(!nvtx_ranges_end(ranges, ~0ULL, &range));
	CHECK(nvtx_ranges_end(ranges, second, &range) && range.name == 2);
	for (u32 i = 0; i < 8192; i++) {
		nvtx_ranges_start(ranges, &range, &kept);
		CHECK(kept);
	}
	CHECK(nvtx_ranges_start(ranges, &range, &kept) && !kept);
	nvtx_ranges_close(ranges);
}

static bool lives(void *data, u32 tid)
{
	return tid != 7;
}

static void count(void *data, const struct nvtx_range *range)
{
	++*(u32 *)data;
}

static void count_open(void *data, const struct nvtx_range *range, bool process_wide)
{
	++((u32 *)data)[process_wide];
}

TEST(threads_that_have_ended_are_swept)
{
	struct nvtx_ranges *ranges = nvtx_ranges_open(1);
	struct nvtx_range range = range_named(1, 0);
	u32 swept = 0, open[2] = {0};
	bool kept;

	push(ranges, 7, 1, 0);
	push(ranges, 7, 2, 0);
	push(ranges, 8, 3, 0);
	nvtx_ranges_start(ranges, &range, &kept);
	nvtx_ranges_sweep(ranges, lives, count, &swept);
	CHECK_U64(swept, 2);
	nvtx_ranges_each(ranges, count_open, open);
	CHECK_U64(open[false], 1);
	CHECK_U64(open[true], 1);
	CHECK_U64(pop(ranges, 8, 0), 3);
	nvtx_ranges_close(ranges);
}

/* ---- strings ---- */

struct memory {
	struct agent_control *control;
	struct ring ring;
};

static struct memory memory_make(u32 chunks)
{
	size_t bytes = AGENT_CONTROL_BYTES + (size_t)chunks * AGENT_CHUNK_BYTES;
	struct memory memory = {.control = aligned_alloc(4096, (bytes + 4095) & ~4095UL)};

	memset(memory.control, 0, bytes);
	memory.control->chunk_count = chunks;
	ring_open(&memory.ring, memory.control, bytes);
	return memory;
}

static u64 counter(const struct memory *memory, enum agent_counter counter)
{
	return memory->control->counters[counter];
}

TEST(strings_beyond_those_that_are_known_again_go_out_each_time)
{
	const u32 kept = 32768, once = 3;
	struct memory memory = memory_make(64);
	struct nvtx_texts *texts = nvtx_texts_open(kept + once, 1);
	struct ring_writer writer;
	char name[32];
	u32 id, first;

	ring_writer_open(&writer, &memory.ring, 7);
	first = nvtx_texts_put(texts, &writer, "mm, seq = 0");
	for (u32 i = 1; i < kept; i++) {
		snprintf(name, sizeof(name), "mm, seq = %u", i);
		CHECK(nvtx_texts_put(texts, &writer, name));
	}
	CHECK_U64(counter(&memory, AGENT_COUNT_RECORDS) + writer.uncounted, kept);
	CHECK_U64(nvtx_texts_put(texts, &writer, "before the window"), 0);
	CHECK_U64(counter(&memory, AGENT_COUNT_FACTS_CAPPED), 0);
	memory.control->window_start_ns = 1;
	id = nvtx_texts_put(texts, &writer, "step");
	CHECK(id && id != first);
	CHECK_U64(nvtx_texts_put(texts, &writer, "step"), id + 1);
	CHECK_U64(nvtx_texts_put(texts, &writer, "mm, seq = 0"), first);
	CHECK_U64(counter(&memory, AGENT_COUNT_RECORDS) + writer.uncounted, kept + 2);
	CHECK_U64(nvtx_texts_put(texts, &writer, "step"), id + 2);
	CHECK_U64(counter(&memory, AGENT_COUNT_FACTS_CAPPED), 0);
	CHECK_U64(nvtx_texts_put(texts, &writer, "step"), 0);
	CHECK_U64(counter(&memory, AGENT_COUNT_FACTS_CAPPED), 1);
	CHECK_U64(nvtx_texts_send(texts, &writer, id + 2), id + 2);
	CHECK_U64(nvtx_texts_send(texts, &writer, id + 3), 0);
	ring_release(&writer);
	nvtx_texts_close(texts);
	free(memory.control);
}

TEST(a_string_has_one_id_and_goes_out_once)
{
	struct memory memory = memory_make(1);
	struct nvtx_texts *texts = nvtx_texts_open(3, 1);
	static const u32 wide[] = {'a', 0xe9, 0x20ac, 0x1f600, 0xd800, 0};
	struct ring_writer writer;
	char longest[NVTX_TEXT_BYTES_MAX + 100];
	u32 id;

	ring_writer_open(&writer, &memory.ring, 7);
	id = nvtx_texts_put(texts, &writer, "one");
	CHECK(id);
	CHECK_U64(nvtx_texts_put(texts, &writer, "one"), id);
	CHECK_U64(counter(&memory, AGENT_COUNT_RECORDS) + writer.uncounted, 1);
	CHECK_U64(nvtx_texts_put(texts, &writer, ""), 0);
	CHECK_U64(nvtx_texts_put(texts, &writer, NULL), 0);
	CHECK_U64(nvtx_texts_put_wide(texts, &writer, wide),
		  nvtx_texts_put(texts, &writer, "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80?"));
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = 0;
	CHECK(nvtx_texts_put(texts, &writer, longest));
	CHECK_U64(counter(&memory, AGENT_COUNT_FACTS_CAPPED), 0);
	CHECK_U64(nvtx_texts_put(texts, &writer, "a fourth"), 0);
	CHECK_U64(nvtx_texts_put(texts, &writer, "a fifth"), 0);
	CHECK_U64(counter(&memory, AGENT_COUNT_FACTS_CAPPED), 2);
	CHECK_U64(nvtx_texts_put(texts, &writer, "one"), id);
	CHECK_U64(nvtx_texts_send(texts, &writer, id), id);
	CHECK_U64(nvtx_texts_send(texts, &writer, id + 1), 0);
	CHECK_U64(nvtx_texts_send(texts, &writer, 1), 0);
	CHECK_U64(nvtx_texts_send(texts, &writer, ~0U), 0);
	ring_release(&writer);
	nvtx_texts_close(texts);
	free(memory.control);
}

TEST(a_string_that_found_no_room_is_sent_later)
{
	struct memory full = memory_make(0), empty = memory_make(1);
	struct nvtx_texts *texts = nvtx_texts_open(10, 1);
	struct ring_writer writer;
	u32 id;

	ring_writer_open(&writer, &full.ring, 7);
	id = nvtx_texts_put(texts, &writer, "one");
	CHECK(id);
	ring_writer_open(&writer, &empty.ring, 7);
	CHECK_U64(nvtx_texts_put(texts, &writer, "one"), id);
	CHECK_U64(counter(&empty, AGENT_COUNT_RECORDS) + writer.uncounted, 1);
	ring_release(&writer);
	nvtx_texts_close(texts);
	free(full.control);
	free(empty.control);
}

#define STRINGS 500

struct putter {
	struct nvtx_texts *texts;
	struct ring ring;
	u32 ids[STRINGS];
};

static void *put_all(void *data)
{
	struct putter *putter = data;
	struct ring_writer writer;
	char string[32];

	ring_writer_open(&writer, &putter->ring, 7);
	for (u32 i = 0; i < STRINGS; i++) {
		snprintf(string, sizeof(string), "string %u", i);
		putter->ids[i] = nvtx_texts_put(putter->texts, &writer, string);
	}
	ring_release(&writer);
	return NULL;
}

TEST(threads_never_mix_strings_up)
{
	struct memory memory = memory_make(8);
	struct nvtx_texts *texts = nvtx_texts_open(0, 1);
	struct putter putters[4];
	pthread_t threads[4];

	for (u32 i = 0; i < 4; i++) {
		putters[i] = (struct putter){.texts = texts, .ring = memory.ring};
		pthread_create(&threads[i], NULL, put_all, &putters[i]);
	}
	for (u32 i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	/* The same string may have two ids, but no id stands for two strings. */
	for (u32 i = 0; i < STRINGS; i++)
		for (u32 j = 0; j < STRINGS; j++)
			CHECK(putters[0].ids[i] &&
			      (i == j || putters[0].ids[i] != putters[1].ids[j]));
	nvtx_texts_close(texts);
	free(memory.control);
}

/* ---- words ---- */

static void build(struct nvtx_globals *globals, u32 initialisation, u64 word)
{
	static const u8 functions[] = {15, 8, 14, 6, 15, 6};
	size_t entry = 0, number = 0;

	*globals = (struct nvtx_globals){.initialisation = initialisation,
					 .callbacks_bytes = 16,
					 .version_bytes = 24,
					 .version = 3};
	for (size_t table = 0; table < 6; table++) {
		entry++;
		for (u32 i = 0; i < functions[table]; i++)
			globals->tables[entry++] = (u64)&globals->words[number++];
		entry++;
	}
	for (size_t i = 0; i < NVTX_WORDS; i++)
		globals->words[i] = word;
}

static u64 words_not(const struct nvtx_globals *globals, u64 word)
{
	u64 different = 0;

	for (u32 i = 0; i < NVTX_WORDS; i++)
		different += globals->words[i] != word;
	return different;
}

TEST(words_of_nobody_are_taken_and_put_back)
{
	static struct nvtx_globals globals;
	const struct resident resident = {.code = (u8 *)0x7f0000000000};
	struct nvtx_sites_config config = {.resident = &resident, .words = 0x3};
	bool initialised;

	build(&globals, NVTX_COMPLETE, 0);
	CHECK_U64(nvtx_site_take(&config, &globals, &initialised), NVTX_SITE_TAKEN);
	CHECK(!initialised);
	CHECK_U64(globals.words[0], resident_nvtx(&resident, 0));
	CHECK_U64(globals.words[1], resident_nvtx(&resident, 1));
	CHECK_U64(words_not(&globals, 0), 2);
	/* Once more changes nothing. */
	CHECK_U64(nvtx_site_take(&config, &globals, &initialised), NVTX_SITE_TAKEN);
	CHECK_U64(words_not(&globals, 0), 2);
	/* Somebody else's in between stays. */
	globals.words[1] = 0x4242;
	nvtx_site_give_back(&config, &globals);
	CHECK_U64(globals.words[0], 0);
	CHECK_U64(globals.words[1], 0x4242);
}

TEST(what_is_not_initialised_is_initialised_as_nvtx_would)
{
	static struct nvtx_globals globals;
	const struct resident resident = {.code = (u8 *)0x7f0000000000};
	struct nvtx_sites_config config = {.resident = &resident, .words = 0x3};
	bool initialised;

	build(&globals, NVTX_FRESH, 0x1234);
	config.tool_named = true;
	CHECK_U64(nvtx_site_take(&config, &globals, &initialised), NVTX_SITE_FOREIGN);
	CHECK_U64(words_not(&globals, 0x1234), 0);
	CHECK_U64(globals.initialisation, NVTX_FRESH);
	config.tool_named = false;
	CHECK_U64(nvtx_site_take(&config, &globals, &initialised), NVTX_SITE_TAKEN);
	CHECK(initialised);
	CHECK_U64(globals.initialisation, NVTX_COMPLETE);
	CHECK_U64(words_not(&globals, 0), 2);
	nvtx_site_give_back(&config, &globals);
	CHECK_U64(words_not(&globals, 0), 0);
	CHECK_U64(globals.initialisation, NVTX_COMPLETE);
}

TEST(what_is_not_nobodys_is_left_alone)
{
	static struct nvtx_globals globals;
	const struct resident resident = {.code = (u8 *)0x7f0000000000};
	const struct nvtx_sites_config config = {.resident = &resident, .words = 0x3};
	bool initialised;

	build(&globals, NVTX_STARTED, 0x1234);
	CHECK_U64(nvtx_site_take(&config, &globals, &initialised), NVTX_SITE_STARTING);
	CHECK_U64(words_not(&globals, 0x1234), 0);
	build(&globals, NVTX_COMPLETE, 0);
	globals.words[40] = 0x4242;
	CHECK_U64(nvtx_site_take(&config, &globals, &initialised), NVTX_SITE_FOREIGN);
	CHECK_U64(words_not(&globals, 0), 1);
	build(&globals, NVTX_COMPLETE, 0);
	globals.tables[3] += 8;
	CHECK_U64(nvtx_site_take(&config, &globals, &initialised), NVTX_SITE_GONE);
	nvtx_site_give_back(&config, &globals);
	CHECK_U64(words_not(&globals, 0), 0);
}

TEST(only_writable_data_of_a_loaded_file_is_touched)
{
	static struct nvtx_globals loaded = {.version = 3};
	const struct resident resident = {.code = (u8 *)0x7f0000000000};
	const struct nvtx_sites_config config = {.resident = &resident, .words = 0x3};
	struct nvtx_globals *elsewhere =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	u64 addresses[] = {(u64)elsewhere,
			   0,
			   8,
			   ~0ULL,
			   ~0ULL - 7,
			   (u64)&loaded + 4,
			   (u64)&only_writable_data_of_a_loaded_file_is_touched & ~7ULL,
			   (u64)&loaded};
	struct agent_nvtx_facts facts;
	u32 initialised = 0;

	build(elsewhere, NVTX_COMPLETE, 0);
	build(&loaded, NVTX_COMPLETE, 0);
	facts = nvtx_sites_take(&config, addresses, 8, &initialised);
	CHECK_U64(facts.taken, 1);
	CHECK_U64(facts.gone, 7);
	CHECK_U64(words_not(elsewhere, 0), 0);
	CHECK_U64(words_not(&loaded, 0), 2);
	nvtx_sites_give_back(&config, addresses, 8);
	CHECK_U64(words_not(&loaded, 0), 0);
	munmap(elsewhere, 8192);
}

UNIT_MAIN()
