/*
 * An output file that either appears whole under its name or not at all. It is written under a temporary
 * name beside it (O_EXCL, no link followed), and renamed by output_commit(). It belongs to the user
 * behind sudo (SUDO_UID, SUDO_GID) and has mode 0644. No component of the path that is a symbolic link in
 * a world-writable folder is ever followed. An existing FIFO or character device (/dev/null, /dev/stdout
 * as "-") is written in place.
 */
#ifndef GPUPROBE_BASE_OUTPUT_H
#define GPUPROBE_BASE_OUTPUT_H

#include "base/err.h"
#include "base/types.h"

enum output_compression { OUTPUT_PLAIN, OUTPUT_GZIP };

struct output;

/* Is the folder there and writable, is the path no folder? To be asked before anything costly starts. */
int output_check(const char *path, struct err *err);
/* path "-" is standard output. */
int output_create(const char *path, enum output_compression compression, struct output **ret_output,
		  struct err *err);
/* Buffered; an error is kept, all further writes return it, and output_commit reports it. */
int output_write(struct output *output, const void *data, size_t size_bytes);
/* Bytes that reached the file so far (after compression, without what is still buffered). */
u64 output_size_bytes(const struct output *output);
/* Flushes, checks every error up to close(), renames. Frees output in every case; on failure nothing is
 * left behind. err names the path and the reason ("no space left on the device"). */
int output_commit(struct output *output, struct err *err);
/* Drops it. NULL is allowed; always returns NULL. */
struct output *output_discard(struct output *output);

/* The same care for files that stay open for long (captures): opens path.tmp-like O_EXCL file that is
 * renamed at once, i.e. a new file at path, replacing what was there; returns the fd (read/write). */
int output_open_fd(const char *path, int *ret_fd, struct err *err);

/* Makes fd belong to the user behind sudo, if there is one. Best effort. */
void output_chown_to_user(int fd);

#endif
