/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocates across what ends or copies a process, or takes code out of it, and prints what it did. Nothing is allocated unseen:
 * stdio has buffers of its own.
 *
 *	allocations_odd execute		allocates, executes itself, allocates
 *	allocations_odd fork		a child frees what its parent has allocated, and allocates
 *	allocations_odd thread_execute	the same as execute, by a thread that is not the first
 *	allocations_odd library FILE	a library is mapped, allocates, and is unmapped, at once
 *	allocations_odd allocator FILE	the library is an allocator (malloc and free with the prefix je_) that is there from the start, and unmapped
 */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "protocol.h"

static char input[4096], output[4096];
static void *volatile kept[64];
static size_t kept_count;

PROBED void keep(int count, size_t bytes)
{
	for (int i = 0; i < count; i++)
		kept[kept_count++] = malloc(bytes);
}

PROBED void release(int count)
{
	for (int i = 0; i < count; i++)
		free(kept[--kept_count]);
}

static void execute(const char *name)
{
	char *arguments[] = {(char *)name, "executed", NULL};

	keep(5, 200);
	release(1);
	execv("/proc/self/exe", arguments);
}

static void *execute_in_thread(void *name)
{
	execute(name);
	return NULL;
}

/* In an image that has begun inside the window. */
static void executed(void)
{
	keep(7, 300);
	release(2);
	protocol_end();
}

static void by_fork(void)
{
	pid_t child;

	keep(3, 100);
	child = fork();
	if (!child) {
		release(3);
		keep(4, 50);
		release(1);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	release(2);
	protocol_count("child", (unsigned long)child);
	protocol_end();
}

/* What dlopen() allocates and dlclose() frees is the loader's; counted is what the library does. */
static void by_library(const char *file)
{
	for (int i = 0; i < 5; i++) {
		void *library = dlopen(file, RTLD_NOW);
		void *(*allocate)(void) =
			library ? (void *(*)(void))dlsym(library, "library_allocate") : NULL;

		if (!allocate)
			exit(3);
		kept[kept_count++] = allocate();
		dlclose(library);
	}
	protocol_end();
}

static void by_allocator(void *library)
{
	void *(*allocate)(size_t) = (void *(*)(size_t))dlsym(library, "je_malloc");
	void (*give_back)(void *) = (void (*)(void *))dlsym(library, "je_free");
	void *blocks[3];

	if (!allocate || !give_back)
		exit(3);
	for (int i = 0; i < 3; i++)
		blocks[i] = allocate(1000);
	give_back(blocks[0]);
	dlclose(library);
	keep(2, 100);
	protocol_end();
}

int main(int count, char **arguments)
{
	const char *what = count > 1 ? arguments[1] : "";
	void *library = !strcmp(what, "allocator") ? dlopen(arguments[2], RTLD_NOW) : NULL;
	pthread_t thread;

	setvbuf(stdin, input, _IOFBF, sizeof(input));
	setvbuf(stdout, output, _IOFBF, sizeof(output));
	if (!strcmp(what, "executed")) {
		executed();
		return 0;
	}
	protocol_begin();
	if (!strcmp(what, "fork"))
		by_fork();
	else if (!strcmp(what, "library"))
		by_library(arguments[2]);
	else if (!strcmp(what, "allocator"))
		by_allocator(library);
	else if (!strcmp(what, "execute"))
		execute(arguments[0]);
	else if (!pthread_create(&thread, NULL, execute_in_thread, arguments[0]))
		pause();
	return 0;
}
