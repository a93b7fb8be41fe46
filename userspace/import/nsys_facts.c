/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "import/nsys_facts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "import/nsys_ids.h"
#include "import/nsys_rows.h"
#include "nsight/nsys_numbers.h"

#define SEVERITY_WARNING 2

/* ---- one fact ---- */

static int add_fact(struct nsys_import *import, struct record_header *fact, struct err *err)
{
	fact->source = RECORD_SOURCE_TOOL;
	return batch_add(import->batch, fact) < 0 ? nsys_no_memory(err) : 0;
}

static int tool_text(struct nsys_import *import, const char *string, u32 *ret_id, struct err *err)
{
	return text_ids_get(&import->tool, import->batch, string, ret_id) < 0 ? nsys_no_memory(err)
									      : 0;
}

static int add_attribute(struct nsys_import *import, u8 group, const char *key, const char *value,
			 struct err *err)
{
	struct record_attribute fact;
	int result;

	schema_record_clear(schema_kind(KIND_attribute), &fact.header);
	fact.group = group;
	result = tool_text(import, key, &fact.header.name, err);
	if (result == 0)
		result = tool_text(import, value, &fact.value, err);
	return result < 0 ? result : add_fact(import, &fact.header, err);
}

/* ts: of the database; 0: it is not known. */
static int add_loss_at(struct nsys_import *import, u8 reason, const char *place, u64 count, s64 ts,
		       struct err *err)
{
	struct record_loss fact;
	int result;

	if (!count)
		return 0;
	schema_record_clear(schema_kind(KIND_loss), &fact.header);
	fact.reason = reason;
	fact.count = count;
	fact.at = ts > 0 && nsys_time_fits(ts) ? NSYS_START_NS + ts : 0;
	result = tool_text(import, place, &fact.place, err);
	return result < 0 ? result : add_fact(import, &fact.header, err);
}

static int add_loss(struct nsys_import *import, u8 reason, const char *place, u64 count,
		    struct err *err)
{
	return add_loss_at(import, reason, place, count, 0, err);
}

/* ---- one query ---- */

typedef int use_row(struct nsys_import *import, sqlite3_stmt *row, struct err *err);

/* Runs use for each row. Where the table or one of the columns (a list that ends with NULL) is not there: nothing. */
static int each_row(struct nsys_import *import, const char *table, const char *const *columns,
		    const char *sql, use_row *use, struct err *err)
{
	sqlite3_stmt *statement = NULL;
	int result;

	if (!nsys_database_has_table(&import->database, table))
		return 0;
	for (; *columns; columns++)
		if (!nsys_database_has_column(&import->database, table, *columns))
			return 0;
	result = nsys_database_prepare(&import->database, sql, &statement, err);
	while (result == 0) {
		result = nsys_database_step(&import->database, statement, table, err);
		if (result <= 0)
			break;
		result = use(import, statement, err);
	}
	sqlite3_finalize(statement);
	return result;
}

#define COLUMNS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* NULL: it is none. */
static const char *row_text(sqlite3_stmt *row, int place)
{
	return sqlite3_column_type(row, place) == SQLITE_TEXT
		       ? (const char *)sqlite3_column_text(row, place)
		       : NULL;
}

static bool row_is_integer(sqlite3_stmt *row, int place)
{
	return sqlite3_column_type(row, place) == SQLITE_INTEGER;
}

/* ---- NVTX ---- */

static int use_nvtx_name(struct nsys_import *import, sqlite3_stmt *row, struct err *err)
{
	const char *name = row_text(row, 1);
	struct nsys_process *process = NULL;
	int result;

	if (!name || !row_is_integer(row, 2) || !row_is_integer(row, 3))
		return 0;
	result =
		nsys_process_get(import, nsys_process(sqlite3_column_int64(row, 2)), &process, err);
	if (result < 0)
		return result;
	if (sqlite3_column_int64(row, 0) == NSYS_NVTX_DOMAIN)
		return nsys_domain_set(import, process, sqlite3_column_int64(row, 3), name, err);
	if (!row_is_integer(row, 4))
		return 0;
	return nsys_category_set(import, process, sqlite3_column_int64(row, 3),
				 sqlite3_column_int64(row, 4), name, err);
}

int nsys_facts_before(struct nsys_import *import, struct err *err)
{
	return each_row(import, "NVTX_EVENTS",
			COLUMNS("eventType", "text", "globalTid", "domainId", "category"),
			"SELECT eventType, text, globalTid, domainId, category FROM NVTX_EVENTS "
			"WHERE eventType IN (33, 75);",
			use_nvtx_name, err);
}

/* ---- processes and threads ---- */

/* When the name of a thread holds from: a later one wins. */
enum name_source { NAME_BY_NVTX, NAME_OF_THREAD };

/* row: globalTid, name, priority. Only of processes with events: those of the whole machine are listed. */
static int add_thread(struct nsys_import *import, sqlite3_stmt *row, enum name_source source,
		      struct err *err)
{
	const char *name = row_text(row, 1);
	u64 global_tid = sqlite3_column_int64(row, 0);
	struct record_thread fact;
	int result;

	if (!row_is_integer(row, 0) || !name ||
	    !map_find(&import->process_places, nsys_process(global_tid), 0))
		return 0;
	schema_record_clear(schema_kind(KIND_thread), &fact.header);
	fact.header.ts = source;
	fact.header.pid = nsys_pid(global_tid);
	fact.header.tid = nsys_tid(global_tid);
	if (row_is_integer(row, 2))
		fact.priority = sqlite3_column_int64(row, 2);
	result = tool_text(import, name, &fact.header.name, err);
	return result < 0 ? result : add_fact(import, &fact.header, err);
}

static int use_thread(struct nsys_import *import, sqlite3_stmt *row, struct err *err)
{
	return add_thread(import, row, NAME_OF_THREAD, err);
}

static int use_nvtx_thread(struct nsys_import *import, sqlite3_stmt *row, struct err *err)
{
	return add_thread(import, row, NAME_BY_NVTX, err);
}

static int add_threads(struct nsys_import *import, struct err *err)
{
	bool priorities = nsys_database_has_column(&import->database, "ThreadNames", "priority");
	/* A process has no thread 0, and no priority. */
	int result = each_row(import, "PROCESSES", COLUMNS("globalPid", "name"),
			      "SELECT globalPid, name, NULL FROM PROCESSES;", use_thread, err);

	if (result == 0)
		result = each_row(import, "NVTX_EVENTS", COLUMNS("eventType", "text", "globalTid"),
				  "SELECT globalTid, text, NULL FROM NVTX_EVENTS "
				  "WHERE eventType = 39;",
				  use_nvtx_thread, err);
	if (result == 0)
		result = each_row(import, "ThreadNames", COLUMNS("nameId", "globalTid"),
				  priorities ? "SELECT globalTid, value, priority FROM ThreadNames "
					       "JOIN StringIds ON StringIds.id = nameId;"
					     : "SELECT globalTid, value, NULL FROM ThreadNames "
					       "JOIN StringIds ON StringIds.id = nameId;",
				  use_thread, err);
	return result;
}

/* ---- what made it, and when ---- */

static int use_export(struct nsys_import *import, sqlite3_stmt *row, struct err *err)
{
	static const char *const keys[][2] = {
		{"EXPORT_PRODUCT_NAME", "product"},
		{"EXPORT_PRODUCT_VERSION", "product version"},
		{"EXPORT_SCHEMA_VERSION", "schema version"},
	};
	const char *name = row_text(row, 0), *value = row_text(row, 1);
	int result = 0;

	for (size_t i = 0; name && value && i < ARRAY_SIZE(keys) && result == 0; i++)
		if (strcmp(name, keys[i][0]) == 0)
			result = add_attribute(import, VALUE_attribute_group_tool, keys[i][1],
					       value, err);
	if (name && value && strcmp(name, keys[0][0]) == 0)
		import->by_gpuprobe = strcmp(value, "gpuprobe") == 0;
	return result;
}

/* Never more of it: what nsys itself writes there includes the target's environment. */
static int use_system(struct nsys_import *import, sqlite3_stmt *row, struct err *err)
{
	static const char *const keys[][2] = {{"Hostname", "hostname"}, {"CpuCores", "cpus"}};
	const char *name = row_text(row, 0), *value = row_text(row, 1);
	int result = 0;

	for (size_t i = 0; name && value && i < ARRAY_SIZE(keys) && result == 0; i++)
		if (strcmp(name, keys[i][0]) == 0)
			result = add_attribute(import, VALUE_attribute_group_host, keys[i][1],
					       value, err);
	return result;
}

static int use_clock(struct nsys_import *import, sqlite3_stmt *row, struct err *err)
{
	struct record_clock fact;

	if (!row_is_integer(row, 0) || sqlite3_column_int64(row, 0) <= 0)
		return 0;
	schema_record_clear(schema_kind(KIND_clock), &fact.header);
	fact.header.ts = NSYS_START_NS;
	fact.realtime_ns = sqlite3_column_int64(row, 0);
	return add_fact(import, &fact.header, err);
}

/* Some versions of nsys have other times here than in the events: believed only where all events are within. */
static int use_details(struct nsys_import *import, sqlite3_stmt *row, struct err *err)
{
	s64 start_ns = sqlite3_column_int64(row, 0), stop_ns = sqlite3_column_int64(row, 1);

	if (row_is_integer(row, 0) && row_is_integer(row, 1) && start_ns >= 0 &&
	    start_ns <= import->first_start_ns && stop_ns >= import->last_start_ns &&
	    stop_ns < NSYS_TIME_MAX_NS && stop_ns > import->last_end_ns)
		import->last_end_ns = stop_ns;
	return 0;
}

static int add_times(struct nsys_import *import, struct err *err)
{
	struct record_window fact;
	s64 start_ns = 0, end_ns;
	int result = each_row(import, "TARGET_INFO_SESSION_START_TIME", COLUMNS("utcEpochNs"),
			      "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME LIMIT 1;",
			      use_clock, err);

	if (result == 0)
		result = each_row(import, "ANALYSIS_DETAILS", COLUMNS("startTime", "stopTime"),
				  "SELECT startTime, stopTime FROM ANALYSIS_DETAILS LIMIT 1;",
				  use_details, err);
	if (result < 0)
		return result;
	if (import->first_start_ns < 0)
		start_ns = import->first_start_ns;
	end_ns = import->last_end_ns > import->last_start_ns ? import->last_end_ns
							     : import->last_start_ns;
	schema_record_clear(schema_kind(KIND_window), &fact.header);
	fact.header.ts = NSYS_START_NS + start_ns;
	fact.header.dur = end_ns > start_ns ? end_ns - start_ns : 0;
	return add_fact(import, &fact.header, err);
}

/* ---- the ledger ---- */

/* "12 lost: the ring buffer of their CPU was full (CPU 3)", as exporters/nsys/nsys_facts.c writes it. */
static bool parse_loss(const char *words, u8 *ret_reason, char *ret_place, size_t place_bytes,
		       u64 *ret_count)
{
	size_t count;
	const struct schema_enum_value *values = schema_enum_values(&count);
	char *end;

	*ret_count = strtoull(words, &end, 10);
	if (end == words || *end++ != ' ')
		return false;
	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(values[i].meaning);
		const char *place = end + length;

		if (strcmp(values[i].enum_name, "loss_reason") != 0 ||
		    strncmp(end, values[i].meaning, length) != 0)
			continue;
		*ret_reason = values[i].number;
		*ret_place = '\0';
		if (!*place)
			return true;
		if (strncmp(place, " (", 2) != 0 || place[strlen(place) - 1] != ')')
			continue;
		snprintf(ret_place, place_bytes, "%.*s", (int)strlen(place + 2) - 1, place + 2);
		return true;
	}
	return false;
}

/* "NVTX of server (4242): no room for its functions" */
static int add_told(struct nsys_import *import, u8 group, const char *words, struct err *err)
{
	const char *value = strstr(words, ": ");
	char key[256];

	snprintf(key, sizeof(key), "%.*s", value ? (int)(value - words) : 0, words);
	return add_attribute(import, group, key, value ? value + 2 : words, err);
}

/* What gpuprobe wrote goes to where it was. Of nsys only what it found wrong: it also tells that it began and ended. */
static int use_diagnostic(struct nsys_import *import, sqlite3_stmt *row, struct err *err)
{
	const char *words = row_text(row, 1);
	s64 severity = sqlite3_column_int64(row, 0);
	char place[256];
	u64 count;
	u8 reason;

	if (!words || !row_is_integer(row, 0))
		return 0;
	if (import->by_gpuprobe && severity == SEVERITY_WARNING &&
	    parse_loss(words, &reason, place, sizeof(place), &count))
		/* What is found in the events is found in them again. */
		return schema_loss_is_found_again(reason)
			       ? 0
			       : add_loss_at(import, reason, place, count,
					     sqlite3_column_int64(row, 2), err);
	if (severity == SEVERITY_WARNING || (severity > SEVERITY_WARNING && !import->by_gpuprobe))
		return add_loss(import, VALUE_loss_reason_warned, words, 1, err);
	if (!import->by_gpuprobe)
		return 0;
	return add_told(import,
			severity > SEVERITY_WARNING ? VALUE_attribute_group_failure
						    : VALUE_attribute_group_remark,
			words, err);
}

/* "7 taken_over 1000000000 710000000", as exporters/nsys/nsys_facts.c writes it. */
static int use_end(struct nsys_import *import, sqlite3_stmt *row, struct err *err)
{
	const char *name = row_text(row, 0), *value = row_text(row, 1);
	const struct schema_enum_value *sort, *why;
	struct record_recording_end fact;
	long long at, until;
	char tag[32];
	u32 pid;

	if (!name || !value || strlen(name) < strlen(NSYS_RECORDING_END) ||
	    sscanf(value, "%10u %31s %20lld %20lld", &pid, tag, &at, &until) != 4 ||
	    !nsys_time_fits(at) || !nsys_time_fits(until))
		return 0;
	sort = schema_enum_by_tag("recorded_sort", name + strlen(NSYS_RECORDING_END));
	why = schema_enum_by_tag("recording_end_why", tag);
	if (!sort || at < 0 || until < 0)
		return 0;
	schema_record_clear(schema_kind(KIND_recording_end), &fact.header);
	fact.header.ts = NSYS_START_NS + at;
	fact.header.pid = pid;
	fact.sort = sort->number;
	fact.why = why ? why->number : 0;
	fact.complete = until < at ? NSYS_START_NS + until : 0;
	return add_fact(import, &fact.header, err);
}

static int add_ledger(struct nsys_import *import, struct err *err)
{
	int result = each_row(import, "DIAGNOSTIC_EVENT", COLUMNS("severity", "text", "timestamp"),
			      "SELECT severity, text, timestamp FROM DIAGNOSTIC_EVENT;",
			      use_diagnostic, err);

	if (result == 0 && import->by_gpuprobe)
		result = each_row(import, "META_DATA_CAPTURE", COLUMNS("name", "value"),
				  "SELECT name, value FROM META_DATA_CAPTURE "
				  "WHERE name LIKE '" NSYS_RECORDING_END "%';",
				  use_end, err);
	if (result == 0)
		result = add_loss(import, VALUE_loss_reason_fact_missing, "StringIds",
				  import->missing_strings, err);
	if (result == 0)
		result = add_loss(import, VALUE_loss_reason_backward, "", import->backward, err);
	return result;
}

/* ---- what is not read ---- */

static bool is_read(const char *table)
{
	size_t count;
	const struct nsys_import_table *tables = nsys_import_tables(&count);

	for (size_t i = 0; i < count; i++)
		if (sqlite3_stricmp(tables[i].name, table) == 0)
			return true;
	return sqlite3_stricmp(table, "DIAGNOSTIC_EVENT") == 0;
}

/* 1: it has events. */
static int has_events(struct nsys_import *import, const char *table, struct err *err)
{
	char *sql;
	sqlite3_stmt *statement = NULL;
	int result;

	if (!nsys_database_has_column(&import->database, table, "start") &&
	    !nsys_database_has_column(&import->database, table, "timestamp"))
		return 0;
	sql = sqlite3_mprintf("SELECT 1 FROM \"%w\" LIMIT 1;", table);
	if (!sql)
		return nsys_no_memory(err);
	result = nsys_database_prepare(&import->database, sql, &statement, err);
	if (result == 0)
		result = nsys_database_step(&import->database, statement, table, err);
	sqlite3_finalize(statement);
	sqlite3_free(sql);
	return result;
}

/* Nobody is to take what is missing for what was not there. */
static int add_unread(struct nsys_import *import, struct err *err)
{
	struct text tables _cleanup_text_ = {0};
	sqlite3_stmt *statement = NULL;
	int result = nsys_database_prepare(&import->database,
					   "SELECT name FROM sqlite_master WHERE type = 'table' "
					   "AND rootpage > 0;",
					   &statement, err);

	while (result == 0) {
		const char *table;

		result = nsys_database_step(&import->database, statement, "sqlite_master", err);
		if (result <= 0)
			break;
		table = row_text(statement, 0);
		result = table && !is_read(table) ? has_events(import, table, err) : 0;
		if (result > 0)
			text_appendf(&tables, "%s%s", tables.length ? ", " : "", table);
		result = result < 0 ? result : 0;
	}
	sqlite3_finalize(statement);
	if (result == 0 && tables.failed)
		result = nsys_no_memory(err);
	return result == 0 && tables.length
		       ? add_attribute(import, VALUE_attribute_group_remark, "tables not read",
				       text_string(&tables), err)
		       : result;
}

/* ---- all of them ---- */

int nsys_facts_after(struct nsys_import *import, struct err *err)
{
	static const char *const exports[] = {"META_DATA_EXPORT", "EXPORT_META_DATA"};
	int result = add_times(import, err);
	char sql[64];

	/* Where both are there they say the same. */
	for (size_t i = 0; i < ARRAY_SIZE(exports) && result == 0; i++) {
		snprintf(sql, sizeof(sql), "SELECT name, value FROM %s;", exports[i]);
		result = each_row(import, exports[i], COLUMNS("name", "value"), sql, use_export,
				  err);
	}
	if (result == 0)
		result = each_row(import, "TARGET_INFO_SYSTEM_ENV", COLUMNS("name", "value"),
				  "SELECT name, value FROM TARGET_INFO_SYSTEM_ENV "
				  "WHERE name IN ('Hostname', 'CpuCores');",
				  use_system, err);
	if (result == 0)
		result = add_threads(import, err);
	if (result == 0)
		result = add_unread(import, err);
	return result == 0 ? add_ledger(import, err) : result;
}
