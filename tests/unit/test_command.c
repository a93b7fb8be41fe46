/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a command line tells before it is started. */
#include "process/command.h"

#include "scratch_folder.h"

#define AMONG(...) command_program_among((char *const *)(const char *const[]){__VA_ARGS__, NULL})

TEST(a_program_among_the_words_of_a_command)
{
	char program[SCRATCH_PATH_BYTES], script[SCRATCH_PATH_BYTES], data[SCRATCH_PATH_BYTES];

	if (!shell("cp /proc/self/exe program && cp program data && chmod -x data && mkdir dir && "
		   "printf '#!/bin/sh\\n' >script && chmod +x script"))
		return;
	in_folder(program, "program");
	in_folder(script, "script");
	in_folder(data, "data");
	CHECK_STRING(AMONG("env", "A=1", program), program);
	CHECK_STRING(AMONG("nice", "-n", "5", program, "/proc/self/exe"), program);
	CHECK(!AMONG(program) && !AMONG(program, "--its-own", "") && !AMONG("env", script, data));
	CHECK(!AMONG("env", folder));
	setenv("PATH", folder, 1);
	CHECK_STRING(AMONG("env", "dir", "script", "data", "program"), "program");
	setenv("PATH", "", 1);
	CHECK(!AMONG("env", "program"));
	unsetenv("PATH");
	CHECK(!AMONG("env", "program"));
}

UNIT_MAIN()
