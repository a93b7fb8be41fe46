/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/nsys/database.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/database_file.h"
#include "base/output.h"
#include "base/text.h"

struct database {
	const char *path;
	struct output_file output;
	struct database_file file;
	sqlite3 *handle;
};

/* The file's own reason where it is one. */
static int database_failed(const struct database *database, struct err *err)
{
	if (database->file.error)
		return err_errno(err, database->file.error, "can't write %s", database->path);
	return err_set(err, -EIO, "can't write %s: SQLite says: %s", database->path,
		       database->handle ? sqlite3_errmsg(database->handle) : "no memory");
}

int database_execute(struct database *database, const char *sql, struct err *err)
{
	if (sqlite3_exec(database->handle, sql, NULL, NULL, NULL) != SQLITE_OK)
		return database_failed(database, err);
	return 0;
}

int database_prepare(struct database *database, const char *sql, sqlite3_stmt **ret_statement,
		     struct err *err)
{
	sqlite3_stmt *statement = NULL;

	if (sqlite3_prepare_v3(database->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement,
			       NULL) != SQLITE_OK)
		return database_failed(database, err);
	*ret_statement = statement;
	return 0;
}

int database_run(struct database *database, sqlite3_stmt *statement, struct err *err)
{
	int stepped = sqlite3_step(statement);

	sqlite3_reset(statement);
	return stepped == SQLITE_DONE ? 0 : database_failed(database, err);
}

int database_bind_text(sqlite3_stmt *statement, int place, const char *text)
{
	struct text scratch _cleanup_text_ = {0};
	const char *valid = text ? text_utf8(text, &scratch) : NULL;

	if (scratch.failed)
		return SQLITE_NOMEM;
	return sqlite3_bind_text(statement, place, valid, -1,
				 valid == text ? SQLITE_STATIC : SQLITE_TRANSIENT);
}

int database_insert(struct database *database, sqlite3_stmt *statement, struct err *err,
		    const char *types, ...)
{
	va_list values;
	int bound = SQLITE_OK;

	va_start(values, types);
	for (int i = 0; types[i] && bound == SQLITE_OK; i++)
		bound = types[i] == 'i' ? sqlite3_bind_int64(statement, i + 1, va_arg(values, s64))
					: database_bind_text(statement, i + 1,
							     va_arg(values, const char *));
	va_end(values);
	if (bound != SQLITE_OK)
		return err_errno(err, -ENOMEM, "can't write %s", database->path);
	return database_run(database, statement, err);
}

/* What readers that open it without looking for locks and journals want. Written in one go: nothing of it is worth
 * keeping when that fails. */
static const char database_settings[] = "PRAGMA page_size=4096; PRAGMA journal_mode=OFF;"
					"PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;"
					"PRAGMA temp_store=MEMORY; PRAGMA cache_size=-16384;"
					"BEGIN;";

/* They would be taken for a part of the new one, which they damage. */
static int refuse_what_is_beside(const char *path, struct err *err)
{
	static const char *const endings[] = {"-journal", "-wal"};

	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		struct text beside _cleanup_text_ = {0};
		struct stat status;

		text_appendf(&beside, "%s%s", path, endings[i]);
		if (stat(text_string(&beside), &status) == 0 && status.st_size)
			return err_set(err, -EEXIST,
				       "can't write %s: beside it lies %s, of a database that "
				       "another program has open or "
				       "left behind. Remove it or name another file",
				       path, text_string(&beside));
	}
	return 0;
}

static int open_database(struct database *database, const char *path, struct err *err)
{
	int result;

	if (!output_is_file(path))
		return err_set(err, -EINVAL,
			       "can't write %s: a database can't be written to a pipe or a device, "
			       "name a file",
			       strcmp(path, "-") ? path : "it to standard output");
	result = refuse_what_is_beside(path, err);
	if (result == 0)
		result = output_file_open(path, true, &database->output, err);
	if (result < 0)
		return result;
	database->file.fd = database->output.fd;
	if (database_file_open(&database->file, false, &database->handle) != SQLITE_OK)
		return database_failed(database, err);
	return database_execute(database, database_settings, err);
}

int database_create(const char *path, struct database **ret_database, struct err *err)
{
	struct database *database = calloc(1, sizeof(*database));
	int result;

	if (!database)
		return err_errno(err, -ENOMEM, "can't write %s", path);
	database->path = path;
	database->output.fd = database->output.folder = -1;
	result = open_database(database, path, err);
	if (result < 0)
		database_finish(database, false, NULL, NULL);
	else
		*ret_database = database;
	return result;
}

static int publish(struct database *database, u64 *ret_size_bytes, struct err *err)
{
	struct stat status;
	int result = output_file_publish(&database->output, err);

	if (result == 0 && ret_size_bytes && fstat(database->output.fd, &status) == 0)
		*ret_size_bytes = status.st_size;
	return result;
}

int database_finish(struct database *database, bool commit, u64 *ret_size_bytes, struct err *err)
{
	int result = 0;

	if (!database)
		return 0;
	if (commit)
		result = database_execute(database, "COMMIT", err);
	sqlite3_close(database->handle);
	if (database->file.vfs.zName)
		database_file_close(&database->file);
	if (commit && result == 0)
		result = publish(database, ret_size_bytes, err);
	output_file_close(&database->output);
	free(database);
	return result;
}
