/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A database as an output: what is bound, what is left when it fails. */
#include "unit.h"

#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "exporters/nsys/database.h"

#define FOLDER	  "build/unit"
#define FILE_NAME FOLDER "/test_database.sqlite"

static sqlite3 *opened(void)
{
	sqlite3 *database = NULL;

	CHECK_U64(sqlite3_open_v2(FILE_NAME, &database, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	return database;
}

/* The first cell of what a statement gives. */
static void check_cell(const char *sql, const char *wanted)
{
	sqlite3 *database = opened();
	sqlite3_stmt *statement = NULL;

	CHECK_U64(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), SQLITE_OK);
	CHECK_U64(sqlite3_step(statement), SQLITE_ROW);
	CHECK_STRING((const char *)sqlite3_column_text(statement, 0), wanted);
	sqlite3_finalize(statement);
	sqlite3_close(database);
}

TEST(texts_are_what_readers_take)
{
	struct database *database = NULL;
	sqlite3_stmt *statement = NULL;
	struct text name = {0};
	struct err err = {0};
	u64 size = 0;

	for (int i = 0; i < 100000; i++)
		text_append_char(&name, '\'');
	CHECK_OK(database_create(FILE_NAME, &database, &err), err);
	CHECK_OK(database_execute(database, "CREATE TABLE t(id INTEGER, value TEXT)", &err), err);
	CHECK_OK(database_prepare(database, "INSERT INTO t VALUES (?, ?)", &statement, &err), err);
	CHECK_OK(database_insert(database, statement, &err, "it", (s64)1,
				 "a\xff"
				 "b\xc3\xa9\xc3"),
		 err);
	CHECK_OK(database_insert(database, statement, &err, "it", (s64)2, "\"); DROP TABLE t; --"),
		 err);
	CHECK_OK(database_insert(database, statement, &err, "it", (s64)3, text_string(&name)), err);
	CHECK_OK(database_insert(database, statement, &err, "it", (s64)4, (const char *)NULL), err);
	sqlite3_finalize(statement);
	CHECK_OK(database_finish(database, true, &size, &err), err);
	CHECK(size > 100000);
	check_cell("SELECT value FROM t WHERE id = 1", "a?b\xc3\xa9?");
	check_cell("SELECT value FROM t WHERE id = 2", "\"); DROP TABLE t; --");
	check_cell("SELECT value FROM t WHERE id = 3", text_string(&name));
	check_cell("SELECT count(*) FROM t WHERE value IS NULL", "1");
	check_cell("PRAGMA integrity_check", "ok");
	check_cell("PRAGMA journal_mode", "delete");
	check_cell("PRAGMA page_size", "4096");
	text_free(&name);
	unlink(FILE_NAME);
}

TEST(what_is_not_finished_has_no_name)
{
	struct database *database = NULL;
	struct err err = {0};

	CHECK_OK(database_create(FILE_NAME, &database, &err), err);
	CHECK_OK(database_execute(database, "CREATE TABLE t(id INTEGER)", &err), err);
	CHECK(access(FILE_NAME, F_OK) < 0);
	CHECK_OK(database_finish(database, false, NULL, &err), err);
	CHECK(access(FILE_NAME, F_OK) < 0);
	CHECK(database_create(FOLDER, &database, &err) < 0);
	CHECK(strstr(err.message, FOLDER) != NULL);
}

UNIT_MAIN()
