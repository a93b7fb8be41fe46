/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that gpuprobe starts itself (-- COMMAND): stopped at its entry point, when the dynamic linker
 * has mapped its libraries, so that probes can be put in before it runs. It runs as the user behind sudo.
 */
#ifndef GPUPROBE_PROCESS_COMMAND_H
#define GPUPROBE_PROCESS_COMMAND_H

#include <sys/types.h>

#include "base/err.h"

struct command {
	pid_t pid; /* 0: none */
};

/* in_child, which may be NULL, is called in the child, before it becomes the user's and another program.
 * Messages name the program and why it could not be started. Blocks until it stands at its entry point
 * (constructors of its libraries have run). */
int command_start(char *const *arguments, void (*in_child)(void *data), void *data,
		  struct command *ret_command, struct err *err);
/* Lets it run, untraced. */
int command_release(struct command *command, struct err *err);
/* Waits for its end; its exit status as a shell shows it (128 + signal). -errno on failure. */
int command_wait(struct command *command);
/* The first word behind the program that is the name of a program (ELF) too, a path or one that PATH leads to: what
 * "env A=1 ./p" may execute. NULL: none. Opens files. */
const char *command_program_among(char *const *arguments);
/* Ends one that was not released. */
void command_abandon(struct command *command);

#endif
