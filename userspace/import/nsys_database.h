/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A foreign SQLite file, read only: opened, asked for tables and columns, stepped through. Only for import/nsys*.c. */
#ifndef GPUPROBE_IMPORT_NSYS_DATABASE_H
#define GPUPROBE_IMPORT_NSYS_DATABASE_H

#include <sqlite3.h>

#include "base/database_file.h"
#include "base/err.h"

struct nsys_database {
	struct database_file file;
	sqlite3 *handle;
};

/* -EINVAL: what is wrong with it, also where a log or journal beside it holds a part of it. database must stay where it
 * is; nsys_database_close() in any case. */
int nsys_database_open(int fd, struct nsys_database *database, struct err *err);
void nsys_database_close(struct nsys_database *database);

/* Tables, not views: those compute what the file's maker likes. */
bool nsys_database_has_table(const struct nsys_database *database, const char *table);
bool nsys_database_has_rows(const struct nsys_database *database, const char *table);
bool nsys_database_has_column(const struct nsys_database *database, const char *table,
			      const char *column);
/* sqlite3_finalize() before closing. */
int nsys_database_prepare(struct nsys_database *database, const char *sql,
			  sqlite3_stmt **ret_statement, struct err *err);
/* 1: a row; 0: there are no more; -errno. table: for the message. */
int nsys_database_step(struct nsys_database *database, sqlite3_stmt *statement, const char *table,
		       struct err *err);

#endif
