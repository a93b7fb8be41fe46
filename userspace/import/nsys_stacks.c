/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "import/nsys_stacks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "import/nsys_ids.h"

#define DEPTH_MAX 1024

/* Frames of no function: of nsys, and of gpuprobe. */
#define UNKNOWN "[Unknown]"
static const char *const cuts[] = {"[cut]", "[Max depth]", "[Broken backtraces]"};

static const struct {
	const char *table;
	enum nsys_id_space ids;
} chain_tables[NSYS_CHAINS] = {
	[NSYS_CHAINS_CUDA] = {"CUDA_CALLCHAINS", NSYS_ID_CUDA_STACK},
	[NSYS_CHAINS_OS_RUNTIME] = {"OSRT_CALLCHAINS", NSYS_ID_OS_RUNTIME_STACK},
};

/* ---- facts ---- */

/* Our id of a module is the text of its path. */
static int note_module(struct nsys_import *import, struct nsys_process *process, u32 path,
		       struct err *err)
{
	struct record_module fact;
	int result;

	if (!path || nsys_id_find(process, NSYS_ID_MODULE, path))
		return 0;
	schema_record_clear(schema_kind(KIND_module), &fact.header);
	fact.id = fact.header.name = path;
	result = nsys_fact_add(import, process, &fact.header, err);
	return result < 0 ? result : nsys_id_set(process, NSYS_ID_MODULE, path, 1, err);
}

struct frame {
	u32 symbol, module;
	u64 address;
	bool begins; /* nobody called it */
};

/* One fact an address; what has none has one of its own, where nothing is mapped. */
static int note_frame(struct nsys_import *import, struct nsys_process *process, struct frame *frame,
		      bool innermost, struct err *err)
{
	struct record_frame fact;
	u64 address;
	int result;

	if (!frame->address)
		frame->address = 1ULL << 63 | (u64)frame->symbol << 24 | (frame->module & 0xffffff);
	address = frame->address - !innermost;
	if (nsys_id_find(process, NSYS_ID_FRAME, address))
		return 0;
	schema_record_clear(schema_kind(KIND_frame), &fact.header);
	fact.header.name = frame->symbol;
	fact.address = address;
	fact.module = frame->module;
	fact.level = 0;
	fact.begins = frame->begins ? VALUE_yes_no_yes : VALUE_yes_no_no;
	result = note_module(import, process, frame->module, err);
	if (result == 0)
		result = nsys_fact_add(import, process, &fact.header, err);
	return result < 0 ? result : nsys_id_set(process, NSYS_ID_FRAME, address, 1, err);
}

static int add_stack(struct nsys_import *import, struct nsys_process *process, struct frame *frames,
		     size_t depth, u32 *ret_stack, struct err *err)
{
	struct {
		struct record_stack fact;
		u64 addresses[DEPTH_MAX];
	} stack;
	int result = 0;

	memset(&stack.fact, 0, sizeof(stack.fact));
	for (size_t i = 0; i < depth && result == 0; i++) {
		result = note_frame(import, process, &frames[i], !i, err);
		stack.addresses[i] = frames[i].address;
	}
	if (result < 0)
		return result;
	stack.fact.header.kind = KIND_stack;
	stack.fact.header.size_bytes = sizeof(stack.fact) + depth * sizeof(stack.addresses[0]);
	stack.fact.id = *ret_stack = ++import->stacks.last_id;
	stack.fact.depth = depth;
	return nsys_fact_add(import, process, &stack.fact.header, err);
}

/* ---- chains ---- */

static bool is_cut(const char *symbol)
{
	for (size_t i = 0; i < ARRAY_SIZE(cuts); i++)
		if (strcmp(symbol, cuts[i]) == 0)
			return true;
	return false;
}

static const char *string_of(sqlite3_stmt *row, int place)
{
	const char *string = sqlite3_column_type(row, place) == SQLITE_TEXT
				     ? (const char *)sqlite3_column_text(row, place)
				     : NULL;

	return string && strcmp(string, UNKNOWN) != 0 ? string : "";
}

/* 1: a frame; 0: no function, the chain was cut there. */
static int read_frame(struct nsys_import *import, struct nsys_process *process, sqlite3_stmt *row,
		      struct frame *ret_frame, struct err *err)
{
	const char *symbol = string_of(row, 0);
	int result;

	if (is_cut(symbol))
		return 0;
	*ret_frame = (struct frame){.address = sqlite3_column_int64(row, 2)};
	result = nsys_text_get(import, process, symbol, &ret_frame->symbol, err);
	if (result == 0)
		result = nsys_text_get(import, process, string_of(row, 1), &ret_frame->module, err);
	return result < 0 ? result : 1;
}

static int read_chain(struct nsys_import *import, struct nsys_process *process,
		      enum nsys_chains chains, u32 *ret_stack, struct err *err)
{
	sqlite3_stmt *statement = import->stacks.frames[chains];
	struct frame frames[DEPTH_MAX];
	size_t depth = 0;
	bool whole = true;
	int result;

	while ((result = nsys_database_step(&import->database, statement,
					    chain_tables[chains].table, err)) > 0) {
		if (depth == DEPTH_MAX) {
			whole = false;
			break;
		}
		result = read_frame(import, process, statement, &frames[depth], err);
		if (result < 0)
			break;
		whole = result > 0;
		depth += result;
	}
	sqlite3_reset(statement);
	if (result < 0 || !depth)
		return result < 0 ? result : 0;
	frames[depth - 1].begins = whole;
	return add_stack(import, process, frames, depth, ret_stack, err);
}

int nsys_stack_get(struct nsys_import *import, struct nsys_process *process,
		   enum nsys_chains chains, s64 chain, u32 *ret_stack, struct err *err)
{
	sqlite3_stmt *statement = import->stacks.frames[chains];
	u64 *known = map_find(&process->ids, chain_tables[chains].ids, chain);
	int result;

	*ret_stack = known ? *known : 0;
	if (known || !chain || !statement)
		return 0;
	sqlite3_bind_int64(statement, 1, chain);
	result = read_chain(import, process, chains, ret_stack, err);
	return result < 0 ? result
			  : nsys_id_set(process, chain_tables[chains].ids, chain, *ret_stack, err);
}

int nsys_instruction_get(struct nsys_import *import, struct nsys_process *process, u32 symbol,
			 u32 module, u64 address, u32 *ret_stack, struct err *err)
{
	struct frame frame = {
		.symbol = symbol, .module = module, .address = address, .begins = true};
	int result;

	/* Its address is known once the frame is noted. */
	result = note_frame(import, process, &frame, true, err);
	if (result < 0)
		return result;
	*ret_stack = nsys_id_find(process, NSYS_ID_INSTRUCTION, frame.address);
	if (*ret_stack)
		return 0;
	result = add_stack(import, process, &frame, 1, ret_stack, err);
	return result < 0
		       ? result
		       : nsys_id_set(process, NSYS_ID_INSTRUCTION, frame.address, *ret_stack, err);
}

/* ---- statements ---- */

static int open_chains(struct nsys_import *import, enum nsys_chains chains, struct err *err)
{
	static const char *const columns[] = {"id", "symbol", "module", "stackDepth"};
	const char *table = chain_tables[chains].table;
	char sql[320];

	if (!nsys_database_has_table(&import->database, table))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		if (!nsys_database_has_column(&import->database, table, columns[i]))
			return err_set(err, -EINVAL, "table %s has no column %s", table,
				       columns[i]);
	snprintf(sql, sizeof(sql),
		 "SELECT symbols.value, modules.value, %s FROM %s AS chains "
		 "LEFT JOIN StringIds AS symbols ON symbols.id = symbol "
		 "LEFT JOIN StringIds AS modules ON modules.id = module "
		 "WHERE chains.id = ?1 ORDER BY stackDepth;",
		 nsys_database_has_column(&import->database, table, "originalIP") ? "originalIP"
										  : "NULL",
		 table);
	return nsys_database_prepare(&import->database, sql, &import->stacks.frames[chains], err);
}

int nsys_stacks_open(struct nsys_import *import, struct err *err)
{
	int result = 0;

	for (size_t i = 0; i < NSYS_CHAINS && result == 0; i++)
		result = open_chains(import, i, err);
	return result;
}

void nsys_stacks_close(struct nsys_import *import)
{
	for (size_t i = 0; i < NSYS_CHAINS; i++)
		sqlite3_finalize(import->stacks.frames[i]);
}
