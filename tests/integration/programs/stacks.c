/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls probed functions on every stack but its own: a signal handler on an alternate stack above
 * and below the thread's stack, and fibers (swapcontext) with stacks from malloc, mmap and .bss
 * that switch inside a call.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "hidden_contexts.h"
#include "protocol.h"

#define ROUNDS	    200
#define STACK_BYTES (64 * 1024)
#define FIBERS	    3

/* <linux/signal.h>, which cannot be included beside <signal.h>. */
#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1 << 31)
#endif

static ucontext_t home, fibers[FIBERS];
static int current;
static long results[FIBERS];
static volatile long sink;
static char static_stack[STACK_BYTES];
static char signal_stack_static[STACK_BYTES];
static unsigned long handled;

PROBED long leaf(long value)
{
	sink += value;
	return value + 1;
}

/* Off the home stack: entries only. */
PROBED long fiber_step(long value)
{
	value = leaf(value);
	switch_context(&fibers[current], &home);
	return leaf(value);
}

static void fiber_main(void)
{
	int own = current;
	long value = 0;

	for (int i = 0; i < ROUNDS; i++)
		value = fiber_step(value);
	results[own] = value;
	for (;;)
		switch_context(&fibers[own], &home);
}

/* On the home stack, with the switch inside: it returns, in order. */
PROBED long resume(int index)
{
	current = index;
	switch_context(&home, &fibers[index]);
	return leaf(index);
}

static unsigned long run_fibers(void)
{
	char *stacks[FIBERS] = {
		malloc(STACK_BYTES),
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		static_stack};
	unsigned long failures = 0;

	for (int i = 0; i < FIBERS; i++) {
		getcontext(&fibers[i]);
		fibers[i].uc_stack.ss_sp = stacks[i];
		fibers[i].uc_stack.ss_size = STACK_BYTES;
		make_context(&fibers[i], fiber_main, 0);
	}
	for (int round = 0; round <= ROUNDS; round++)
		for (int i = 0; i < FIBERS; i++)
			failures += resume(i) != i + 1;
	for (int i = 0; i < FIBERS; i++)
		failures += results[i] != 2 * ROUNDS;
	return failures;
}

static void on_signal(int number)
{
	handled++;
	leaf(leaf(1));
}

/* The signal strikes inside a call whose return is hijacked. */
PROBED long interrupted(void)
{
	long value = leaf(1);

	raise(SIGUSR1);
	return leaf(value);
}

static unsigned long run_signals(void *stack, int flags)
{
	stack_t alternate = {.ss_sp = stack, .ss_size = STACK_BYTES, .ss_flags = flags};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	unsigned long failures = 0;

	sigaltstack(&alternate, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < ROUNDS; i++)
		failures += interrupted() != 3;
	return failures;
}

/* The alternate stack inside the thread's own stack, above the calls; then one that is off while it
 * is in use. */
static void *thread_main(void *ret_failures)
{
	char inside[STACK_BYTES];

	*(unsigned long *)ret_failures += run_signals(inside, 0);
	*(unsigned long *)ret_failures += run_signals(inside, SS_AUTODISARM);
	return NULL;
}

int main(void)
{
	unsigned long failures = 0;
	pthread_t thread;

	protocol_begin();
	failures += run_fibers();
	failures += run_signals(signal_stack_static, 0);
	pthread_create(&thread, NULL, thread_main, &failures);
	pthread_join(thread, NULL);
	protocol_count("fiber_step", FIBERS * ROUNDS);
	protocol_count("resume", FIBERS * (ROUNDS + 1));
	protocol_count("interrupted", 3 * ROUNDS);
	protocol_count("on_signal", handled);
	protocol_count("leaf", FIBERS * (2 * ROUNDS + ROUNDS + 1) + 3 * ROUNDS * 4);
	protocol_count("failures", failures);
	protocol_end();
	return 0;
}
