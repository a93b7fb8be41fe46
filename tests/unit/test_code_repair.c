/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library that this process has mapped is planned, then gets jumps, of which the first byte is what a probe leaves there. */
#include "session/code_repair.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "scratch_folder.h"
#include "unit.h"

#define PAGE	   4096
#define BREAKPOINT 0xcc
#define JUMP	   0xe9

static const char library_source[] =
	"__asm__(\".text\\n.globl pushes, moves, hook\\n"
	".balign 4096\\n.type pushes, @function\\npushes: push %rbx\\nmov $7, %eax\\npop "
	"%rbx\\nret\\n"
	".size pushes, . - pushes\\n"
	".balign 4096\\n.type moves, @function\\nmoves: mov $2, %eax\\nret\\n.size moves, . - "
	"moves\\n"
	".balign 4096\\n.type hook, @function\\nhook: mov $3, %eax\\nret\\n.size hook, . - hook\\n"
	".balign 4096\\n\");\n";

static const struct plan_limits limits = {.returns = PLAN_RETURNS_NONE, .max_functions = 10};

struct fixture {
	u8 *code;
	size_t size_bytes;
	struct target target;
	struct plan *plan;
	struct code_memory *memory;
	struct probed_pieces pieces;
};

static bool fixture_open(const char *name, struct fixture *ret_fixture)
{
	const char *patterns[] = {"librepair*.so:pushes", "librepair*.so:moves"};
	char path[SCRATCH_PATH_BYTES];
	_cleanup_close_ int fd = -1;
	struct err err = {0};
	struct stat status;

	*ret_fixture = (struct fixture){NULL};
	write_file("repair.c", library_source);
	if (!shell("cc -shared -fPIC -o %s repair.c", name))
		return false;
	fd = open(in_folder(path, name), O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && !fstat(fd, &status));
	ret_fixture->size_bytes = (size_t)status.st_size;
	ret_fixture->code =
		mmap(NULL, ret_fixture->size_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	CHECK(ret_fixture->code != MAP_FAILED);
	CHECK_OK(target_open((u32)getpid(), false, &ret_fixture->target, &err), err);
	CHECK_OK(plan_build(&ret_fixture->target, 1, (char *const *)patterns, 2, &limits,
			    &ret_fixture->plan, &err),
		 err);
	CHECK_U64(code_memory_open(&ret_fixture->target, &ret_fixture->memory), 0);
	CHECK_U64(probed_pieces_list(ret_fixture->plan, NULL, ret_fixture->memory,
				     &ret_fixture->pieces),
		  0);
	CHECK_U64(ret_fixture->pieces.count, 2);
	return true;
}

static void fixture_close(struct fixture *fixture)
{
	probed_pieces_free(&fixture->pieces);
	code_memory_close(fixture->memory);
	plan_free(fixture->plan);
	target_close(&fixture->target);
	munmap(fixture->code, fixture->size_bytes);
}

static u8 *code_of(const struct fixture *fixture, const char *name)
{
	for (size_t i = 0; i < fixture->plan->function_count; i++)
		if (!strcmp(fixture->plan->functions[i].name, name))
			return fixture->code + fixture->plan->functions[i].file_offset;
	UNIT_FAIL("%s is not planned", name);
	exit(1);
}

static void write_memory(u8 *address, const u8 *bytes, size_t size)
{
	void *page = (void *)((uintptr_t)address & -(uintptr_t)PAGE);

	CHECK_U64(mprotect(page, PAGE, PROT_READ | PROT_WRITE), 0);
	memcpy(address, bytes, size);
	CHECK_U64(mprotect(page, PAGE, PROT_READ | PROT_EXEC), 0);
}

/* To so far from it. */
static void write_jump(u8 *address, u8 first, s32 distance)
{
	u8 bytes[5] = {first};

	memcpy(bytes + 1, &distance, sizeof(distance));
	write_memory(address, bytes, sizeof(bytes));
}

static size_t repair_jumps(struct fixture *fixture)
{
	return code_repair_jumps(&fixture->target, fixture->memory, &fixture->pieces);
}

TEST(jumps)
{
	struct fixture fixture;
	u8 *pushes;

	if (!fixture_open("librepair_jumps.so", &fixture))
		SKIP("no cc");
	pushes = code_of(&fixture, "pushes");
	CHECK_U64(repair_jumps(&fixture), 0);
	write_jump(pushes, BREAKPOINT, 2 * PAGE);
	CHECK_U64(repair_jumps(&fixture), 1);
	CHECK_U64(pushes[0], JUMP);
	CHECK_U64(repair_jumps(&fixture), 0);
	/* What the file has, put over it when the probe was taken off. */
	write_jump(pushes, 0x53, 2 * PAGE);
	CHECK_U64(repair_jumps(&fixture), 1);
	CHECK_U64(pushes[0], JUMP);
	fixture_close(&fixture);
}

TEST(what_may_be_no_jump_is_left_alone)
{
	struct fixture fixture;
	u8 *pushes, *moves;

	if (!fixture_open("librepair_alone.so", &fixture))
		SKIP("no cc");
	pushes = code_of(&fixture, "pushes");
	moves = code_of(&fixture, "moves");
	/* A breakpoint, and nothing else. */
	write_memory(pushes, (const u8[]){BREAKPOINT}, 1);
	CHECK_U64(repair_jumps(&fixture), 0);
	/* To no code; into itself. */
	write_jump(pushes, BREAKPOINT, 0x40000000);
	CHECK_U64(repair_jumps(&fixture), 0);
	write_jump(pushes, BREAKPOINT, 1);
	CHECK_U64(repair_jumps(&fixture), 0);
	CHECK_U64(pushes[0], BREAKPOINT);
	/* The number that it moves is another one now, as if it led to the hook. */
	write_jump(moves, BREAKPOINT, PAGE);
	CHECK_U64(repair_jumps(&fixture), 0);
	CHECK_U64(moves[0], BREAKPOINT);
	/* It was patched before anything was put in. */
	for (size_t i = 0; i < fixture.plan->function_count; i++)
		fixture.plan->functions[i].changed = true;
	write_jump(pushes, 0x53, 2 * PAGE);
	CHECK_U64(repair_jumps(&fixture), 0);
	fixture_close(&fixture);
}

/* Four bytes that the file has there too would lead into code. */
TEST(code_that_is_changed_behind_its_beginning)
{
	struct fixture fixture;
	u8 *pushes;

	if (!fixture_open("librepair_behind.so", &fixture))
		SKIP("no cc");
	pushes = code_of(&fixture, "pushes");
	write_memory(pushes + 6, (const u8[]){0x5a}, 1);
	CHECK_U64(repair_jumps(&fixture), 0);
	/* The push was kept, and a jump put behind it. */
	write_jump(pushes + 1, JUMP, 2 * PAGE);
	CHECK_U64(repair_jumps(&fixture), 0);
	CHECK_U64(pushes[0], 0x53);
	fixture_close(&fixture);
}

static size_t repair_copies(struct fixture *fixture, u64 end, bool moved)
{
	return code_repair_copies(&fixture->target, fixture->memory, &fixture->pieces, 0, end,
				  moved);
}

static void replace_page(u8 *code)
{
	u8 *page = (u8 *)((uintptr_t)code & -(uintptr_t)PAGE);
	u8 *copy = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(copy != MAP_FAILED);
	memcpy(copy, page, PAGE);
	CHECK_U64(mprotect(copy, PAGE, PROT_READ | PROT_EXEC), 0);
	CHECK(mremap(copy, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, page) == page);
}

TEST(copies_of_breakpoints)
{
	struct fixture fixture;
	u64 all = UINT64_MAX;
	u8 *pushes;

	if (!fixture_open("librepair_copies.so", &fixture))
		SKIP("no cc");
	pushes = code_of(&fixture, "pushes");
	write_memory(pushes, (const u8[]){BREAKPOINT}, 1);
	/* It is still probed. */
	CHECK_U64(repair_copies(&fixture, all, true), 0);
	for (size_t i = 0; i < fixture.pieces.count; i++)
		fixture.pieces.items[i].gone = fixture.pieces.items[i].shared = true;
	CHECK_U64(repair_copies(&fixture, all, true), 0);
	for (size_t i = 0; i < fixture.pieces.count; i++)
		fixture.pieces.items[i].shared = false;
	/* It was as in the file all the time: somebody has put it there. */
	CHECK_U64(repair_copies(&fixture, all, false), 0);
	CHECK_U64(repair_copies(&fixture, all, true), 0);
	CHECK_U64(pushes[0], BREAKPOINT);
	/* A copy of the page lies there. */
	replace_page(pushes);
	code_memory_close(fixture.memory);
	CHECK_U64(code_memory_open(&fixture.target, &fixture.memory), 0);
	CHECK_U64(repair_copies(&fixture, PAGE, true), 0);
	CHECK_U64(repair_copies(&fixture, all, false), 0);
	CHECK_U64(repair_copies(&fixture, all, true), 1);
	CHECK_U64(pushes[0], 0x53);
	/* A jump was there in between. */
	write_jump(pushes, JUMP, 2 * PAGE);
	CHECK_U64(repair_copies(&fixture, all, false), 0);
	write_memory(pushes, (const u8[]){BREAKPOINT, 0xb8, 7, 0, 0}, 5);
	CHECK_U64(repair_copies(&fixture, all, false), 1);
	CHECK_U64(pushes[0], 0x53);
	fixture_close(&fixture);
}

UNIT_MAIN()
