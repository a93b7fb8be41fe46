/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An SQLite database as an output: written into a file under a temporary name, as all outputs are
 * (base/output.h), and complete or not there at all. No journal, and no index: it is written once, in order. Its pages
 * go out as they fill, so that memory stays flat.
 */
#ifndef GPUPROBE_EXPORTERS_NSYS_DATABASE_H
#define GPUPROBE_EXPORTERS_NSYS_DATABASE_H

#include <sqlite3.h>

#include "base/err.h"
#include "base/types.h"

struct database;

/* path: of a file, no pipe and no device. It must outlive the database. */
int database_create(const char *path, struct database **ret_database, struct err *err);
/* One or more statements without results. */
int database_execute(struct database *database, const char *sql, struct err *err);
/* A statement to be bound and run often; sqlite3_finalize() before database_finish(). */
int database_prepare(struct database *database, const char *sql, sqlite3_stmt **ret_statement,
		     struct err *err);
/* Runs a bound statement that gives no rows, and makes it ready for the next one. */
int database_run(struct database *database, sqlite3_stmt *statement, struct err *err);
/* Binds a text, without what is no UTF-8: readers fail on that. Valid as long as the text. SQLITE_OK, or an error. */
int database_bind_text(sqlite3_stmt *statement, int place, const char *text);
/* Binds all values and runs it. types: one letter a value: i an s64, t a text, which may be NULL. */
int database_insert(struct database *database, sqlite3_stmt *statement, struct err *err,
		    const char *types, ...);
/* commit: gives it its name; else drops it. Frees it in every case; NULL is allowed. */
int database_finish(struct database *database, bool commit, u64 *ret_size_bytes, struct err *err);

#endif
