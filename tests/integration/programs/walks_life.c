/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What happens to the code of a process while it is recorded: walks_life LIBRARY, then a word a line on stdin, each answered by "done":
 * open (loads the library, and rests below a function of it), bind (rests while the loader binds a call of it), fork (a child rests),
 * exec (the program executes itself).
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Until what is new is noticed, on a busy machine too. */
#define NOTICED 100

static volatile int sink;

__attribute__((noinline, noclone)) void rest(void)
{
	struct timespec time = {0, 20000000};

	nanosleep(&time, NULL);
	sink = sink + 1;
}

typedef void call_back(void (*function)(void));
typedef int bind(void);

__attribute__((noinline, noclone)) static void opened(void *library, const char *name)
{
	call_back *through = (call_back *)dlsym(library, name);

	for (int i = 0; i < NOTICED; i++)
		through(rest);
	sink = sink + 1;
}

__attribute__((noinline, noclone)) static void bound(void *library)
{
	bind *first_call = (bind *)dlsym(library, "walks_bind");

	sink = sink + first_call();
}

__attribute__((noinline, noclone)) static void forked(void)
{
	pid_t pid = fork();

	if (!pid) {
		for (int i = 0; i < 20; i++)
			rest();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	sink = sink + 1;
}

__attribute__((noinline, noclone)) static void executed(void)
{
	for (int i = 0; i < NOTICED; i++)
		rest();
	sink = sink + 1;
}

int main(int count, char **arguments)
{
	void *library = NULL;
	char word[64];

	if (count > 2)
		executed();
	puts(count > 2 ? "done" : "ready");
	fflush(stdout);
	while (fgets(word, sizeof(word), stdin)) {
		if (!library)
			library = dlopen(arguments[1], RTLD_LAZY);
		if (!strcmp(word, "open\n"))
			opened(library, "walks_through");
		if (!strcmp(word, "bind\n"))
			bound(library);
		if (!strcmp(word, "fork\n"))
			forked();
		if (!strcmp(word, "exec\n"))
			execl("/proc/self/exe", arguments[0], arguments[1], "again", NULL);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
