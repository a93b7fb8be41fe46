/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/nsys/nsys_tables.h"

#include <string.h>

#include "base/array.h"

/* ---- which events ---- */

/* A call inside another one is the same work: each launch would be there twice. */
static bool is_outermost(const struct view *view, const struct view_event *event)
{
	return !event->inner_call;
}

static bool is_flush(const struct view *view, const struct view_event *event)
{
	return ((const struct record_overhead *)event->record)->type ==
	       VALUE_overhead_type_buffer_flush;
}

/* Of gpuprobe.h. */
static bool is_mark(const struct view *view, const struct view_event *event)
{
	return view_annotation(view, event) == VALUE_usdt_annotation_mark;
}

static bool left_cpu(const struct view *view, const struct view_event *event)
{
	return ((const struct record_off_cpu *)event->record)->from_cpu != ~0U;
}

static bool came_to_cpu(const struct view *view, const struct view_event *event)
{
	return !event->open && ((const struct record_off_cpu *)event->record)->to_cpu != ~0U;
}

static u8 migration_type(const struct view_event *event)
{
	return ((const struct record_migration *)event->record)->type;
}

static bool is_migration_to_host(const struct view *view, const struct view_event *event)
{
	return migration_type(event) == VALUE_migration_type_device_to_host;
}

static bool is_migration_to_device(const struct view *view, const struct view_event *event)
{
	return migration_type(event) == VALUE_migration_type_host_to_device ||
	       migration_type(event) == VALUE_migration_type_device_to_device;
}

static bool is_cpu_fault(const struct view *view, const struct view_event *event)
{
	return migration_type(event) == VALUE_migration_type_cpu_faults;
}

static bool is_gpu_fault(const struct view *view, const struct view_event *event)
{
	return migration_type(event) == VALUE_migration_type_gpu_fault;
}

/* ---- tables ---- */

#define NONE NSYS_NONE

/* clang-format off */
#define TABLE(id, name, kind, rows) static const struct nsys_column columns_##id[] = {
#define COLUMN(name, type, source, key, other) {name, NSYS_##type, NSYS_##source, key, other},
#define END(id) };
#include "exporters/nsys/nsys_tables.def"

#define TABLE(id, name, kind, rows) \
	{name, KIND_##kind, rows, columns_##id, ARRAY_SIZE(columns_##id)},
static const struct nsys_table tables[] = {
#include "exporters/nsys/nsys_tables.def"
};
/* clang-format on */

const struct nsys_table *nsys_tables(size_t *ret_count)
{
	*ret_count = ARRAY_SIZE(tables);
	return tables;
}

void nsys_table_append_create(const struct nsys_table *table, struct text *text)
{
	static const char *const types[] = {
		[NSYS_INTEGER] = "INTEGER",
		[NSYS_NEEDED] = "INTEGER NOT NULL",
		[NSYS_REAL] = "REAL",
		[NSYS_TEXT] = "TEXT",
	};

	text_appendf(text, "CREATE TABLE %s (", table->name);
	for (size_t i = 0; i < table->column_count; i++)
		text_appendf(text, "%s\"%s\" %s", i ? ", " : "", table->columns[i].name,
			     types[table->columns[i].type]);
	text_append(text, ");");
}

void nsys_table_append_insert(const struct nsys_table *table, struct text *text)
{
	text_appendf(text, "INSERT INTO %s VALUES (", table->name);
	for (size_t i = 0; i < table->column_count; i++)
		text_append(text, i ? ",?" : "?");
	text_append(text, ");");
}
