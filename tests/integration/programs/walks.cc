// SPDX-License-Identifier: GPL-2.0-or-later
// Sleeps where stacks are hard to walk, again and again: without frame pointers, below signal handlers, on stacks of its own.
#include <alloca.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <ucontext.h>
#include <unistd.h>

#define NEVER_INLINED extern "C" __attribute__((noinline, noclone))

static volatile int sink;

NEVER_INLINED void rest()
{
	timespec time = {0, 2000000};
	nanosleep(&time, nullptr);
	sink = sink + 1;
}

NEVER_INLINED void plain_inner()
{
	rest();
	sink = sink + 1;
}

NEVER_INLINED void plain()
{
	plain_inner();
	sink = sink + 1;
}

NEVER_INLINED void moving_stack(int bytes)
{
	char *room = static_cast<char *>(alloca(bytes));

	memset(room, 1, bytes);
	rest();
	sink = sink + room[bytes / 2];
}

NEVER_INLINED void touch(void *)
{
	rest();
	sink = sink + 1;
}

/* More arguments than registers, a larger alignment than the stack has, and room by alloca: gcc keeps the frame elsewhere (DRAP). */
NEVER_INLINED void aligned_stack(int bytes, int a, int b, int c, int d, int e, int f, int g)
{
	alignas(64) char room[64];
	char *more = static_cast<char *>(alloca(bytes));

	memset(more, 1, bytes);
	memset(room, a + b + c + d + e, sizeof(room));
	touch(room);
	sink = sink + more[1] + room[f] + g;
}

NEVER_INLINED void on_signal(int)
{
	rest();
	sink = sink + 1;
}

NEVER_INLINED void in_handler()
{
	raise(SIGUSR1);
	sink = sink + 1;
}

NEVER_INLINED void in_handler_elsewhere()
{
	raise(SIGUSR2);
	sink = sink + 1;
}

struct Guard {
	~Guard();
};

__attribute__((noinline)) Guard::~Guard()
{
	rest();
	sink = sink + 1;
}

NEVER_INLINED void throws()
{
	Guard guard;

	throw sink + 0;
}

NEVER_INLINED void catches()
{
	try {
		throws();
	} catch (int) {
		rest();
	}
	sink = sink + 1;
}

static ucontext_t outside, inside;

NEVER_INLINED void fiber()
{
	for (;;) {
		rest();
		swapcontext(&inside, &outside);
	}
}

static void make_fiber()
{
	getcontext(&inside);
	inside.uc_stack.ss_sp = malloc(1 << 16);
	inside.uc_stack.ss_size = 1 << 16;
	makecontext(&inside, fiber, 0);
}

NEVER_INLINED void probed()
{
	rest();
	sink = sink + 1;
}

NEVER_INLINED int compare(const void *, const void *)
{
	rest();
	return 0;
}

/* Through a function of the C library. */
NEVER_INLINED void called_back()
{
	int pair[] = {1, 2};

	qsort(pair, 2, sizeof(*pair), compare);
	sink = sink + pair[0];
}

int main()
{
	stack_t other = {};
	struct sigaction here = {}, there = {};

	other.ss_sp = malloc(1 << 16);
	other.ss_size = 1 << 16;
	sigaltstack(&other, nullptr);
	here.sa_handler = there.sa_handler = on_signal;
	there.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &here, nullptr);
	sigaction(SIGUSR2, &there, nullptr);
	make_fiber();
	puts("ready");
	fflush(stdout);
	for (;;) {
		plain();
		moving_stack(100);
		aligned_stack(100, 1, 2, 3, 4, 5, 6, 7);
		in_handler();
		in_handler_elsewhere();
		catches();
		swapcontext(&outside, &inside);
		probed();
		called_back();
	}
}
