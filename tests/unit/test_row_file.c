/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/row_file.h"
#include "unit.h"

#define ROWS 10

struct row {
	u64 number, square;
	u32 more;
};

/* The same whether they are in memory, in the file, or on either side of what was written. */
static void check_rows(size_t memory_rows)
{
	struct row_file file = {0};
	struct err err = {0};

	CHECK_OK(row_file_open(&file, sizeof(struct row), memory_rows * sizeof(struct row), &err),
		 err);
	for (u64 i = 0; i < ROWS; i++)
		CHECK_OK(row_file_append(&file,
					 &(struct row){.number = i, .square = i * i, .more = 7},
					 &err),
			 err);
	CHECK((file.fd >= 0) == (memory_rows < ROWS));
	for (u64 i = 0; i < ROWS; i++) {
		u64 number = i * 3 % ROWS;
		struct row row;

		CHECK_OK(row_file_read(&file, number, &row, &err), err);
		CHECK(row.number == number && row.square == number * number && row.more == 7);
	}
	row_file_close(&file);
}

TEST(rows_are_read_in_any_order)
{
	for (size_t memory_rows = 0; memory_rows <= ROWS + 1; memory_rows++)
		check_rows(memory_rows);
}

TEST(what_was_not_opened_can_be_closed)
{
	struct row_file file = {0};

	row_file_close(&file);
	CHECK(file.fd == -1);
}

UNIT_MAIN()
