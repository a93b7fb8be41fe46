/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits at the bottom of chains of functions that are known exactly: static functions, a template, inlined functions, a
 * library that is loaded while it is recorded, code that the program makes itself. Compiled with frame pointers; the system
 * call stands in the functions themselves, since the C library keeps none.
 *
 *	stacks [LIBRARY]	reads a line, waits in each chain ROUNDS times, prints "done"; again for each line
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "protocol.h"

#define ROUNDS 5
#define NOT_INLINED __attribute__((noinline))
#define INLINED static inline __attribute__((always_inline))
#define NO_TAIL_CALL __asm__ volatile("")

INLINED long innermost_inlined(long ns)
{
	struct timespec time = {0, ns};
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "0"(SYS_nanosleep), "D"(&time), "S"(0L) : "rcx", "r11", "memory");
	return result;
}

INLINED long outer_inlined(long ns)
{
	return innermost_inlined(ns + 1);
}

static NOT_INLINED long wait_static()
{
	return outer_inlined(2000000);
}

namespace space {
struct Thing {
	template <int N> NOT_INLINED long wait_method(long x)
	{
		long result = wait_static();
		NO_TAIL_CALL;
		return result + x + N;
	}
};
}

extern "C" NOT_INLINED long chain_of_methods()
{
	long result = space::Thing().wait_method<7>(1);
	NO_TAIL_CALL;
	return result + 1;
}

extern "C" NOT_INLINED long chain_of_library(long (*function)(long (*)()))
{
	long result = function(wait_static);
	NO_TAIL_CALL;
	return result + 1;
}

extern "C" NOT_INLINED long chain_of_made_code(long (*function)())
{
	long result = function();
	NO_TAIL_CALL;
	return result + 1;
}

/* By the C library, which may keep no frame pointers. */
extern "C" NOT_INLINED int chain_of_libc()
{
	struct timespec time = {0, 2000000};
	int result = nanosleep(&time, nullptr);
	NO_TAIL_CALL;
	return result + 1;
}

/* push %rbp; mov %rsp,%rbp; mov $wait_static,%rax; call *%rax; pop %rbp; ret */
static long (*make_code())()
{
	static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x5d, 0xc3};
	long (*target)() = wait_static;
	unsigned char *memory = (unsigned char *)mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
						      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];

	memcpy(memory + 256, code, sizeof(code));
	memcpy(memory + 256 + 6, &target, sizeof(target));
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	if (FILE *file = fopen(path, "w")) {
		fprintf(file, "%lx 10 before\n%lx %zx LazyCompile:~made here.js:3\n", (long)memory, (long)memory + 256, sizeof(code));
		fclose(file);
	}
	return (long (*)())(memory + 256);
}

static void *thread_main(void *data)
{
	(void)data;
	for (int i = 0; i < ROUNDS; i++)
		chain_of_methods();
	return nullptr;
}

int main(int argc, char **argv)
{
	char line[16];
	pthread_t thread;

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : nullptr;
		auto function = library ? (long (*)(long (*)()))dlsym(library, "library_function") : nullptr;
		long (*made)() = make_code();

		/* Until its unwind table is read stacks end in the library. */
		if (function)
			protocol_pause(1000);
		for (int i = 0; i < ROUNDS; i++) {
			chain_of_methods();
			chain_of_libc();
			chain_of_made_code(made);
			if (function)
				chain_of_library(function);
		}
		pthread_create(&thread, nullptr, thread_main, nullptr);
		pthread_join(thread, nullptr);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
