/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two libraries of Python in one process, each with an interpreter of its own (RTLD_LOCAL).
 *
 *	python_twice HOW HOME LIBPYTHON CODE HOME LIBPYTHON CODE
 *
 * Says "ready"; for each line of stdin runs both codes, one behind the other, and says "done". HOW:
 *	apart	each in a thread of its own, in which it began, before "ready"
 *	later	so too, but the second one is loaded and begins behind the first line
 *	within	both in one thread: other() in the first code runs the second one
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* PyMethodDef. */
struct method {
	const char *name;
	void *(*function)(void *, void *);
	int flags;
	const char *documentation;
};
#define WITHOUT_ARGUMENTS 4

struct python {
	const char *home, *path, *code;
	void *library;
	int (*run)(const char *);
	sem_t go, done;
	pthread_t thread;
};

static struct python pythons[2];

static void *symbol(void *library, const char *name)
{
	void *address = dlsym(library, name);

	if (!address) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return address;
}

static void load(struct python *python)
{
	void (*begin)(int);

	python->library = dlopen(python->path, RTLD_NOW | RTLD_LOCAL);
	if (!python->library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	python->run = symbol(python->library, "PyRun_SimpleString");
	begin = symbol(python->library, "Py_InitializeEx");
	setenv("PYTHONHOME", python->home, 1);
	begin(0);
}

/* One cycle a post: what was loaded runs. */
static void *work(void *data)
{
	struct python *python = data;

	for (;;) {
		sem_wait(&python->go);
		if (!python->library)
			load(python);
		else if (python->run(python->code))
			exit(1);
		sem_post(&python->done);
	}
	return NULL;
}

static void turn(struct python *python)
{
	sem_post(&python->go);
	sem_wait(&python->done);
}

static void *run_other(void *self, void *arguments)
{
	void *library = pythons[0].library, *none = symbol(library, "_Py_NoneStruct");
	void (*hold)(void *) = symbol(library, "Py_IncRef");

	(void)self, (void)arguments;
	if (pythons[1].run(pythons[1].code))
		exit(1);
	hold(none);
	return none;
}

static void offer_other(void)
{
	static struct method other = {"other", run_other, WITHOUT_ARGUMENTS, NULL};
	void *library = pythons[0].library;
	void *(*module)(const char *) = symbol(library, "PyImport_AddModule");
	void *(*function)(struct method *, void *, void *) = symbol(library, "PyCFunction_NewEx");
	int (*set)(void *, const char *, void *) = symbol(library, "PyObject_SetAttrString");

	if (set(module("__main__"), "other", function(&other, NULL, NULL)))
		exit(1);
}

int main(int argc, char **argv)
{
	bool within = argc == 8 && !strcmp(argv[1], "within");
	bool later = argc == 8 && !strcmp(argv[1], "later");
	char line[64];

	if (argc != 8)
		return 1;
	for (int i = 0; i < 2; i++) {
		pythons[i].home = argv[2 + 3 * i];
		pythons[i].path = argv[3 + 3 * i];
		pythons[i].code = argv[4 + 3 * i];
		sem_init(&pythons[i].go, 0, 0);
		sem_init(&pythons[i].done, 0, 0);
		if (within)
			load(&pythons[i]);
		else
			pthread_create(&pythons[i].thread, NULL, work, &pythons[i]);
		if (!within && !(later && i))
			turn(&pythons[i]);
	}
	if (within)
		offer_other();
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (within) {
			if (pythons[0].run(pythons[0].code))
				return 1;
		} else {
			turn(&pythons[0]);
			if (later && !pythons[1].library)
				turn(&pythons[1]);
			turn(&pythons[1]);
		}
		puts("done");
		fflush(stdout);
	}
	return 0;
}
