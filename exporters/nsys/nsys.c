/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/nsys/nsys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "exporters/nsys/database.h"
#include "exporters/nsys/nsys_facts.h"
#include "exporters/nsys/nsys_tables.h"
#include "exporters/nsys/nsys_values.h"

struct open_table {
	struct nsys_bound_column *columns;
	sqlite3_stmt *insert; /* NULL: there was no event for it yet */
};

struct nsys {
	const char *path;
	struct database *database;
	struct nsys_values values;
	struct open_table *tables; /* one for each of nsys_tables() */
	size_t table_count;
	const struct nsys_table *table_rows;
};

/* Kinds may share a table, which is made once. */
static bool is_made(const struct nsys *nsys, const char *name)
{
	for (size_t i = 0; i < nsys->table_count; i++)
		if (nsys->tables[i].insert && !strcmp(nsys->table_rows[i].name, name))
			return true;
	return false;
}

static int open_table(struct nsys *nsys, size_t place, struct err *err)
{
	const struct nsys_table *table = &nsys->table_rows[place];
	struct open_table *open = &nsys->tables[place];
	struct text sql _cleanup_text_ = {0};
	int result = 0;

	if (!is_made(nsys, table->name)) {
		nsys_table_append_create(table, &sql);
		result = database_execute(nsys->database, text_string(&sql), err);
		text_clear(&sql);
	}
	nsys_table_append_insert(table, &sql);
	if (result == 0)
		result = database_prepare(nsys->database, text_string(&sql), &open->insert, err);
	return result;
}

static int add_row(struct nsys *nsys, size_t place, const struct view_event *event, struct err *err)
{
	struct open_table *open = &nsys->tables[place];
	int result = 0;

	if (!open->insert)
		result = open_table(nsys, place, err);
	if (result < 0)
		return result;
	if (nsys_values_bind(&nsys->values, &nsys->table_rows[place], open->columns, event,
			     open->insert) < 0)
		return err_errno(err, -ENOMEM, "can't write %s", nsys->path);
	return database_run(nsys->database, open->insert, err);
}

static int add_event(void *data, const struct view_event *event, struct err *err)
{
	struct nsys *nsys = data;
	int result = 0;

	for (size_t i = 0; i < nsys->table_count && result == 0; i++) {
		const struct nsys_table *table = &nsys->table_rows[i];

		if (table->kind == event->kind->number &&
		    (!table->wants || table->wants(nsys->values.view, event)))
			result = add_row(nsys, i, event, err);
	}
	return result;
}

static int nsys_open(void *data, const struct view *view, const struct view_survey *survey,
		     struct err *err)
{
	struct nsys *nsys = data;
	int result = 0;
	u64 end_ns;

	nsys->values.view = view;
	view_time_range(survey, &nsys->values.start_ns, &end_ns);
	for (size_t i = 0; i < nsys->table_count && result == 0; i++)
		result = nsys_values_prepare(&nsys->values, &nsys->table_rows[i],
					     &nsys->tables[i].columns, err);
	return result;
}

static int nsys_close(void *data, struct err *err)
{
	struct nsys *nsys = data;

	return nsys_facts_write(nsys->database, &nsys->values, err);
}

const struct view_sink nsys_sink = {
	.open = nsys_open,
	.span = add_event,
	.point = add_event,
	.close = nsys_close,
};

int nsys_create(const char *path, bool gzip, void **ret_data, struct err *err)
{
	struct nsys *nsys = calloc(1, sizeof(*nsys));
	int result;

	if (!nsys)
		return err_errno(err, -ENOMEM, "can't write %s", path);
	nsys->path = path;
	nsys->table_rows = nsys_tables(&nsys->table_count);
	nsys->tables = calloc(nsys->table_count, sizeof(*nsys->tables));
	result = nsys->tables ? database_create(path, &nsys->database, err)
			      : err_errno(err, -ENOMEM, "can't write %s", path);
	if (result < 0)
		nsys_finish(nsys, false, NULL, NULL);
	else
		*ret_data = nsys;
	return result;
}

int nsys_finish(void *data, bool commit, u64 *ret_size_bytes, struct err *err)
{
	struct nsys *nsys = data;
	int result;

	for (size_t i = 0; nsys->tables && i < nsys->table_count; i++) {
		sqlite3_finalize(nsys->tables[i].insert);
		free(nsys->tables[i].columns);
	}
	free(nsys->tables);
	result = database_finish(nsys->database, commit, ret_size_bytes, err);
	nsys_values_free(&nsys->values);
	free(nsys);
	return result;
}
