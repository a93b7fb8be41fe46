/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maps code in more pieces than anybody expects: pieces LIBRARY COUNT maps the code of pieces_library.c so many times, and rests below the
 * first and the last of them, and below none. It prints a line when it has rested for a while; a line on stdin makes it execute itself.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef long call_back(void (*function)(void));

/* Until what is new is noticed. */
#define NOTICED 60

static volatile int sink;

struct code {
	ElfW(Addr) address;  /* of what is looked for */
	size_t begin, bytes; /* of its segment, in the file */
	size_t inside;	     /* of the segment */
};

static int find_code(struct dl_phdr_info *info, size_t size, void *data)
{
	struct code *code = data;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		size_t inside = code->address - info->dlpi_addr - segment->p_vaddr;

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) ||
		    inside >= segment->p_memsz)
			continue;
		code->begin = segment->p_offset;
		code->bytes = segment->p_filesz;
		code->inside = inside;
		return 1;
	}
	return 0;
}

__attribute__((noinline, noclone)) void rest(void)
{
	struct timespec time = {0, 2000000};

	nanosleep(&time, NULL);
	sink = sink + 1;
}

__attribute__((noinline, noclone)) static void below_none(void)
{
	rest();
	sink = sink + 1;
}

__attribute__((noinline, noclone)) static void below_first(call_back *piece)
{
	sink = sink + (int)piece(rest);
}

__attribute__((noinline, noclone)) static void below_last(call_back *piece)
{
	sink = sink + (int)piece(rest);
}

int main(int count, char **arguments)
{
	void *library = dlopen(arguments[1], RTLD_NOW);
	int pieces = atoi(arguments[2]), file = open(arguments[1], O_RDONLY | O_CLOEXEC);
	struct code code = {(ElfW(Addr))dlsym(library, "piece"), 0, 0, 0};
	call_back *first = NULL, *last = NULL;
	struct pollfd input = {STDIN_FILENO, POLLIN, 0};
	char line[64];

	if (count != 3 || !code.address || !dl_iterate_phdr(find_code, &code))
		return 2;
	for (int i = 0; i < pieces; i++) {
		char *piece = mmap(NULL, code.bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, file,
				   (off_t)code.begin);

		if (piece == MAP_FAILED)
			return 3;
		last = (call_back *)(piece + code.inside);
		first = first ? first : last;
	}
	for (int i = 0; !poll(&input, 1, 0); i++) {
		if (i == NOTICED)
			puts("ready");
		fflush(stdout);
		below_none();
		below_first(first);
		below_last(last);
	}
	if (read(STDIN_FILENO, line, sizeof(line)) > 0)
		execv("/proc/self/exe", arguments);
	return 0;
}
