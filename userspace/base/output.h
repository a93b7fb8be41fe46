/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An output file that either appears whole under its name or not at all. It is written under a temporary
 * name beside it (O_EXCL, no link followed), and renamed by output_commit(). It belongs to the user
 * behind sudo (SUDO_UID, SUDO_GID) and has mode 0644. No component of the path that is a symbolic link in
 * a world-writable folder is ever followed. An existing FIFO or character device (/dev/null, /dev/stdout
 * as "-") is written in place.
 */
#ifndef GPUPROBE_BASE_OUTPUT_H
#define GPUPROBE_BASE_OUTPUT_H

#include <limits.h>

#include "base/err.h"
#include "base/types.h"

#define OUTPUT_TEMPORARY_BYTES 40

enum output_compression { OUTPUT_PLAIN, OUTPUT_GZIP };

struct output;

/* Is the folder there and writable, is the path no folder? To be asked before anything costly starts. */
int output_check(const char *path, struct err *err);
/* path "-" is standard output. */
int output_create(const char *path, enum output_compression compression, struct output **ret_output,
		  struct err *err);
/* Buffered; an error is kept, all further writes return it, and output_commit reports it. */
int output_write(struct output *output, const void *data, size_t size_bytes);
/* Flushes, checks every error up to close(), renames. Frees output in every case; on failure nothing is
 * left behind. err names the path and the reason ("no space left on the device"). */
int output_commit(struct output *output, struct err *err);
/* Drops it. NULL is allowed; always returns NULL. */
struct output *output_discard(struct output *output);

/* Is path a file, or can one be made there? Not standard output, a descriptor, a pipe or a device. */
bool output_is_file(const char *path);

/* The same care for a file that stays open for long and is of use before its end: a capture. */
struct output_file {
	int fd; /* read and write; -1: none */
	int folder;
	bool published;
	char name[NAME_MAX + 1], temporary[OUTPUT_TEMPORARY_BYTES]; /* in folder */
};

/* replace: what was at path stays as it is until output_file_publish(); else -EEXIST when there is something,
 * and the name is ours from now on. */
int output_file_open(const char *path, bool replace, struct output_file *ret_file, struct err *err);
/* Gives it its name. After a failure it goes on under its temporary one. */
int output_file_publish(struct output_file *file, struct err *err);
/* Removes what has not been published. An fd of -1 is allowed. */
void output_file_close(struct output_file *file);

/* Makes fd belong to the user behind sudo, if there is one. Best effort. */
void output_chown_to_user(int fd);

#endif
