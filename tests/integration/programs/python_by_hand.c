/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An interpreter of Python that the program loads for itself alone (RTLD_LOCAL); with LINKED one that is linked into it, and LIBPYTHON is not
 * looked at.
 *
 *	python_by_hand LIBPYTHON main ARGUMENT...	is Python with these arguments
 *	python_by_hand LIBPYTHON turns NOTES CODE	says "ready"; for each line of stdin runs the code, ends the interpreter, calls getppid() without
 *							one, which it notes as a line "[]" in the file, begins a new one, and says "done"
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef LINKED
int Py_BytesMain(int, char **);
void Py_InitializeEx(int);
int Py_FinalizeEx(void);
int PyRun_SimpleString(const char *);
#define FUNCTION(library, name) name
#else
#define FUNCTION(library, name) symbol(library, #name)

static void *symbol(void *library, const char *name)
{
	void *address = dlsym(library, name);

	if (!address) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return address;
}
#endif

static void without(const char *notes)
{
	for (int i = 0; i < 3; i++) {
		FILE *file = fopen(notes, "a");

		fputs("[]\n", file);
		fclose(file);
		getppid();
	}
}

int main(int argc, char **argv)
{
#ifdef LINKED
	void *library = argc > 3 ? argv : NULL;
#else
	void *library = argc > 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
#endif
	void (*begin)(int);
	int (*end)(void), (*run)(const char *), (*python)(int, char **);
	char line[64];

	if (!library) {
		fprintf(stderr, "%s\n", argc > 3 ? dlerror() : "usage");
		return 1;
	}
	python = FUNCTION(library, Py_BytesMain);
	begin = FUNCTION(library, Py_InitializeEx);
	end = FUNCTION(library, Py_FinalizeEx);
	run = FUNCTION(library, PyRun_SimpleString);
	if (!strcmp(argv[2], "main")) {
		argv[2] = argv[0];
		return python(argc - 2, argv + 2);
	}
	begin(0);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		run(argv[4]);
		end();
		without(argv[3]);
		begin(0);
		puts("done");
		fflush(stdout);
	}
	end();
	return 0;
}
