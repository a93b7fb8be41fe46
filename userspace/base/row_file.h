/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of one size that are appended, and then read in any order: as many as memory_bytes holds stay in memory, the others go to a
 * file without a name (base/temporary_file.h).
 */
#ifndef GPUPROBE_BASE_ROW_FILE_H
#define GPUPROBE_BASE_ROW_FILE_H

#include "base/err.h"
#include "base/types.h"

struct row_file {
	size_t row_bytes;
	u8 *rows; /* the last ones */
	size_t count, capacity;
	u64 written; /* rows of the file, which come before them */
	int fd;	     /* -1: there is no file */
};

int row_file_open(struct row_file *file, size_t row_bytes, size_t memory_bytes, struct err *err);
/* row: row_bytes. Rows are numbered from 0. */
int row_file_append(struct row_file *file, const void *row, struct err *err);
int row_file_read(const struct row_file *file, u64 number, void *ret_row, struct err *err);
/* Also of one that is zeroed. */
void row_file_close(struct row_file *file);

#endif
