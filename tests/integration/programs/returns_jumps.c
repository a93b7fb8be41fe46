/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls what keeps, uses or looks up its return address: the setjmp family, contexts, dlsym and dlopen; and what
 * makes children on the caller's stack. Its test probes the functions of libc themselves.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <spawn.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "protocol.h"

#define ROUNDS	    50
#define CHILDREN    4
#define STACK_BYTES (64 * 1024)

extern char **environ;

static volatile long sink;
static jmp_buf plain, underscore;
static sigjmp_buf with_signals;
static ucontext_t home, fiber, again;
static char fiber_stack[STACK_BYTES];

PROBED long leaf(long value)
{
	sink += value;
	return value + 1;
}

PROBED void jump(int which)
{
	leaf(which);
	if (which == 0)
		longjmp(plain, 1);
	if (which == 1)
		longjmp(underscore, 2);
	siglongjmp(with_signals, 3);
}

/* Each buffer is filled in a function that the jump comes back to. */
PROBED long jump_family(void)
{
	volatile long sum = 0;
	int value = (setjmp)(plain);

	sum += value;
	if (!value)
		jump(0);
	value = _setjmp(underscore);
	sum += value;
	if (!value)
		jump(1);
	value = sigsetjmp(with_signals, 1);
	sum += value;
	if (!value)
		jump(2);
	return sum;
}

PROBED long get_and_set_context(void)
{
	volatile long times = 0;

	getcontext(&again);
	if (++times < 3)
		setcontext(&again);
	return times;
}

PROBED void on_fiber(void)
{
	leaf(1);
	swapcontext(&fiber, &home);
	leaf(2);
}

static void fiber_main(void)
{
	for (;;)
		on_fiber();
}

PROBED void to_fiber(void)
{
	swapcontext(&home, &fiber);
}

static unsigned long run_contexts(void)
{
	unsigned long failures = 0;

	getcontext(&fiber);
	fiber.uc_stack.ss_sp = fiber_stack;
	fiber.uc_stack.ss_size = STACK_BYTES;
	makecontext(&fiber, fiber_main, 0);
	for (int i = 0; i < ROUNDS; i++) {
		to_fiber();
		failures += get_and_set_context() != 3;
	}
	return failures;
}

PROBED unsigned long look_up(void)
{
	void *next = dlsym(RTLD_NEXT, "malloc"), *library = dlopen("libm.so.6", RTLD_NOW);
	double (*cosine)(double) = library ? (double (*)(double))dlsym(library, "cos") : NULL;
	unsigned long failures = 0;

	failures += next != dlsym(RTLD_DEFAULT, "malloc");
	failures += !dlvsym(RTLD_NEXT, "free", "GLIBC_2.2.5");
	failures += !cosine || cosine(0) != 1;
	if (library)
		dlclose(library);
	return failures;
}

static unsigned long status_of(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
}

PROBED unsigned long make_children(void)
{
	char *arguments[] = {"sh", "-c", "exit 3", NULL};
	unsigned long failures = 0;
	char text[8] = "";
	FILE *pipe;
	pid_t pid;

	failures += posix_spawn(&pid, "/bin/sh", NULL, NULL, arguments, environ) != 0;
	failures += status_of(pid) != 3;
	failures += WEXITSTATUS(system("exit 4")) != 4;
	pid = vfork();
	if (pid == 0) {
		execv("/bin/sh", arguments);
		_exit(1);
	}
	failures += status_of(pid) != 3;
	pipe = popen("echo five", "r");
	failures += !pipe || !fgets(text, sizeof(text), pipe) || text[3] != 'e';
	failures += pipe && pclose(pipe) != 0;
	return failures;
}

int main(void)
{
	unsigned long failures = 0;

	protocol_begin();
	for (int i = 0; i < ROUNDS; i++)
		failures += jump_family() != 6;
	failures += run_contexts();
	for (int i = 0; i < ROUNDS; i++)
		failures += look_up();
	for (int i = 0; i < CHILDREN; i++)
		failures += make_children();
	protocol_count("leaf", 3 * ROUNDS + 2 * ROUNDS - 1);
	protocol_count("jump", 3 * ROUNDS);
	protocol_count("jump_family", ROUNDS);
	protocol_count("get_and_set_context", ROUNDS);
	protocol_count("on_fiber", ROUNDS);
	protocol_count("to_fiber", ROUNDS);
	protocol_count("look_up", ROUNDS);
	protocol_count("make_children", CHILDREN);
	protocol_count("failures", failures);
	protocol_end();
	return 0;
}
