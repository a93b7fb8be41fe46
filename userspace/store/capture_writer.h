/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a capture (.gpr): a file header, the table of kinds, then append-only blocks of sorted records,
 * each with length, checksum, first and last time, so that whatever was written is readable after a kill
 * at any instant; an end block with the index marks a complete recording. The layout is described in
 * capture_format.h. Not thread-safe: one thread owns it.
 */
#ifndef GPUPROBE_STORE_CAPTURE_WRITER_H
#define GPUPROBE_STORE_CAPTURE_WRITER_H

#include "base/err.h"
#include "store/batch.h"

struct capture_writer;

/* fd: an empty file, open for reading and writing; stays the caller's. */
int capture_writer_create(int fd, struct capture_writer **ret_writer, struct err *err);
/* Sorts the batch and appends its facts and its events as blocks; on return they are with the kernel
 * (write(2), no fsync). On failure (disk full) the file is cut back to its last whole block and the writer
 * refuses further writes. */
int capture_writer_append(struct capture_writer *writer, struct batch *batch, struct err *err);
/* Writes the end block. Without it readers say that the recording was cut. */
int capture_writer_finish(struct capture_writer *writer, struct err *err);
/* NULL is allowed; returns NULL. Does not close the fd. */
struct capture_writer *capture_writer_free(struct capture_writer *writer);

#endif
