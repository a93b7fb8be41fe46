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
/* Ends one that was not released. */
void command_abandon(struct command *command);

#endif
