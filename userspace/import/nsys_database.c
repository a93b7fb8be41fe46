/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "import/nsys_database.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/stop.h"

/* One name, or the values of one row, that are longer are not believed. */
#define LENGTH_MAX_BYTES (64 << 20)
/* Operations of SQLite between two looks at the stop flag. */
#define OPERATIONS_BETWEEN_LOOKS 100000

/* The file's own reason where it is one. */
static int database_failed(struct nsys_database *database, const char *table, struct err *err)
{
	int code = database->handle ? sqlite3_errcode(database->handle) : SQLITE_NOMEM;
	const char *space = *table ? " " : "";

	if (database->file.error)
		return err_errno(err, database->file.error, "reading");
	if (code == SQLITE_NOMEM)
		return err_errno(err, -ENOMEM, "reading");
	if (code == SQLITE_INTERRUPT)
		return err_set(err, -EINTR, "interrupted");
	if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_IOERR)
		return err_set(
			err, -EINVAL,
			"the database%s%s is damaged, or a part of it is missing (SQLite: %s)",
			*table ? " in table " : "", table, sqlite3_errmsg(database->handle));
	return err_set(err, -EINVAL, "%s%s%s%sSQLite says: %s", *table ? "table" : "", space,
		       *table ? table : "", *table ? ": " : "", sqlite3_errmsg(database->handle));
}

/* ---- what lies beside it ---- */

/* Has a file named as the one that fd is open for, with ending behind it, at least bytes, that begin with magic? */
static bool is_beside(int fd, const char *ending, size_t bytes, const void *magic,
		      size_t magic_bytes)
{
	char link[32], path[PATH_MAX + 16], start[64];
	_cleanup_close_ int beside = -1;
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, PATH_MAX);
	if (length <= 0 || length >= PATH_MAX)
		return false;
	snprintf(path + length, sizeof(path) - length, "%s", ending);
	beside = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
	if (beside < 0 || lseek(beside, 0, SEEK_END) < (off_t)bytes)
		return false;
	return pread(beside, start, magic_bytes, 0) == (ssize_t)magic_bytes &&
	       memcmp(start, magic, magic_bytes) == 0;
}

/* Header of a log, and of its first page; a journal's is wiped when it holds nothing any more. */
static int check_beside(int fd, struct err *err)
{
	static const u8 log_magic[] = {0x37, 0x7f, 0x06};
	static const u8 journal_magic[] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};

	if (is_beside(fd, "-wal", 32 + 24, log_magic, sizeof(log_magic)))
		return err_set(err, -EINVAL,
			       "a part of it is in the -wal file beside it, since a program has it "
			       "open or did not close it. Close that program, or merge them: "
			       "sqlite3 FILE 'PRAGMA wal_checkpoint(TRUNCATE)'");
	if (is_beside(fd, "-journal", 28, journal_magic, sizeof(journal_magic)))
		return err_set(
			err, -EINVAL,
			"the -journal file beside it says that it was not written to its end. "
			"Make the export again, or have SQLite put it back to what it was "
			"before: sqlite3 FILE 'SELECT 1 FROM sqlite_master'");
	return 0;
}

/* ---- opening ---- */

static int look_for_stop(void *data)
{
	return stop_requested();
}

/* The schema of a foreign file may hold expressions: they may not do much. */
static const char settings[] = "PRAGMA query_only=ON; PRAGMA cell_size_check=ON;"
			       "PRAGMA temp_store=MEMORY; PRAGMA cache_size=-8192;";

int nsys_database_open(int fd, struct nsys_database *database, struct err *err)
{
	int result = check_beside(fd, err);

	if (result < 0)
		return result;
	database->file.fd = fd;
	if (database_file_open(&database->file, true, &database->handle) != SQLITE_OK)
		return database_failed(database, "", err);
	sqlite3_db_config(database->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(database->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_limit(database->handle, SQLITE_LIMIT_LENGTH, LENGTH_MAX_BYTES);
	sqlite3_progress_handler(database->handle, OPERATIONS_BETWEEN_LOOKS, look_for_stop, NULL);
	/* The last one reads its first page. */
	if (sqlite3_exec(database->handle, settings, NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_exec(database->handle, "SELECT count(*) FROM sqlite_master;", NULL, NULL,
			 NULL) != SQLITE_OK)
		return database_failed(database, "", err);
	return 0;
}

void nsys_database_close(struct nsys_database *database)
{
	sqlite3_close(database->handle);
	if (database->file.vfs.zName)
		database_file_close(&database->file);
}

/* ---- what is in it ---- */

bool nsys_database_has_table(const struct nsys_database *database, const char *table)
{
	sqlite3_stmt *statement = NULL;
	bool has = sqlite3_prepare_v2(database->handle,
				      "SELECT 1 FROM sqlite_master WHERE type = 'table' AND "
				      "rootpage > 0 AND name = ?1 COLLATE NOCASE;",
				      -1, &statement, NULL) == SQLITE_OK &&
		   sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC) == SQLITE_OK &&
		   sqlite3_step(statement) == SQLITE_ROW;

	sqlite3_finalize(statement);
	return has;
}

bool nsys_database_has_rows(const struct nsys_database *database, const char *table)
{
	sqlite3_stmt *statement = NULL;
	bool has_rows = false;
	char sql[128];

	snprintf(sql, sizeof(sql), "SELECT 1 FROM \"%s\" LIMIT 1;", table);
	if (sqlite3_prepare_v2(database->handle, sql, -1, &statement, NULL) == SQLITE_OK)
		has_rows = sqlite3_step(statement) == SQLITE_ROW;
	sqlite3_finalize(statement);
	return has_rows;
}

bool nsys_database_has_column(const struct nsys_database *database, const char *table,
			      const char *column)
{
	return sqlite3_table_column_metadata(database->handle, "main", table, column, NULL, NULL,
					     NULL, NULL, NULL) == SQLITE_OK;
}

int nsys_database_prepare(struct nsys_database *database, const char *sql,
			  sqlite3_stmt **ret_statement, struct err *err)
{
	sqlite3_stmt *statement = NULL;

	if (sqlite3_prepare_v3(database->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement,
			       NULL) != SQLITE_OK)
		return database_failed(database, "", err);
	*ret_statement = statement;
	return 0;
}

int nsys_database_step(struct nsys_database *database, sqlite3_stmt *statement, const char *table,
		       struct err *err)
{
	int stepped = sqlite3_step(statement);

	if (stepped == SQLITE_ROW)
		return 1;
	if (stepped != SQLITE_DONE)
		return database_failed(database, table, err);
	sqlite3_reset(statement);
	return 0;
}
