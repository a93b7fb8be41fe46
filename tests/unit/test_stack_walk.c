/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The agent's walk of its own thread's stack, by the tables that gpuprobe shares with it: against that of the C library's unwinder. */
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "collect/agent/agent_stacks.h"
#include "unwind_file.h"
#include "../bpf/record.h"
#include "../gpu/stacks/stack_ids.h"
#include "../gpu/stacks/stack_walk.h"
#include "unit.h"

#define FILES_MAX    64
#define MAPPINGS_MAX 256
#define CHUNKS	     4
#define NOW_NS	     1000000000ULL

struct fixture {
	struct agent_stacks stacks;
	struct stack_sight *sight;
	struct unwind_rules rules;
	struct unwind_mapping mappings[MAPPINGS_MAX];
	size_t mapping_count, file_count;
	char paths[FILES_MAX][256];
	bool has_table[FILES_MAX];
};

static void *map_memory(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		abort();
	return memory;
}

/* By how much addresses of the process are above those of the file. */
static bool find_bias(struct elf_file *elf, u64 start, u64 offset, u64 *ret_bias)
{
	const struct elf_segment *segments;
	size_t count = elf_file_segments(elf, true, &segments);

	for (size_t i = 0; i < count; i++) {
		if (offset < (segments[i].offset & ~4095ULL) ||
		    offset >= segments[i].offset + segments[i].file_size_bytes)
			continue;
		*ret_bias = start - offset + segments[i].offset - segments[i].address;
		return true;
	}
	return false;
}

static void put_table(struct fixture *fixture, u32 file, struct elf_file *elf)
{
	struct elf_unwind_rows rows = {0};
	struct unwind_words words;

	if (fixture->has_table[file] || elf_unwind_rows_read(elf, &rows, NULL))
		return;
	CHECK(!unwind_words_make(&rows, &fixture->rules, &words));
	agent_stacks_put_rules(&fixture->stacks, &fixture->rules);
	CHECK(!agent_stacks_put_file(&fixture->stacks, file, 0, &words));
	fixture->has_table[file] = true;
	free(words.items);
	elf_unwind_rows_free(&rows);
}

static u32 file_number(struct fixture *fixture, const char *path)
{
	for (u32 i = 0; i < fixture->file_count; i++)
		if (!strcmp(fixture->paths[i], path))
			return i;
	snprintf(fixture->paths[fixture->file_count], sizeof(fixture->paths[0]), "%s", path);
	return fixture->file_count++;
}

static void put_mapping(struct fixture *fixture, u64 start, u64 end, u64 offset, const char *path)
{
	struct unwind_mapping *mapping = &fixture->mappings[fixture->mapping_count];
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	u32 number = file_number(fixture, path);
	struct elf_file *elf;
	u64 bias;

	if (fd < 0 || elf_file_open(fd, path, &elf, NULL))
		return;
	if (find_bias(elf, start, offset, &bias)) {
		put_table(fixture, number, elf);
		*mapping = (struct unwind_mapping){start, end, bias, number};
		fixture->mapping_count++;
	}
	elf_file_free(elf);
}

static void put_own_mappings(struct fixture *fixture)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512], path[256];
	unsigned long long start, end, offset;
	char rights[8];

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%llx-%llx %4s %llx %*s %*s %255s", &start, &end, rights, &offset,
			   path) == 5 &&
		    rights[2] == 'x' && path[0] == '/')
			put_mapping(fixture, start, end, offset, path);
	if (maps)
		fclose(maps);
	agent_stacks_put_space(&fixture->stacks, fixture->mappings, fixture->mapping_count);
}

static struct fixture *fixture_make(void)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->stacks.shared = map_memory(AGENT_STACKS_BYTES);
	fixture->stacks.fd = -1;
	fixture->sight = map_memory(sizeof(*fixture->sight));
	CHECK(stack_tables_open(&fixture->sight->tables, fixture->stacks.shared,
				AGENT_STACKS_BYTES));
	return fixture;
}

static void fixture_free(struct fixture *fixture)
{
	munmap(fixture->stacks.shared, AGENT_STACKS_BYTES);
	munmap(fixture->sight, sizeof(*fixture->sight));
	agent_stacks_free(&fixture->stacks);
	unwind_rules_free(&fixture->rules);
	free(fixture);
}

/* ---- a walk ---- */

#define EXPECTED_MAX 100

static struct stack_walk walk;
static void *expected[EXPECTED_MAX];
static int expected_first, expected_count;
static bool taken;
static struct fixture *walked;
static struct stack_past past; /* of all walks */

static void check_equal_walks(const struct stack_walk *left, const struct stack_walk *right)
{
	CHECK_U64(left->end, right->end);
	CHECK_U64(left->guessed, right->guessed);
	CHECK_U64(left->depth, right->depth);
	CHECK(!memcmp(left->guesses, right->guesses, sizeof(left->guesses)));
	CHECK(!memcmp(left->addresses, right->addresses, left->depth * sizeof(left->addresses[0])));
}

/* The same walk, along the last one. */
static void check_along_the_past(const struct stack_registers *registers)
{
	static struct stack_walk again;

	CHECK(stack_walk_begin(&again, walked->sight, NOW_NS, registers));
	stack_walk_follow(&again, &past);
	while (stack_walk_next(&again))
		;
	check_equal_walks(&again, &walk);
}

/* Of a stack that is made up, which changes: the same walk along the last one and without it, and whether it is that one. */
struct differential {
	struct stack_walk along, alone, last;
	u64 random;
	u32 same;
};

static u32 chance(struct differential *both, u32 below)
{
	both->random ^= both->random << 13;
	both->random ^= both->random >> 7;
	both->random ^= both->random << 17;
	return (both->random >> 16) % below;
}

static void walk_both(struct differential *both, const struct stack_registers *registers,
		      u64 now_ns)
{
	struct stack_walk probe;

	CHECK(stack_walk_begin(&both->alone, walked->sight, now_ns, registers));
	while (stack_walk_next(&both->alone))
		;
	CHECK(stack_walk_begin(&probe, walked->sight, now_ns, registers));
	if (stack_walk_is_same(&probe, &past, both->last.end)) {
		check_equal_walks(&both->last, &both->alone);
		CHECK_U64(probe.end, both->alone.end);
		both->same++;
	} else {
		CHECK(!probe.end && !probe.depth && !probe.guessed && !probe.exact);
		CHECK(!memcmp(&probe.at, registers, sizeof(*registers)));
	}
	CHECK(stack_walk_begin(&both->along, walked->sight, now_ns, registers));
	stack_walk_follow(&both->along, &past);
	while (stack_walk_next(&both->along))
		;
	check_equal_walks(&both->along, &both->alone);
	both->last = both->alone;
}

/* From its caller on. */
static __attribute__((noinline)) void take_here(void)
{
	const u64 *frame = __builtin_frame_address(0);
	struct stack_registers registers = {frame[1], (u64)(frame + 2), frame[0], 0};

	__asm__ volatile("mov %%rbx, %0" : "=r"(registers.bx));
	expected_count = backtrace(expected, EXPECTED_MAX);
	/* Frames of a sanitizer's lie before ours. */
	for (expected_first = 0; expected_first < expected_count; expected_first++)
		if ((u64)expected[expected_first] == registers.ip)
			break;
	taken = true;
	CHECK(stack_walk_begin(&walk, walked->sight, NOW_NS, &registers));
	while (stack_walk_next(&walk))
		;
	check_along_the_past(&registers);
}

/* Addresses of frames outside of this function, innermost first. */
static void check_walk(void)
{
	CHECK_U64(walk.end, VALUE_stack_end_complete);
	CHECK(expected_first < expected_count);
	CHECK_U64(walk.depth, expected_count - expected_first);
	for (u32 i = 0; i < walk.depth && expected_first + (int)i < expected_count; i++)
		if (walk.addresses[i] != (u64)expected[expected_first + i] - !i) {
			UNIT_FAIL("frame %u is %#llx, expected %p", i,
				  (unsigned long long)walk.addresses[i],
				  expected[expected_first + i]);
			return;
		}
}

/* Frames of different kinds: with room of a size that only its caller knows, and without. */
static __attribute__((noinline)) int descend(int depth)
{
	volatile char room[depth * 16 + 1];

	room[0] = (char)depth;
	if (depth)
		return descend(depth - 1) + room[0];
	take_here();
	return room[0];
}

static int compare(const void *left, const void *right)
{
	if (!taken)
		descend(3);
	return *(const int *)left - *(const int *)right;
}

TEST(it_is_that_of_the_c_library)
{
	int numbers[] = {3, 1, 2};

	walked = fixture_make();
	put_own_mappings(walked);
	for (int depth = 0; depth < 40; depth += 13) {
		descend(depth);
		check_walk();
	}
	/* Through a function of the C library that calls back. */
	taken = false;
	qsort(numbers, 3, sizeof(numbers[0]), compare);
	check_walk();
	fixture_free(walked);
}

/* Of a stack that is not there: each step leads to the next one. */
static u64 made_up[64];

static u32 steps_of(const struct stack_registers *registers)
{
	CHECK(stack_walk_begin(&walk, walked->sight, NOW_NS, registers));
	stack_walk_follow(&walk, &past);
	while (stack_walk_next(&walk))
		;
	return walk.trace.made;
}

/* Code whose rules are: the return address at rsp + 8, rbp at rsp; and from the middle of it on by rbp, with rbx. */
static void put_made_up_space(void)
{
	static const struct unwind_rule rules[] = {
		{.cfa = UNWIND_CFA_RSP, .cfa_offset = 16, .rbp = UNWIND_AT_CFA, .rbp_offset = -16},
		{.cfa = UNWIND_CFA_RSP,
		 .cfa_offset = 32,
		 .rbp = UNWIND_AT_CFA,
		 .rbp_offset = -24,
		 .rbx = UNWIND_AT_CFA,
		 .rbx_offset = -16},
		{.cfa = UNWIND_CFA_END},
	};
	struct agent_tables *shared = walked->stacks.shared;
	u32 *words = shared->words;

	for (u32 i = 0; i < ARRAY_SIZE(rules); i++)
		shared->rules[UNWIND_RULES_FIXED + i] = rules[i];
	shared->rules[UNWIND_RULE_NO_MAPPING] = (struct unwind_rule){0};
	words[UNWIND_FIRST_PAGE] = 0;
	words[UNWIND_PAGE_COUNT] = 1;
	words[UNWIND_PAGE(0)] = UNWIND_PAGE(1);
	words[UNWIND_PAGE(0) + 1] = ARRAY_SIZE(rules);
	for (u32 i = 0; i < ARRAY_SIZE(rules); i++)
		words[UNWIND_PAGE(1) + i] = UNWIND_ROW(0x400 * i, UNWIND_RULES_FIXED + i);
	shared->spaces[1] =
		(struct agent_space){.count = 1, .mappings = {{0x400000, 0x401000, 0x400000, 0}}};
	shared->filled = 1;
}

TEST(whatever_changes_along_the_past_it_is_the_same)
{
	static struct differential both;
	/* The stack begins in the first of two pages. */
	u8 *pages = map_memory(2 * PAGE_BYTES);
	u64 *words = (u64 *)(pages + PAGE_BYTES - 256);
	const struct stack_registers registers = {0x400001, (u64)words, 0, 0};

	both.random = 88172645463325252ULL;
	walked = fixture_make();
	put_made_up_space();
	for (u32 round = 0; round < 30000 && !unit_failures; round++) {
		struct stack_registers at = registers;

		for (u32 i = chance(&both, 3) ? chance(&both, 3) : 0; i; i--)
			words[chance(&both, 90)] = 0x400001 + chance(&both, 0x7ff);
		if (!chance(&both, 8))
			words[chance(&both, 90)] = 0x400801;
		if (!chance(&both, 20))
			words[chance(&both, 90)] = chance(&both, 2) ? 0 : chance(&both, 0x1000);
		if (!chance(&both, 40))
			at.sp += 8;
		/* In another space it is other code. */
		if (round % 5000 == 4999)
			walked->stacks.shared->filled += 2;
		walked->stacks.shared->rules[UNWIND_RULES_FIXED].cfa_offset =
			walked->stacks.shared->filled % 4 == 1 ? 16 : 24;
		walk_both(&both, &at, NOW_NS * (1 + round / 100));
	}
	CHECK(both.same > 3000 && both.same < 27000);
	munmap(pages, 2 * PAGE_BYTES);
	fixture_free(walked);
}

TEST(only_what_changed_is_walked_again)
{
	const struct stack_registers registers = {0x400000 + 1, (u64)made_up, 0, 0};
	const u32 deep = ARRAY_SIZE(made_up) / 2;
	struct agent_tables *shared;

	walked = fixture_make();
	put_made_up_space();
	shared = walked->stacks.shared;
	for (u32 i = 0; i < deep; i++)
		made_up[2 * i + 1] = i + 1 < deep ? 0x400010 + i : 0;
	CHECK_U64(steps_of(&registers), deep);
	CHECK_U64(walk.end, VALUE_stack_end_complete);
	CHECK_U64(walk.depth, deep);
	CHECK_U64(steps_of(&registers), 0);
	/* Another caller: up to there it is the same. */
	made_up[2 * 20 + 1] = 0x400100;
	CHECK_U64(steps_of(&registers), 22);
	CHECK_U64(walk.depth, deep);
	CHECK_U64(walk.addresses[21], 0x400100);
	CHECK_U64(walk.addresses[22], 0x400010 + 21);
	CHECK_U64(steps_of(&registers), 0);
	/* Another rbp: from there on none is, for as long as it is another one. */
	made_up[2 * 10] = 7;
	CHECK_U64(steps_of(&registers), 12);
	CHECK_U64(walk.depth, deep);
	/* It is over sooner, and another space is another stack. */
	made_up[2 * 5 + 1] = 0;
	steps_of(&registers);
	CHECK_U64(walk.depth, 6);
	CHECK_U64(walk.end, VALUE_stack_end_complete);
	CHECK_U64(steps_of(&registers), 0);
	shared->spaces[0] = shared->spaces[1];
	shared->filled = 2;
	CHECK_U64(steps_of(&registers), 6);
	CHECK_U64(walk.depth, 6);
	fixture_free(walked);
}

static void on_signal(int signal)
{
	descend(2);
}

static u64 struck_below;

static __attribute__((noinline)) int strike(void)
{
	struck_below = (u64)__builtin_return_address(0);
	return raise(SIGUSR1) + 1;
}

TEST(it_goes_on_where_a_signal_struck)
{
	bool found = false;

	walked = fixture_make();
	put_own_mappings(walked);
	taken = false;
	signal(SIGUSR1, on_signal);
	CHECK_U64(strike(), 1);
	signal(SIGUSR1, SIG_DFL);
	CHECK(taken);
	CHECK_U64(walk.end, VALUE_stack_end_complete);
	for (u32 i = 0; i < walk.depth; i++)
		found |= walk.addresses[i] == struck_below;
	CHECK(found);
	fixture_free(walked);
}

TEST(without_mappings_there_is_no_walk)
{
	struct fixture *fixture = fixture_make();
	const struct stack_registers registers = {0x400000, (u64)&registers, 0, 0};

	CHECK(!stack_walk_begin(&walk, fixture->sight, NOW_NS, &registers));
	/* Of code that is nowhere a caller is looked for, and the stack ends somewhere. */
	agent_stacks_put_space(&fixture->stacks, NULL, 0);
	CHECK(stack_walk_begin(&walk, fixture->sight, NOW_NS, &registers));
	while (stack_walk_next(&walk))
		;
	CHECK(walk.depth >= 1 && walk.end);
	fixture_free(fixture);
}

TEST(a_stack_that_is_too_deep_is_cut)
{
	walked = fixture_make();
	put_own_mappings(walked);
	descend(200);
	CHECK_U64(walk.end, VALUE_stack_end_deep);
	CHECK_U64(walk.depth, STACK_WALK_DEPTH_MAX);
	fixture_free(walked);
}

TEST(whatever_stands_in_the_tables_it_survives)
{
	u64 state = 88172645463325252ULL;

	walked = fixture_make();
	put_own_mappings(walked);
	for (int round = 0; round < 300; round++) {
		u32 *words = (u32 *)walked->stacks.shared;
		/* Some words of what is filled, rules among them. */
		size_t count = (sizeof(struct agent_tables) + walked->stacks.word_count * 4) / 4;

		for (int i = 0; i < 2000; i++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			words[state % count] = (u32)(state >> 32);
		}
		walked->stacks.shared->filled = walked->stacks.filled + 2 * round;
		descend(20);
		CHECK(walk.end);
	}
	fixture_free(walked);
}

/* ---- memory ---- */

TEST(memory_that_is_not_there_is_not_read)
{
	struct stack_memory *memory = calloc(1, sizeof(*memory));
	u8 *page = map_memory(2 * 4096);
	u64 word;

	*(u64 *)page = 42;
	CHECK(stack_memory_read(memory, 1, (u64)page, &word) && word == 42);
	CHECK(!stack_memory_read(memory, 1, 0, &word));
	CHECK(!stack_memory_read(memory, 1, 8, &word));
	CHECK(!stack_memory_read(memory, 1, ~7ULL, &word));
	CHECK(!stack_memory_read(memory, 1, 1ULL << 47, &word));
	/* Two pages are not one. */
	CHECK(!stack_memory_read(memory, 1, (u64)page + 4092, &word));
	CHECK(stack_memory_at(memory, 1, (u64)page + 4092, 4));
	mprotect(page + 4096, 4096, PROT_NONE);
	CHECK(!stack_memory_read(memory, 1, (u64)page + 4096, &word));
	munmap(page, 4096);
	CHECK(!stack_memory_read(memory, 2, (u64)page, &word));
	munmap(page + 4096, 4096);
	free(memory);
}

TEST(pages_of_one_set_do_not_drive_each_other_out)
{
	struct stack_memory *memory = calloc(1, sizeof(*memory));
	const size_t bytes = STACK_MEMORY_SETS * STACK_MEMORY_SETS * PAGE_BYTES;
	u8 *region = map_memory(bytes);
	u64 first = (u64)region / PAGE_BYTES, found[4];
	u32 count = 0;

	for (u64 page = first; page < (u64)(region + bytes) / PAGE_BYTES; page++)
		if (count < ARRAY_SIZE(found) &&
		    stack_memory_set(memory, page) == stack_memory_set(memory, first))
			found[count++] = page * PAGE_BYTES;
	CHECK_U64(count, ARRAY_SIZE(found));
	/* Over what was there in a moment before. */
	for (u32 moment = 1; moment <= 2; moment++)
		for (u32 i = 0; i < count; i++)
			CHECK(stack_memory_at(memory, moment, found[i], 8));
	munmap(region, bytes);
	for (u32 i = 0; i < count; i++) {
		CHECK(stack_memory_at(memory, 2, found[i], 8));
		CHECK(!stack_memory_at(memory, 3, found[i], 8));
	}
	free(memory);
}

/* ---- ids ---- */

TEST(a_stack_is_sent_once)
{
	size_t bytes = AGENT_CONTROL_BYTES + CHUNKS * AGENT_CHUNK_BYTES;
	struct agent_control *control = calloc(1, bytes);
	struct stack_ids *ids = map_memory(sizeof(*ids));
	struct stack_walk stack = {.end = VALUE_stack_end_complete};
	struct ring_writer writer;
	struct ring ring;
	u32 first, second;

	control->chunk_count = CHUNKS;
	ring_open(&ring, control, bytes);
	ring_writer_open(&writer, &ring, 7);
	for (u64 i = 0; i < 20; i++)
		stack_walk_put(&stack, 0x400000 + i);
	CHECK_U64(stack_ids_get(ids, &writer, &stack, 1, 2, &first), STACK_SENT);
	CHECK(first >= STACK_IDS_FIRST);
	CHECK_U64(stack_ids_get(ids, &writer, &stack, 1, 2, &second), STACK_SENT);
	CHECK_U64(second, first);
	CHECK_U64(writer.uncounted, 1);
	/* Another end is another stack. */
	stack.end = VALUE_stack_end_no_file;
	CHECK_U64(stack_ids_get(ids, &writer, &stack, 1, 2, &second), STACK_SENT);
	CHECK(second != first);
	/* What the ring has no room for is none, and is sent the next time. */
	ring_release(&writer);
	control->chunk_count = 0;
	ring_open(&ring, control, bytes);
	stack.end = VALUE_stack_end_broken;
	CHECK_U64(stack_ids_get(ids, &writer, &stack, 1, 2, &second), STACK_RING_FULL);
	control->chunk_count = CHUNKS;
	ring_open(&ring, control, bytes);
	CHECK_U64(stack_ids_get(ids, &writer, &stack, 1, 2, &second), STACK_SENT);
	CHECK_U64(writer.uncounted, 1);
	munmap(ids, sizeof(*ids));
	free(control);
}

UNIT_MAIN()
