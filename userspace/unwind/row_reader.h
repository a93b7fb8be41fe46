/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the unwind tables of files in another process: what they say of their code was written by strangers, and is understood as nobody,
 * without capabilities, in so much memory. It gets the file and one to write the table into; what comes back is checked.
 */
#ifndef GPUPROBE_UNWIND_ROW_READER_H
#define GPUPROBE_UNWIND_ROW_READER_H

#include "elf/elf_unwind_rows.h"

struct row_reader;

/* Forks: other threads should do nothing of note then. Stopped by row_reader_stop(). */
int row_reader_start(struct row_reader **ret_reader, struct err *err);
/* As elf_unwind_rows_read(), of the file that is open as fd; by one thread at a time. -EIO: the process died of it, or took longer than
 * it may (another one reads the next file, up to a few times); -EINVAL: what it gave is no table; -ECANCELED. Blocks for seconds at most. */
int row_reader_rows(struct row_reader *reader, int fd, const char *path,
		    struct elf_unwind_rows *ret_rows, struct err *err);
/* What is read at the moment, and all after it, is -ECANCELED; by any thread, does not block. */
void row_reader_interrupt(struct row_reader *reader);
struct row_reader *row_reader_stop(struct row_reader *reader);

#endif
