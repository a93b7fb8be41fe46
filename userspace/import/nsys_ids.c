/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "import/nsys_ids.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "nsight/nsys_numbers.h"

#define SOURCE_FIRST  3
#define PROCESSES_MAX 4000 /* a reader of captures takes a few more sources */
/* All functions that nsys traces as "OS runtime" are called through it. */
#define C_LIBRARY "libc.so.6"

int nsys_no_memory(struct err *err)
{
	return err_errno(err, -ENOMEM, "reading");
}

/* ---- processes ---- */

static int process_add(struct nsys_import *import, u64 number, struct nsys_process **ret_process,
		       struct err *err)
{
	struct nsys_process *process;

	if (import->process_count == PROCESSES_MAX)
		return err_set(err, -EINVAL, "events of more than %d processes", PROCESSES_MAX);
	process = calloc(1, sizeof(*process));
	if (!process ||
	    array_reserve(&import->processes, &import->process_capacity,
			  import->process_count + 1) < 0 ||
	    map_set(&import->process_places, number, 0, import->process_count + 1) < 0) {
		free(process);
		return nsys_no_memory(err);
	}
	process->number = number;
	process->pid = number & 0xffffff;
	process->source = SOURCE_FIRST + import->process_count;
	process->texts.source = process->source;
	import->processes[import->process_count++] = process;
	*ret_process = process;
	return 0;
}

int nsys_process_get(struct nsys_import *import, u64 number, struct nsys_process **ret_process,
		     struct err *err)
{
	u64 *place = map_find(&import->process_places, number, 0);

	if (!place)
		return process_add(import, number, ret_process, err);
	*ret_process = import->processes[*place - 1];
	return 0;
}

int nsys_id_set(struct nsys_process *process, enum nsys_id_space space, u64 number, u64 id,
		struct err *err)
{
	return map_set(&process->ids, space, number, id) < 0 ? nsys_no_memory(err) : 0;
}

u32 nsys_id_find(const struct nsys_process *process, enum nsys_id_space space, u64 number)
{
	u64 *id = map_find(&process->ids, space, number);

	return id ? *id : 0;
}

int nsys_fact_add(struct nsys_import *import, const struct nsys_process *process,
		  struct record_header *fact, struct err *err)
{
	fact->source = process->source;
	fact->pid = process->pid;
	return batch_add(import->batch, fact) < 0 ? nsys_no_memory(err) : 0;
}

/* ---- strings ---- */

int nsys_text_get(struct nsys_import *import, struct nsys_process *process, const char *string,
		  u32 *ret_id, struct err *err)
{
	if (text_ids_get(&process->texts, import->batch, string, ret_id) < 0)
		return nsys_no_memory(err);
	return 0;
}

static int find_string(struct nsys_import *import, struct nsys_process *process, s64 number,
		       u32 *ret_id, struct err *err)
{
	sqlite3_stmt *statement = import->find_string;
	char missing[48];
	int result;

	sqlite3_bind_int64(statement, 1, number);
	result = nsys_database_step(&import->database, statement, "StringIds", err);
	if (result < 0)
		return result;
	if (result > 0 && sqlite3_column_type(statement, 0) == SQLITE_TEXT) {
		const char *string = (const char *)sqlite3_column_text(statement, 0);

		result = string ? nsys_text_get(import, process, string, ret_id, err)
				: nsys_no_memory(err);
	} else {
		import->missing_strings++;
		snprintf(missing, sizeof(missing), "(no string %lld)", (long long)number);
		result = nsys_text_get(import, process, missing, ret_id, err);
	}
	sqlite3_reset(statement);
	return result;
}

int nsys_string_get(struct nsys_import *import, struct nsys_process *process, s64 number,
		    u32 *ret_id, struct err *err)
{
	u64 *known = map_find(&process->ids, NSYS_ID_STRING, number);
	int result;

	if (known) {
		*ret_id = *known;
		return 0;
	}
	*ret_id = 0;
	result = find_string(import, process, number, ret_id, err);
	return result < 0 ? result : nsys_id_set(process, NSYS_ID_STRING, number, *ret_id, err);
}

/* ---- GPUs ---- */

static int null_stream_of(struct nsys_import *import, const struct nsys_process *process,
			  u32 context, u32 *ret_stream, struct err *err)
{
	sqlite3_stmt *statement = import->find_null_stream;
	int result;

	if (!statement)
		return 0;
	sqlite3_bind_int64(statement, 1, process->pid);
	sqlite3_bind_int64(statement, 2, context);
	result = nsys_database_step(&import->database, statement, "TARGET_INFO_CUDA_CONTEXT_INFO",
				    err);
	if (result > 0 && sqlite3_column_type(statement, 0) == SQLITE_INTEGER)
		*ret_stream = sqlite3_column_int64(statement, 0);
	sqlite3_reset(statement);
	return result < 0 ? result : 0;
}

int nsys_context_note(struct nsys_import *import, struct nsys_process *process, u32 device,
		      u32 context, struct err *err)
{
	struct record_context fact;
	int result;

	if (context == ~0U || nsys_id_find(process, NSYS_ID_CONTEXT, context))
		return 0;
	schema_record_clear(schema_kind(KIND_context), &fact.header);
	fact.id = fact.number = context;
	fact.device = device;
	result = null_stream_of(import, process, context, &fact.null_stream, err);
	if (result == 0)
		result = nsys_fact_add(import, process, &fact.header, err);
	return result < 0 ? result : nsys_id_set(process, NSYS_ID_CONTEXT, context, 1, err);
}

int nsys_stream_get(struct nsys_import *import, struct nsys_process *process, u32 device,
		    u32 context, u32 stream, u32 *ret_id, struct err *err)
{
	u64 number = (u64)context << 32 | stream;
	u32 id = nsys_id_find(process, NSYS_ID_STREAM, number);
	struct record_stream fact;
	int result;

	*ret_id = stream;
	if (stream == ~0U)
		return 0;
	if (id) {
		*ret_id = id;
		return 0;
	}
	schema_record_clear(schema_kind(KIND_stream), &fact.header);
	fact.id = process->ids.count + 1;
	fact.device = device;
	fact.context = context;
	fact.number = stream;
	result = nsys_fact_add(import, process, &fact.header, err);
	*ret_id = fact.id;
	return result < 0 ? result : nsys_id_set(process, NSYS_ID_STREAM, number, fact.id, err);
}

/* ---- names of code ---- */

int nsys_symbol_get(struct nsys_import *import, struct nsys_process *process, u32 symbol, u32 full,
		    u32 short_name, u32 *ret_name, struct err *err)
{
	struct record_symbol fact;
	int result;

	*ret_name = symbol ? symbol : full;
	if (!*ret_name || nsys_id_find(process, NSYS_ID_SYMBOL, *ret_name))
		return 0;
	schema_record_clear(schema_kind(KIND_symbol), &fact.header);
	fact.header.name = *ret_name;
	fact.full = full;
	fact.brief = short_name;
	result = nsys_fact_add(import, process, &fact.header, err);
	return result < 0 ? result : nsys_id_set(process, NSYS_ID_SYMBOL, *ret_name, 1, err);
}

int nsys_function_get(struct nsys_import *import, struct nsys_process *process, u32 name,
		      u32 *ret_id, struct err *err)
{
	struct record_probe fact;
	int result;

	*ret_id = name;
	if (!name || nsys_id_find(process, NSYS_ID_FUNCTION, name))
		return 0;
	schema_record_clear(schema_kind(KIND_probe), &fact.header);
	fact.id = fact.header.name = name;
	result = nsys_text_get(import, process, C_LIBRARY, &fact.binary, err);
	if (result == 0)
		result = nsys_fact_add(import, process, &fact.header, err);
	return result < 0 ? result : nsys_id_set(process, NSYS_ID_FUNCTION, name, 1, err);
}

/* ---- NVTX ---- */

int nsys_domain_set(struct nsys_import *import, struct nsys_process *process, s64 domain,
		    const char *name, struct err *err)
{
	u32 text = 0;
	int result = nsys_text_get(import, process, name, &text, err);

	return result < 0 ? result : nsys_id_set(process, NSYS_ID_DOMAIN, domain, text, err);
}

static u64 category_number(s64 domain, s64 category)
{
	return (u64)domain << 32 | (u32)category;
}

int nsys_category_set(struct nsys_import *import, struct nsys_process *process, s64 domain,
		      s64 category, const char *name, struct err *err)
{
	u32 text = 0;
	int result = nsys_text_get(import, process, name, &text, err);

	return result < 0 ? result
			  : nsys_id_set(process, NSYS_ID_CATEGORY,
					category_number(domain, category), text, err);
}

u32 nsys_domain_name(const struct nsys_process *process, s64 domain)
{
	return nsys_id_find(process, NSYS_ID_DOMAIN, domain);
}

u32 nsys_category_name(const struct nsys_process *process, s64 domain, s64 category)
{
	return nsys_id_find(process, NSYS_ID_CATEGORY, category_number(domain, category));
}

/* ---- statements ---- */

static int prepare_null_stream(struct nsys_import *import, struct err *err)
{
	static const char *const names[][2] = {
		{"TARGET_INFO_CUDA_CONTEXT_INFO", "nullStreamId"},
		{"TARGET_INFO_CUDA_NULL_STREAM", "nullStreamId"},
		{"TARGET_INFO_CUDA_NULL_STREAM", "streamId"},
	};
	char sql[160];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *table = names[i][0];

		if (!nsys_database_has_table(&import->database, table) ||
		    !nsys_database_has_column(&import->database, table, names[i][1]) ||
		    !nsys_database_has_column(&import->database, table, "processId") ||
		    !nsys_database_has_column(&import->database, table, "contextId"))
			continue;
		snprintf(sql, sizeof(sql),
			 "SELECT %s FROM %s WHERE processId = ?1 AND contextId = ?2;", names[i][1],
			 table);
		return nsys_database_prepare(&import->database, sql, &import->find_null_stream,
					     err);
	}
	return 0;
}

int nsys_ids_open(struct nsys_import *import, struct err *err)
{
	struct nsys_database *database = &import->database;
	int result = nsys_database_prepare(database, "SELECT value FROM StringIds WHERE id = ?1;",
					   &import->find_string, err);

	if (result == 0 && nsys_database_has_column(database, "TARGET_INFO_CUDA_DEVICE", "gpuId") &&
	    nsys_database_has_column(database, "TARGET_INFO_CUDA_DEVICE", "cudaId") &&
	    nsys_database_has_column(database, "TARGET_INFO_CUDA_DEVICE", "pid"))
		result = nsys_database_prepare(database,
					       "SELECT gpuId FROM TARGET_INFO_CUDA_DEVICE "
					       "WHERE pid = ?1 AND cudaId = ?2;",
					       &import->find_gpu, err);
	return result == 0 ? prepare_null_stream(import, err) : result;
}

void nsys_ids_close(struct nsys_import *import)
{
	sqlite3_finalize(import->find_string);
	sqlite3_finalize(import->find_gpu);
	sqlite3_finalize(import->find_null_stream);
	for (size_t i = 0; i < import->process_count; i++) {
		text_ids_free(&import->processes[i]->texts);
		map_free(&import->processes[i]->ids);
		free(import->processes[i]);
	}
	free(import->processes);
	map_free(&import->process_places);
}
