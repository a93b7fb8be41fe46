/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything that unwinds: exceptions from a comparison through qsort, out of the standard library, on a fiber, in a
 * forked child that is no target; threads that end by pthread_exit and pthread_cancel below a guard that holds a lock.
 */
#include <exception>
#include <fstream>
#include <functional>
#include <mutex>
#include <new>
#include <regex>
#include <stdexcept>
#include <string>
#include <thread>
#include <typeinfo>
#include <vector>

#include <pthread.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "protocol.h"

#define ROUNDS	    30
#define CHILDREN    3
#define STACK_BYTES (128 * 1024)

static thread_local volatile long sink;
static std::mutex lock;
static unsigned long lock_was_held;
static volatile bool waits = true; /* always: so that the compiler gives it a way out */

static int throwing_comparison(const void *one, const void *)
{
	if (*(const int *)one % 2)
		throw std::runtime_error("no order");
	return 1;
}

PROBED bool sorts()
{
	int values[] = {4, 2, 8, 3, 6, 1};

	try {
		qsort(values, 6, sizeof(int), throwing_comparison);
	} catch (const std::runtime_error &) {
		return true;
	}
	return false;
}

struct Polymorphic {
	virtual ~Polymorphic() = default;
};

struct Derived : Polymorphic {
};

/* Each thrown by code of libstdc++. */
PROBED void throw_by_library(int which)
{
	Polymorphic base;
	std::ifstream file;

	switch (which) {
	case 0:
		sink = (long)operator new(1UL << 60);
		break;
	case 1:
		sink = std::stoi("not a number");
		break;
	case 2:
		sink = (long)&dynamic_cast<Derived &>(base);
		break;
	case 3:
		file.exceptions(std::ios::failbit);
		file.open("/nonexistent");
		break;
	case 4:
		sink = std::string("short").substr(20).size();
		break;
	case 5:
		sink = std::vector<int>(3).at(5);
		break;
	case 6:
		std::regex("(");
		break;
	default:
		std::function<void()>()();
	}
}

PROBED int catch_from_library(int which)
{
	try {
		throw_by_library(which);
	} catch (const std::bad_alloc &) {
		return 0;
	} catch (const std::invalid_argument &) {
		return 1;
	} catch (const std::bad_cast &) {
		return 2;
	} catch (const std::ios_base::failure &) {
		return 3;
	} catch (const std::out_of_range &) {
		return which == 4 || which == 5 ? which : -1;
	} catch (const std::regex_error &) {
		return 6;
	} catch (const std::bad_function_call &) {
		return 7;
	}
	return -1;
}

/* From one thread to another. */
PROBED bool hand_over()
{
	std::exception_ptr handed;
	std::thread thread([&] {
		try {
			throw_by_library(1);
		} catch (...) {
			handed = std::current_exception();
		}
	});

	thread.join();
	try {
		std::rethrow_exception(handed);
	} catch (const std::invalid_argument &) {
		return true;
	}
	return false;
}

static ucontext_t home, fiber;
static char fiber_stack[STACK_BYTES];
static unsigned long caught_on_fiber;

PROBED void throw_after_switch()
{
	swapcontext(&fiber, &home);
	throw_by_library(4);
}

static void fiber_main()
{
	for (;;) {
		try {
			throw_after_switch();
		} catch (const std::out_of_range &) {
			caught_on_fiber++;
		}
	}
}

PROBED void to_fiber()
{
	swapcontext(&home, &fiber);
}

static unsigned long run_fiber()
{
	unsigned long before = caught_on_fiber;

	getcontext(&fiber);
	fiber.uc_stack.ss_sp = fiber_stack;
	fiber.uc_stack.ss_size = STACK_BYTES;
	makecontext(&fiber, fiber_main, 0);
	for (int i = 0; i <= ROUNDS; i++) {
		to_fiber();
		sorts();
	}
	return caught_on_fiber - before != ROUNDS;
}

PROBED void ends_inside(bool exits)
{
	if (exits)
		pthread_exit(nullptr);
	while (waits)
		pause(); /* where it is cancelled */
}

PROBED void below_a_guard(bool exits)
{
	std::lock_guard<std::mutex> guard(lock);

	sink = sink + 1;
	ends_inside(exits);
	sink = sink + 1;
}

static void *ending_thread(void *exits)
{
	below_a_guard(exits != nullptr);
	return nullptr;
}

static unsigned long run_endings()
{
	for (long i = 0; i < ROUNDS; i++) {
		pthread_t thread;

		pthread_create(&thread, nullptr, ending_thread, (void *)(i % 2));
		if (i % 2 == 0)
			pthread_cancel(thread);
		pthread_join(thread, nullptr);
		if (!lock.try_lock()) {
			lock_was_held++;
			break;
		}
		lock.unlock();
	}
	return lock_was_held;
}

static unsigned long run_exceptions()
{
	unsigned long failures = 0;

	for (int i = 0; i < ROUNDS; i++) {
		failures += !sorts();
		for (int which = 0; which < 8; which++)
			failures += catch_from_library(which) != which;
	}
	return failures;
}

static unsigned long run_child()
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		_exit(run_exceptions() + run_fiber() + run_endings() != 0);
	waitpid(pid, &status, 0);
	return status != 0;
}

int main()
{
	unsigned long failures = 0;

	protocol_begin();
	for (int i = 0; i < CHILDREN; i++)
		failures += run_child();
	failures += run_exceptions();
	failures += run_fiber();
	for (int i = 0; i < ROUNDS; i++)
		failures += !hand_over();
	failures += run_endings();
	protocol_count("sorts", ROUNDS + ROUNDS + 1);
	protocol_count("throw_by_library", 8 * ROUNDS + ROUNDS + ROUNDS);
	protocol_count("catch_from_library", 8 * ROUNDS);
	protocol_count("hand_over", ROUNDS);
	protocol_count("throw_after_switch", ROUNDS + 1);
	protocol_count("to_fiber", ROUNDS + 1);
	protocol_count("ends_inside", ROUNDS);
	protocol_count("below_a_guard", ROUNDS);
	protocol_count("failures", failures);
	protocol_end();
}
