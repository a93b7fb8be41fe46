/* SPDX-License-Identifier: GPL-2.0-or-later */
/* comes_and_goes LIBRARY: loads walks_library.c, rests below it, unloads it, again and again. */
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

typedef void call_back(void (*function)(void));

static volatile int sink;

__attribute__((noinline, noclone)) void rest(void)
{
	struct timespec time = {0, 1000000};

	nanosleep(&time, NULL);
	sink = sink + 1;
}

__attribute__((noinline, noclone)) static void opened(const char *path)
{
	void *library = dlopen(path, RTLD_LAZY);
	call_back *through = library ? (call_back *)dlsym(library, "walks_through") : NULL;

	for (int i = 0; through && i < 5; i++)
		through(rest);
	if (library)
		dlclose(library);
	sink = sink + 1;
}

int main(int count, char **arguments)
{
	if (count != 2)
		return 2;
	puts("ready");
	fflush(stdout);
	for (;;)
		opened(arguments[1]);
}
