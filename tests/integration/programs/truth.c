/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that knows the truth: it calls functions in every way that pairing can go wrong on,
 * counts each call itself, and prints the counts. It waits for a line on its standard input before
 * it begins, and for the end of its input before it ends, so that a recording can be put around
 * exactly what it does.
 *
 *	truth CASE...	prints "ready", waits, runs the cases, prints "FUNCTION CALLS" lines and
 *"done"
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
#define FUNCTIONS(X) \
	X(leaf) \
	X(outer) \
	X(recurse) \
	X(jumper) \
	X(jump_base) \
	X(tail_caller) \
	X(tail_callee) \
	X(self_tail) \
	X(ping) \
	X(pong) \
	X(thread_body) \
	X(thread_exits) \
	X(same_slot_a) \
	X(same_slot_b) \
	X(sleeper)
/* clang-format on */

enum {
#define X(name) COUNT_##name,
	FUNCTIONS(X)
#undef X
		COUNT_MAX
};

static atomic_ulong counts[COUNT_MAX];
static jmp_buf jump_buffer;
static volatile int sink;

#define PROBED __attribute__((noinline, noclone, used))
/* The nop goes first: an instruction with a `lock` prefix cannot be probed. */
#define COUNTED(name)                                                                      \
	({                                                                                 \
		__asm__ volatile("nop");                                                   \
		atomic_fetch_add_explicit(&counts[COUNT_##name], 1, memory_order_relaxed); \
	})

PROBED void leaf(void)
{
	COUNTED(leaf);
	sink++;
}

PROBED void outer(void)
{
	COUNTED(outer);
	for (int i = 0; i < 3; i++)
		leaf();
	sink++;
}

PROBED int recurse(int depth)
{
	COUNTED(recurse);
	if (depth <= 1)
		return 1;
	return recurse(depth - 1) + 1;
}

PROBED void jumper(int depth)
{
	COUNTED(jumper);
	if (depth == 0)
		longjmp(jump_buffer, 1);
	jumper(depth - 1);
	sink++;
}

PROBED void jump_base(void)
{
	COUNTED(jump_base);
	if (setjmp(jump_buffer) == 0)
		jumper(5);
	leaf();
}

PROBED void tail_callee(int value)
{
	COUNTED(tail_callee);
	sink += value;
}

PROBED __attribute__((optimize("O2"))) void tail_caller(int value)
{
	COUNTED(tail_caller);
	tail_callee(value + 1); /* a jump at -O2 */
}

PROBED void self_tail(int left);
PROBED void ping(int left);
PROBED void pong(int left);

/* Through pointers that the compiler cannot see through: jumps, never loops. */
static void (*volatile self_tail_pointer)(int) = self_tail;
static void (*volatile ping_pointer)(int) = ping;
static void (*volatile pong_pointer)(int) = pong;

PROBED __attribute__((optimize("O2"))) void self_tail(int left)
{
	COUNTED(self_tail);
	if (left)
		self_tail_pointer(left - 1);
}

PROBED __attribute__((optimize("O2"))) void ping(int left)
{
	COUNTED(ping);
	if (left)
		pong_pointer(left - 1);
}

PROBED __attribute__((optimize("O2"))) void pong(int left)
{
	COUNTED(pong);
	if (left)
		ping_pointer(left - 1);
}

/* Both are entered at the same stack slot, the first is left by longjmp. */
PROBED void same_slot_a(void)
{
	COUNTED(same_slot_a);
	longjmp(jump_buffer, 1);
}

PROBED void same_slot_b(void)
{
	COUNTED(same_slot_b);
	sink++;
}

PROBED void thread_exits(void)
{
	COUNTED(thread_exits);
	leaf();
	pthread_exit(NULL);
}

PROBED void *thread_body(void *argument)
{
	COUNTED(thread_body);
	for (int i = 0; i < 1000; i++)
		outer();
	if (argument)
		thread_exits();
	return NULL;
}

PROBED void sleeper(void)
{
	char c;

	COUNTED(sleeper);
	/* Open until the input ends, that is until after the window. */
	while (read(0, &c, 1) > 0)
		;
}

static void *start_thread(void *argument)
{
	thread_body(argument);
	return NULL;
}

static void run_nested(void)
{
	for (int i = 0; i < 2000; i++)
		outer();
}

static void run_recursion(void)
{
	for (int i = 0; i < 10; i++)
		recurse(60);
}

static void run_deep(void)
{
	recurse(100);
}

static void run_longjmp(void)
{
	for (int i = 0; i < 100; i++)
		jump_base();
	for (int i = 0; i < 100; i++) {
		if (setjmp(jump_buffer) == 0)
			same_slot_a();
		same_slot_b();
	}
}

static void run_tail(void)
{
	for (int i = 0; i < 100; i++) {
		tail_caller(i);
		self_tail(10);
		ping(9);
	}
}

static void run_threads(void)
{
	pthread_t threads[8];

	for (int round = 0; round < 4; round++) {
		for (long i = 0; i < 8; i++)
			pthread_create(&threads[i], NULL, start_thread, (void *)(i & 1));
		for (int i = 0; i < 8; i++)
			pthread_join(threads[i], NULL);
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"nested", run_nested},	  {"recursion", run_recursion}, {"deep", run_deep},
	{"longjmp", run_longjmp}, {"tail", run_tail},		{"threads", run_threads},
	{"sleep", sleeper},
};

static void print_counts(void)
{
	static const char *const names[] = {
#define X(name) #name,
		FUNCTIONS(X)
#undef X
	};

	for (int i = 0; i < COUNT_MAX; i++)
		if (counts[i])
			printf("%s %lu\n", names[i], counts[i]);
	printf("done\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char line[64];

	printf("ready\n");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (int i = 1; i < argc; i++)
		for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
			if (strcmp(argv[i], cases[c].name))
				continue;
			if (cases[c].run == sleeper) {
				counts[COUNT_sleeper]++;
				print_counts();
				counts[COUNT_sleeper]--;
			}
			cases[c].run();
		}
	print_counts();
	while (fgets(line, sizeof(line), stdin))
		;
	return 0;
}
