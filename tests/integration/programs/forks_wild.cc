/* SPDX-License-Identifier: GPL-2.0-or-later */
// Forks children that do what return probes kill processes for: throw through probed frames, switch stacks inside
// them, handle signals on another stack. The parent itself only calls. The children write nothing; their exit
// status says whether their results are right.
#include <csignal>
#include <pthread.h>
#include <stdexcept>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

extern "C" {
#include "protocol.h"
}

#define ROUNDS	    200
#define STACK_BYTES (64 << 10)

static volatile long sink;
static ucontext_t home, fiber;
static char fiber_stack[STACK_BYTES], signal_stack[STACK_BYTES];

extern "C" PROBED long leaf(long value)
{
	sink = sink + value;
	return value + 1;
}

extern "C" PROBED long outer(long value)
{
	return leaf(value) + leaf(value);
}

extern "C" PROBED long thrower(long value)
{
	long sum = outer(value);

	if (value % 3 == 0)
		throw std::runtime_error("wild");
	return sum + sink - sink;
}

extern "C" PROBED long catcher(long value)
{
	try {
		return thrower(value);
	} catch (const std::runtime_error &) {
		return leaf(value);
	}
}

extern "C" PROBED void fiber_step(long value)
{
	sink = sink + outer(value);
	swapcontext(&fiber, &home);
	sink = sink - 1;
}

static void fiber_main(void)
{
	for (long i = 0;; i++)
		fiber_step(i);
}

extern "C" PROBED long resume(long value)
{
	swapcontext(&home, &fiber);
	return leaf(value);
}

extern "C" PROBED void handler(int)
{
	sink = sink + outer(1);
}

extern "C" PROBED long interrupted(long value)
{
	raise(SIGUSR1);
	return leaf(value);
}

static int plain(void)
{
	for (long i = 0; i < ROUNDS; i++)
		if (outer(i) != 2 * (i + 1))
			return 1;
	return 0;
}

static int throwing(void)
{
	for (long i = 0; i < ROUNDS; i++)
		if (catcher(i) != (i % 3 ? 2 : 1) * (i + 1))
			return 1;
	return 0;
}

static int switching(void)
{
	getcontext(&fiber);
	fiber.uc_stack.ss_sp = fiber_stack;
	fiber.uc_stack.ss_size = sizeof(fiber_stack);
	makecontext(&fiber, fiber_main, 0);
	for (long i = 0; i < ROUNDS; i++)
		if (resume(i) != i + 1)
			return 1;
	return 0;
}

static int on_signals(void)
{
	stack_t stack = {};
	struct sigaction action = {};

	stack.ss_sp = signal_stack;
	stack.ss_size = sizeof(signal_stack);
	sigaltstack(&stack, nullptr);
	action.sa_handler = handler;
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &action, nullptr);
	for (long i = 0; i < ROUNDS; i++)
		if (interrupted(i) != i + 1)
			return 1;
	return 0;
}

static void *in_thread(void *ret_failed)
{
	*(int *)ret_failed = plain() || throwing() || switching();
	return nullptr;
}

static int in_a_thread(void)
{
	pthread_t thread;
	int failed = 1;

	pthread_create(&thread, nullptr, in_thread, &failed);
	pthread_join(thread, nullptr);
	return failed;
}

int main()
{
	static int (*const lives[])(void) = {plain, throwing, switching, on_signals, in_a_thread};
	unsigned long failures = 0, children = 0;

	protocol_begin();
	for (int (*life)(void) : lives) {
		int status = 0;
		pid_t pid = fork();

		if (pid == 0)
			_exit(life());
		failures += plain() != 0;
		waitpid(pid, &status, 0);
		failures += status != 0;
		children++;
	}
	protocol_count("outer", children * ROUNDS);
	protocol_count("leaf", children * 2 * ROUNDS);
	protocol_count("children", children);
	protocol_count("failures", failures);
	protocol_end();
	return 0;
}
