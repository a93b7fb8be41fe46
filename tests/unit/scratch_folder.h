/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A folder of the test program's own, for what it builds; it is there before the first test, and goes with the program. */
#ifndef GPUPROBE_TESTS_SCRATCH_FOLDER_H
#define GPUPROBE_TESTS_SCRATCH_FOLDER_H

#include <stdarg.h>
#include <stdbool.h>

#include "unit.h"

#define SCRATCH_PATH_BYTES 256

static char folder[] = "/tmp/gpuprobe-test-XXXXXX";

/* to: of SCRATCH_PATH_BYTES. Returns it. */
static inline char *in_folder(char *to, const char *name)
{
	snprintf(to, SCRATCH_PATH_BYTES, "%s/%s", folder, name);
	return to;
}

static inline void write_file(const char *name, const char *content)
{
	char path[SCRATCH_PATH_BYTES];
	FILE *file = fopen(in_folder(path, name), "w");

	if (!file)
		abort();
	fputs(content, file);
	fclose(file);
}

/* Runs commands in the folder, with what they print in its file "log". False: they failed, and with them the test. */
__attribute__((format(printf, 1, 2))) static inline bool shell(const char *format, ...)
{
	char command[4096], whole[8192];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	snprintf(whole, sizeof(whole), "cd %s && { %s; } >log 2>&1", folder, command);
	if (system(whole) == 0)
		return true;
	UNIT_FAIL("failed: %s", command);
	return false;
}

static inline void remove_folder(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	if (system(command))
		perror(folder);
}

__attribute__((constructor)) static inline void make_folder(void)
{
	if (!mkdtemp(folder))
		abort();
	atexit(remove_folder);
}

#endif
