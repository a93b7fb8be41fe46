/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads whose first probed call is on a fiber, their fibers' stacks side by side in the heap or in .bss; and forked
 * children that do the same, and are no targets. With HIDDEN it cannot be seen beforehand that stacks are switched.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "protocol.h"
#ifdef HIDDEN
#include "hidden_contexts.h"
#else
#define switch_context swapcontext
#define make_context   makecontext
#endif

#define ROUNDS	    40
#define THREADS	    3
#define FIBERS	    3
#define STACK_BYTES (64 * 1024)

static __thread ucontext_t home, fibers[FIBERS];
static __thread int current;
static __thread long results[FIBERS];
static __thread volatile long sink;
static char static_stacks[FIBERS][STACK_BYTES];

PROBED long leaf(long value)
{
	sink += value;
	return value + 1;
}

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

/* Probed from its second half on: at first no probed function is called on the home stack. */
static void switch_to(int index)
{
	current = index;
	switch_context(&home, &fibers[index]);
}

PROBED long resume(int index)
{
	switch_to(index);
	return leaf(index);
}

static unsigned long run(char (*stacks)[STACK_BYTES])
{
	unsigned long failures = 0;

	for (int i = 0; i < FIBERS; i++) {
		getcontext(&fibers[i]);
		fibers[i].uc_stack.ss_sp = stacks[i];
		fibers[i].uc_stack.ss_size = STACK_BYTES;
		make_context(&fibers[i], fiber_main, 0);
	}
	for (int round = 0; round <= ROUNDS; round++)
		for (int i = 0; i < FIBERS; i++)
			if (round < ROUNDS / 2)
				switch_to(i);
			else
				failures += resume(i) != i + 1;
	for (int i = 0; i < FIBERS; i++)
		failures += results[i] != 2 * ROUNDS;
	return failures;
}

static void *in_thread(void *ret_failures)
{
	char(*stacks)[STACK_BYTES] = malloc(FIBERS * STACK_BYTES);

	*(unsigned long *)ret_failures = run(stacks);
	free(stacks);
	return NULL;
}

static unsigned long run_threads(void)
{
	unsigned long failures = 0, of_thread = 0;
	pthread_t thread;

	for (int i = 0; i < THREADS; i++) {
		pthread_create(&thread, NULL, in_thread, &of_thread);
		pthread_join(thread, NULL);
		failures += of_thread;
	}
	return failures;
}

static unsigned long run_child(void)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		_exit(run(static_stacks) + run_threads() != 0);
	waitpid(pid, &status, 0);
	return status != 0;
}

int main(void)
{
	unsigned long failures = 0, of_one = FIBERS * (ROUNDS + 1 - ROUNDS / 2);

	protocol_begin();
	failures += run_child();
	failures += run_threads();
	failures += run(static_stacks);
	failures += run_child();
	protocol_count("fiber_step", (THREADS + 1) * FIBERS * ROUNDS);
	protocol_count("resume", (THREADS + 1) * of_one);
	protocol_count("leaf", (THREADS + 1) * (of_one + 2 * FIBERS * ROUNDS));
	protocol_count("failures", failures);
	protocol_end();
	return 0;
}
