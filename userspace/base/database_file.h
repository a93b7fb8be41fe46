/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What SQLite reads or writes a database through: an open file, which it can neither open by name nor find again, and with
 * which it looks for no journal and no log beside it. */
#ifndef GPUPROBE_BASE_DATABASE_FILE_H
#define GPUPROBE_BASE_DATABASE_FILE_H

#include <stdbool.h>

#include <sqlite3.h>

/* Zero-initialise but for fd. */
struct database_file {
	int fd; /* the caller's */
	bool read_only; /* set by database_file_open() */
	int error; /* -errno of the first read or write that failed; 0: none */
	sqlite3_vfs vfs;
	char name[40]; /* of vfs */
};

/* Opens the database; file must outlive it. To write, its fd is of an empty file, for reading and writing; read_only: nobody
 * changes it while it is open. SQLITE_OK, or an error of SQLite. ret_database is set in any case where there was
 * memory for it: sqlite3_close() it, then database_file_close(). */
int database_file_open(struct database_file *file, bool read_only, sqlite3 **ret_database);
void database_file_close(struct database_file *file);

#endif
