/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/row_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/temporary_file.h"

int row_file_open(struct row_file *file, size_t row_bytes, size_t memory_bytes, struct err *err)
{
	size_t capacity = memory_bytes / row_bytes ? memory_bytes / row_bytes : 1;
	u8 *rows = reallocarray(NULL, capacity, row_bytes);

	if (!rows)
		return err_errno(err, -ENOMEM, "can't keep rows in %zu bytes of memory",
				 memory_bytes);
	*file = (struct row_file){
		.row_bytes = row_bytes, .rows = rows, .capacity = capacity, .fd = -1};
	return 0;
}

static int write_rows(struct row_file *file, struct err *err)
{
	int result = 0;

	if (file->fd < 0)
		result = temporary_file_open(&file->fd, err);
	if (result < 0)
		return result;
	result = file_write_at(file->fd, file->rows, file->count * file->row_bytes,
			       file->written * file->row_bytes);
	if (result < 0)
		return err_errno(
			err, result,
			"can't keep rows: writing a temporary file (set TMPDIR to a folder "
			"with space)");
	file->written += file->count;
	file->count = 0;
	return 0;
}

int row_file_append(struct row_file *file, const void *row, struct err *err)
{
	if (file->count == file->capacity) {
		int result = write_rows(file, err);

		if (result < 0)
			return result;
	}
	memcpy(file->rows + file->count++ * file->row_bytes, row, file->row_bytes);
	return 0;
}

int row_file_read(const struct row_file *file, u64 number, void *ret_row, struct err *err)
{
	ssize_t got;

	if (number >= file->written) {
		memcpy(ret_row, file->rows + (number - file->written) * file->row_bytes,
		       file->row_bytes);
		return 0;
	}
	got = pread(file->fd, ret_row, file->row_bytes, (off_t)(number * file->row_bytes));
	if (got == (ssize_t)file->row_bytes)
		return 0;
	return err_errno(err, got < 0 ? -errno : -EIO, "can't read a temporary file");
}

void row_file_close(struct row_file *file)
{
	if (file->rows && file->fd >= 0)
		close(file->fd);
	free(file->rows);
	*file = (struct row_file){.fd = -1};
}
