/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Changes its code while it is recorded, each time one of the functions f0, f1, ...: then the function returns another value, in the
 * window and after it. How, its argument says. Beside them plain(), which it leaves alone. Each turn
 * is 1,000 calls of all; those after the first change one function before. With a second argument a child of it does all that: as it is
 * (child), or when it has executed this program again (exec).
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "protocol.h"

#define CALLS	  1000
#define FUNCTIONS 3
#define JUMP	  0xe9

int plain(void), f0(void), f1(void), f2(void), hook(void);

/* Each on a page of its own, behind it one without any. */
#define FUNCTION(name, first)                                                        \
	".balign 8192\n.globl " name "\n.type " name ", @function\n" name ": " first \
	"\nmovl $1, %eax\npop %rbx\nret\n.size " name ", . - " name "\n"
__asm__(".text\n" FUNCTION("plain", "push %rbx") FUNCTION("f0", "push %rbx")
		FUNCTION("f1", "endbr64\npush %rbx") FUNCTION(
			"f2", "sub $8, %rsp\nadd $8, %rsp\npush %rbx") ".balign 8192\n.globl "
								       "hook\nhook: movl $2, "
								       "%eax\nret\n.balign 4096\n");

static int (*const functions[FUNCTIONS])(void) = {f0, f1, f2};
static long page;

static uint8_t *page_of(const void *code)
{
	return (uint8_t *)((uintptr_t)code & -page);
}

static void protect(uint8_t *begin, size_t size, int protection)
{
	if (mprotect(begin, size, protection))
		exit(2);
}

static void write_jump(uint8_t *code)
{
	int32_t distance = (int32_t)((uint8_t *)hook - (code + 5));

	memcpy(code + 1, &distance, 4);
	code[0] = JUMP;
}

/* Its page is made writable, and what it was again. */
static void by_page(uint8_t *code)
{
	protect(page_of(code), page, PROT_READ | PROT_WRITE | PROT_EXEC);
	write_jump(code);
	protect(page_of(code), page, PROT_READ | PROT_EXEC);
	/* Splits the mapping, and merges it again. */
	protect(page_of(code) + page, page, PROT_READ | PROT_WRITE | PROT_EXEC);
	protect(page_of(code) + page, page, PROT_READ | PROT_EXEC);
}

/* The kernel takes whole pages. */
static void by_some_bytes(uint8_t *code)
{
	protect(page_of(code), 1, PROT_READ | PROT_WRITE | PROT_EXEC);
	write_jump(code);
	protect(page_of(code), 1, PROT_READ | PROT_EXEC);
	protect(page_of(code) + page, 1, PROT_READ | PROT_WRITE | PROT_EXEC);
	protect(page_of(code) + page, 1, PROT_READ | PROT_EXEC);
}

/* Two pages, then the first one. */
static void by_two_pages(uint8_t *code)
{
	protect(page_of(code), 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC);
	write_jump(code);
	protect(page_of(code), 2 * page, PROT_READ | PROT_EXEC);
	protect(page_of(code), page, PROT_READ | PROT_WRITE | PROT_EXEC);
	protect(page_of(code), page, PROT_READ | PROT_EXEC);
}

static void write_by_file(const uint8_t *code, const uint8_t *bytes, size_t size)
{
	int fd = open("/proc/self/mem", O_RDWR);

	if (pwrite(fd, bytes, size, (off_t)code) != (ssize_t)size)
		exit(2);
	close(fd);
}

static void by_jump_through_file(uint8_t *code)
{
	uint8_t jump[5];
	int32_t distance = (int32_t)((uint8_t *)hook - (code + 5));

	jump[0] = JUMP;
	memcpy(jump + 1, &distance, 4);
	write_by_file(code, jump, sizeof(jump));
}

static void by_file(uint8_t *code)
{
	by_jump_through_file(code);
	protect(page_of(code) + page, page, PROT_READ | PROT_WRITE | PROT_EXEC);
	protect(page_of(code) + page, page, PROT_READ | PROT_EXEC);
}

/* A copy of its page takes the place of the page. */
static void by_move(uint8_t *code)
{
	uint8_t *copy =
		mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *begin = page_of(code);

	if (copy == MAP_FAILED)
		exit(2);
	memcpy(copy, begin, page);
	write_jump(copy + (code - begin));
	/* The distance is that of the place where it will be. */
	memcpy(copy + (code - begin) + 1, &(int32_t){(int32_t)((uint8_t *)hook - (code + 5))}, 4);
	protect(copy, page, PROT_READ | PROT_EXEC);
	if (mremap(copy, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, begin) != begin)
		exit(2);
}

/* What stood there before, a breakpoint among it, is put back. */
static void and_back(uint8_t *code)
{
	uint8_t saved[16];

	memcpy(saved, code, sizeof(saved));
	by_page(code);
	protect(page_of(code), page, PROT_READ | PROT_WRITE | PROT_EXEC);
	memcpy(code, saved, sizeof(saved));
	protect(page_of(code), page, PROT_READ | PROT_EXEC);
}

/* The same, by another way. */
static void and_back_by_file(uint8_t *code)
{
	uint8_t saved[16];

	memcpy(saved, code, sizeof(saved));
	by_page(code);
	write_by_file(code, saved, sizeof(saved));
}

/* Somebody else has written it: the mapping is split and merged, and nothing called before the recording is over. */
static void around(uint8_t *code)
{
	protect(page_of(code) + page, page, PROT_READ | PROT_WRITE | PROT_EXEC);
	protect(page_of(code) + page, page, PROT_READ | PROT_EXEC);
}

/* The jump is written, and nothing more; */
static void by_jump(uint8_t *code)
{
	protect(page_of(code), page, PROT_READ | PROT_WRITE | PROT_EXEC);
	write_jump(code);
	protect(page_of(code), page, PROT_READ | PROT_EXEC);
}

/* later the mapping is split and merged again and again. */
static void around_often(uint8_t *code)
{
	for (int i = 0; i < 10; i++)
		around(code);
}

static const struct way {
	const char *name;
	void (*patch)(uint8_t *code);
	bool stays;
	bool one;		     /* only the first function, which is not called in that turn */
	void (*then)(uint8_t *code); /* in the next turn, before it is called */
} ways[] = {
	{"page", by_page, true},
	{"some_bytes", by_some_bytes, true},
	{"two_pages", by_two_pages, true},
	{"file", by_file, true},
	{"move", by_move, true},
	{"back", and_back, false},
	{"back_by_file", and_back_by_file, false},
	{"around", around, true, true},
	{"later", by_jump, true, true, around_often},
	{"later_by_file", by_jump_through_file, true, true, around_often},
};

int main(int argc, char **argv)
{
	const struct way *way = NULL;
	bool patched[FUNCTIONS] = {false};
	int turn = 0, status = 0;

	page = sysconf(_SC_PAGESIZE);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (argc > 1 && !strcmp(argv[1], ways[i].name))
			way = &ways[i];
	if (!way)
		return 2;
	if (argc < 3 || strcmp(argv[2], "executed"))
		protocol_begin();
	if (argc > 2 && strcmp(argv[2], "executed")) {
		if (fork())
			return wait(&status) < 0 || status;
		if (!strcmp(argv[2], "exec"))
			return execl("/proc/self/exe", argv[0], argv[1], "executed", NULL);
	}
	do {
		int changes = way->one ? 1 : FUNCTIONS, calls = CALLS;
		unsigned long wrong = 0;

		/* The first and the last turn change nothing. */
		if (turn > 0 && turn <= changes) {
			way->patch((uint8_t *)functions[turn - 1]);
			patched[turn - 1] = way->stays;
			calls = way->one ? 0 : CALLS;
		}
		if (turn == 2 && way->then)
			way->then((uint8_t *)functions[0]);
		for (int i = 0; i < calls; i++) {
			wrong += plain() != 1;
			for (int f = 0; f < FUNCTIONS; f++)
				wrong += functions[f]() != 1 + patched[f];
		}
		protocol_count("plain", calls);
		protocol_count("wrong", wrong);
		protocol_done();
		turn++;
	} while (protocol_next());
	return 0;
}
