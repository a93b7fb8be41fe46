/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Uses the C library in all the ways in which a function calls back, jumps, looks up its caller,
 * switches stacks or starts processes and threads. Prints what came out: the same whether its
 * library is probed or not. Exit status 7.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <glob.h>
#include <iconv.h>
#include <locale.h>
#include <netdb.h>
#include <pthread.h>
#include <regex.h>
#include <sched.h>
#include <search.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <wchar.h>

#include "hidden_contexts.h"

#define STACK_BYTES 65536

extern char **environ;

static jmp_buf jump;
static sigjmp_buf signal_jump;
static ucontext_t home, fiber;
static volatile sig_atomic_t handled;
static int once_count;

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static int compare_with(const void *a, const void *b, void *unused)
{
	return compare(a, b);
}

static void use_callbacks(void)
{
	int numbers[50], key = 7 * 31 % 50;
	void *root = NULL;
	glob_t found;
	regex_t expression;

	for (int i = 0; i < 50; i++)
		numbers[i] = i * 31 % 50;
	qsort(numbers, 50, sizeof(int), compare);
	qsort_r(numbers, 50, sizeof(int), compare_with, NULL);
	printf("sorted %d %d\n", numbers[10],
	       *(int *)bsearch(&key, numbers, 50, sizeof(int), compare));
	tsearch(&numbers[0], &root, compare);
	printf("tree %d\n", tfind(&numbers[0], &root, compare) != NULL);
	tdelete(&numbers[0], &root, compare);
	printf("glob %d\n", glob("/etc/passw*", 0, NULL, &found));
	globfree(&found);
	regcomp(&expression, "a.*b", 0);
	printf("regex %d\n", regexec(&expression, "xaxxb", 0, NULL, 0));
	regfree(&expression);
}

static void on_signal(int number)
{
	char text[32];

	snprintf(text, sizeof(text), "%d", number);
	handled++;
}

static void on_fault(int number)
{
	siglongjmp(signal_jump, 1);
}

static void use_signals(int flags)
{
	static char stack[STACK_BYTES];
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};

	sigaltstack(&alternate, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	kill(getpid(), SIGUSR1);
	action.sa_handler = on_fault;
	sigaction(SIGSEGV, &action, NULL);
	if (sigsetjmp(signal_jump, 1) == 0)
		raise(SIGSEGV);
	signal(SIGSEGV, SIG_DFL);
	printf("handled %d\n", handled);
}

static void fiber_main(void)
{
	printf("fiber\n");
	switch_context(&fiber, &home);
	printf("fiber again\n");
}

static void use_jumps(void)
{
	volatile int jumps = 0;

	if (setjmp(jump) < 3)
		longjmp(jump, ++jumps);
	printf("jumps %d\n", jumps);
	getcontext(&fiber);
	fiber.uc_stack.ss_sp = malloc(STACK_BYTES);
	fiber.uc_stack.ss_size = STACK_BYTES;
	fiber.uc_link = &home;
	make_context(&fiber, fiber_main, 0);
	switch_context(&home, &fiber);
	switch_context(&home, &fiber);
	free(fiber.uc_stack.ss_sp);
}

static void once(void)
{
	once_count++;
}

static void *thread_main(void *exits)
{
	char *text = strdup("thread");

	free(text);
	if (exits)
		pthread_exit("exit");
	return "return";
}

static void *thread_to_cancel(void *unused)
{
	for (;;)
		usleep(1000);
	return NULL;
}

static void use_threads(void)
{
	pthread_once_t control = PTHREAD_ONCE_INIT;
	pthread_t threads[4];
	void *result;

	for (long i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, thread_main, (void *)(i & 1));
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &result);
		printf("thread %s\n", (char *)result);
	}
	pthread_create(&threads[0], NULL, thread_to_cancel, NULL);
	usleep(2000);
	pthread_cancel(threads[0]);
	pthread_join(threads[0], &result);
	printf("cancelled %d\n", result == PTHREAD_CANCELED);
	pthread_once(&control, once);
	printf("once %d\n", once_count);
}

static int clone_main(void *unused)
{
	return 6;
}

static int exit_status_of(pid_t pid)
{
	int status = 0;

	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void use_processes(void)
{
	char *arguments[] = {"sh", "-c", "exit 3", NULL}, *stack = malloc(STACK_BYTES),
	     line[16] = "";
	FILE *pipe;
	pid_t pid;

	fflush(stdout);
	posix_spawn(&pid, "/bin/sh", NULL, NULL, arguments, environ);
	printf("spawn %d\n", exit_status_of(pid));
	printf("system %d\n", WEXITSTATUS(system("exit 4")));
	pipe = popen("echo popen", "r");
	printf("%s", fgets(line, sizeof(line), pipe));
	pclose(pipe);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		printf("child\n");
		exit(5);
	}
	printf("fork %d\n", exit_status_of(pid));
	fflush(stdout);
	pid = vfork();
	if (pid == 0)
		_exit(6);
	printf("vfork %d\n", exit_status_of(pid));
	printf("clone %d\n", exit_status_of(clone(clone_main, stack + STACK_BYTES, SIGCHLD, NULL)));
	free(stack);
}

static void use_loader(void)
{
	void *library = dlopen("libm.so.6", RTLD_NOW), *addresses[8];

	printf("dlsym %d %d\n", library && dlsym(library, "cos"),
	       dlsym(RTLD_NEXT, "puts") == (void *)puts);
	if (library)
		dlclose(library);
	printf("backtrace %d\n", backtrace(addresses, 8) > 0);
}

static void use_text(void)
{
	struct addrinfo *addresses;
	wchar_t wide[10];
	struct tm broken_down;
	time_t epoch = 0;
	char text[64];
	iconv_t conversion = iconv_open("UTF-16", "UTF-8");

	if (conversion != (iconv_t)-1)
		iconv_close(conversion);
	if (getaddrinfo("127.0.0.1", "80", NULL, &addresses) == 0)
		freeaddrinfo(addresses);
	setlocale(LC_ALL, "C");
	strftime(text, sizeof(text), "%F", gmtime_r(&epoch, &broken_down));
	printf("%s %zu %g %s\n", text, mbstowcs(wide, "abc", 10), strtod("1.5", NULL),
	       getenv("HOME") ? "home" : "none");
	free(realloc(malloc(10), 5000));
	free(calloc(1, 1 << 20));
}

/* What was mapped is looked at meanwhile: calls have their durations again. */
static void use_memory(void)
{
	for (int i = 0; i < 800; i++) {
		/* Else the compiler leaves out both calls. */
		void *volatile block = malloc(10);

		free(block);
		usleep(5000);
	}
}

int main(void)
{
	for (int round = 0; round < 2; round++) {
		use_callbacks();
		use_signals(0);
		use_signals(SA_ONSTACK);
		use_jumps();
		use_threads();
		use_processes();
		use_loader();
		use_text();
	}
	use_memory();
	return 7;
}
