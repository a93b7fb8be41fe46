/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "import/nsys_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "import/nsys_ids.h"
#include "import/nsys_stacks.h"
#include "nsight/nsys_numbers.h"

/* A column, made ready. */
struct bound_column {
	const struct nsys_import_column *column;
	const struct schema_field *field; /* NULL: none of the record's is set */
	unsigned element;		  /* of an array */
};

struct nsys_rows {
	const struct nsys_import_table *table;
	const struct schema_kind *kind;
	sqlite3_stmt *statement;
	struct bound_column columns[NSYS_COLUMNS_MAX];
};

/* What is known of the row that is read now. */
struct row {
	const struct nsys_rows *rows;
	struct nsys_process *process;
	struct record_header *record;
	s64 start_ns;
	u32 device, context;	       /* numbers */
	u32 symbol, full_name, module; /* texts */
	s64 domain;
};

/* ---- making ready ---- */

/* "grid[1]" -> grid, 1 */
static bool bind_field(const struct schema_kind *kind, const char *field,
		       struct bound_column *bound)
{
	size_t length = strcspn(field, "[");
	char name[64] = "";

	bound->element = field[length] ? atoi(field + length + 1) : 0;
	memcpy(name, field, length < sizeof(name) - 1 ? length : sizeof(name) - 1);
	bound->field = schema_field_or_header(kind, name);
	return bound->field;
}

/* A column that is not there is one of NULLs. */
static int bind_column(const struct nsys_import *import, struct nsys_rows *rows, size_t place,
		       struct text *sql, struct err *err)
{
	const struct nsys_import_column *column = &rows->table->columns[place];
	struct bound_column *bound = &rows->columns[place];
	bool there = nsys_database_has_column(&import->database, rows->table->name, column->name);

	bound->column = column;
	if (column->field && !bind_field(rows->kind, column->field, bound))
		return err_set(err, -EINVAL, "nsys_tables.def: %s has no field %s", rows->kind->tag,
			       column->field);
	if (!there && column->need != NSYS_OPTIONAL)
		return err_set(err, -EINVAL, "table %s has no column %s", rows->table->name,
			       column->name);
	if (there)
		text_appendf(sql, ", \"%s\"", column->name);
	else
		text_append(sql, ", NULL");
	return 0;
}

static int prepare_rows(struct nsys_import *import, struct nsys_rows *rows, struct err *err)
{
	const struct nsys_import_table *table = rows->table;
	struct text sql _cleanup_text_ = {0};
	int result = 0;

	text_append(&sql, "SELECT rowid");
	for (size_t i = 0; i < table->column_count && result == 0; i++)
		result = bind_column(import, rows, i, &sql, err);
	if (result < 0)
		return result;
	text_appendf(&sql, " FROM %s%s%s;", table->name, table->rows ? " WHERE " : "",
		     table->rows ? table->rows : "");
	if (sql.failed)
		return nsys_no_memory(err);
	return nsys_database_prepare(&import->database, text_string(&sql), &rows->statement, err);
}

int nsys_rows_open(struct nsys_import *import, const struct nsys_import_table *table,
		   struct nsys_rows **ret_rows, struct err *err)
{
	struct nsys_rows *rows = calloc(1, sizeof(*rows));
	int result;

	if (!rows)
		return nsys_no_memory(err);
	rows->table = table;
	rows->kind = schema_kind(table->kind);
	result = prepare_rows(import, rows, err);
	if (result < 0)
		nsys_rows_free(rows);
	else
		*ret_rows = rows;
	return result;
}

struct nsys_rows *nsys_rows_free(struct nsys_rows *rows)
{
	if (rows)
		sqlite3_finalize(rows->statement);
	free(rows);
	return NULL;
}

/* ---- cells ---- */

static int cell_type(const struct row *row, size_t place)
{
	return sqlite3_column_type(row->rows->statement, place + 1);
}

static s64 cell_integer(const struct row *row, size_t place)
{
	return sqlite3_column_int64(row->rows->statement, place + 1);
}

/* NULL: no memory. */
static const char *cell_text(const struct row *row, size_t place)
{
	return (const char *)sqlite3_column_text(row->rows->statement, place + 1);
}

static int cell_error(const struct row *row, size_t place, const char *what, struct err *err)
{
	return err_set(err, -EINVAL, "table %s, column %s, row %lld: %s", row->rows->table->name,
		       row->rows->columns[place].column->name,
		       (long long)sqlite3_column_int64(row->rows->statement, 0), what);
}

static int wrong_type(const struct row *row, size_t place, const char *wanted, struct err *err)
{
	static const char *const types[] = {
		[SQLITE_INTEGER] = "an integer", [SQLITE_FLOAT] = "a decimal number",
		[SQLITE_TEXT] = "a text",	 [SQLITE_BLOB] = "a blob",
		[SQLITE_NULL] = "NULL",
	};
	struct text words _cleanup_text_ = {0};
	int type = cell_type(row, place);

	text_appendf(&words, "%s", types[type]);
	if (type == SQLITE_INTEGER || type == SQLITE_FLOAT || type == SQLITE_TEXT) {
		const char *value = cell_text(row, place);

		text_append(&words, " (");
		text_append_terminal(&words, value ? value : "", value ? strnlen(value, 40) : 0);
		text_append(&words, ")");
	}
	text_appendf(&words, " where %s has to be", wanted);
	return cell_error(row, place, text_string(&words), err);
}

/* The record's field, of as many bytes as it has. */
static int set_number(const struct row *row, size_t place, s64 number, struct err *err)
{
	const struct bound_column *bound = &row->rows->columns[place];
	unsigned bits = bound->field->element_bytes * 8;

	if (bits < 64 && (number < -(1LL << (bits - 1)) || number >= 1LL << bits))
		return wrong_type(row, place, "a smaller number", err);
	schema_field_set(bound->field, row->record, bound->element, number);
	return 0;
}

/* ---- sources: each has an integer in its cell, but for those of texts and reals ---- */

typedef int read_cell(struct nsys_import *import, struct row *row, size_t place, struct err *err);

static int read_start(struct nsys_import *import, struct row *row, size_t place, struct err *err)
{
	s64 start_ns = cell_integer(row, place);

	if (!nsys_time_fits(start_ns))
		return wrong_type(row, place, "a time in ns from the start of the recording", err);
	row->start_ns = start_ns;
	row->record->ts = NSYS_START_NS + start_ns;
	if (import->first_start_ns > start_ns)
		import->first_start_ns = start_ns;
	if (import->last_start_ns < start_ns)
		import->last_start_ns = start_ns;
	return 0;
}

static int read_end(struct nsys_import *import, struct row *row, size_t place, struct err *err)
{
	s64 end_ns = cell_integer(row, place);

	if (!nsys_time_fits(end_ns))
		return wrong_type(row, place, "a time in ns from the start of the recording", err);
	if (end_ns < row->start_ns)
		import->backward++;
	row->record->dur = end_ns > row->start_ns ? end_ns - row->start_ns : 0;
	if (import->last_end_ns < end_ns)
		import->last_end_ns = end_ns;
	return 0;
}

static int read_process(struct nsys_import *import, struct row *row, size_t place, struct err *err)
{
	u64 global_tid = cell_integer(row, place);
	int result = nsys_process_get(import, nsys_process(global_tid), &row->process, err);

	if (result < 0)
		return result;
	row->record->pid = nsys_pid(global_tid);
	row->record->source = row->process->source;
	return 0;
}

static int read_thread(struct nsys_import *import, struct row *row, size_t place, struct err *err)
{
	row->record->tid = nsys_tid(cell_integer(row, place));
	return read_process(import, row, place, err);
}

static int read_number(struct nsys_import *import, struct row *row, size_t place, struct err *err)
{
	return set_number(row, place, cell_integer(row, place), err);
}

/* Each process is an id space, so that its lower half tells its calls apart. */
static int read_correlation(struct nsys_import *import, struct row *row, size_t place,
			    struct err *err)
{
	s64 number = cell_integer(row, place);

	if (number < 0)
		return wrong_type(row, place, "a positive number", err);
	return set_number(row, place, (u32)number, err);
}

static int read_scaled(struct nsys_import *import, struct row *row, size_t place, struct err *err)
{
	s64 divisor = row->rows->columns[place].column->other;

	return set_number(row, place, cell_integer(row, place) / divisor, err);
}

static int read_real(struct nsys_import *import, struct row *row, size_t place, struct err *err)
{
	double value = sqlite3_column_double(row->rows->statement, place + 1);
	s64 bits;

	memcpy(&bits, &value, sizeof(bits));
	return set_number(row, place, bits, err);
}

static int read_enum(struct nsys_import *import, struct row *row, size_t place, struct err *err)
{
	const struct bound_column *bound = &row->rows->columns[place];

	schema_field_set(bound->field, row->record, 0,
			 nsys_enum_value(bound->field->reference, cell_integer(row, place)));
	return 0;
}

static int set_id(struct row *row, size_t place, u32 id)
{
	schema_field_set(row->rows->columns[place].field, row->record, 0, id);
	return 0;
}

static int read_string(struct nsys_import *import, struct row *row, size_t place, struct err *err)
{
	u32 id;
	int result = nsys_string_get(import, row->process, cell_integer(row, place), &id, err);

	return result < 0 ? result : set_id(row, place, id);
}

static int read_text(struct nsys_import *import, struct row *row, size_t place, struct err *err)
{
	const char *text = cell_text(row, place);
	u32 id;
	int result =
		text ? nsys_text_get(import, row->process, text, &id, err) : nsys_no_memory(err);

	return result < 0 ? result : set_id(row, place, id);
}

/* Of a table whose condition asks for a number: fills in what the row with it says, where there is one. record: cleared, to be of process. To
 * read a row may take another one. */
static int find_row(struct nsys_import *import, struct nsys_rows *rows, s64 number,
		    struct nsys_process *process, struct record_header *record, struct err *err);

/* Our ids of GPUs are their numbers. The row of TARGET_INFO_GPU: by the process's own numbers where there are such (CUDA_VISIBLE_DEVICES). */
static int gpu_of(struct nsys_import *import, const struct nsys_process *process, u32 device,
		  s64 *ret_gpu, struct err *err)
{
	sqlite3_stmt *statement = import->find_gpu;
	int result;

	*ret_gpu = device;
	if (!statement)
		return 0;
	sqlite3_bind_int64(statement, 1, process->pid);
	sqlite3_bind_int64(statement, 2, device);
	result = nsys_database_step(&import->database, statement, "TARGET_INFO_CUDA_DEVICE", err);
	if (result > 0 && sqlite3_column_type(statement, 0) == SQLITE_INTEGER)
		*ret_gpu = sqlite3_column_int64(statement, 0);
	sqlite3_reset(statement);
	return result < 0 ? result : 0;
}

static int note_device(struct nsys_import *import, struct nsys_process *process, u32 device,
		       struct err *err)
{
	struct record_device fact;
	s64 gpu;
	int result;

	if (device == ~0U || nsys_id_find(process, NSYS_ID_DEVICE, device))
		return 0;
	schema_record_clear(schema_kind(KIND_device), &fact.header);
	result = gpu_of(import, process, device, &gpu, err);
	if (result == 0 && import->gpus)
		result = find_row(import, import->gpus, gpu, process, &fact.header, err);
	if (result < 0)
		return result;
	fact.id = fact.number = device;
	result = nsys_fact_add(import, process, &fact.header, err);
	return result < 0 ? result : nsys_id_set(process, NSYS_ID_DEVICE, device, 1, err);
}

static int read_device(struct nsys_import *import, struct row *row, size_t place, struct err *err)
{
	int result = set_number(row, place, cell_integer(row, place), err);

	if (result < 0)
		return result;
	row->device = cell_integer(row, place);
	return note_device(import, row->process, row->device, err);
}

static int read_context(struct nsys_import *import, struct row *row, size_t place, struct err *err)
{
	int result = set_number(row, place, cell_integer(row, place), err);

	if (result < 0)
		return result;
	row->context = cell_integer(row, place);
	return nsys_context_note(import, row->process, row->device, row->context, err);
}

static int read_stream(struct nsys_import *import, struct row *row, size_t place, struct err *err)
{
	s64 stream = cell_integer(row, place);
	int result = set_number(row, place, stream, err);
	u32 id;

	if (result == 0)
		result = nsys_stream_get(import, row->process, row->device, row->context, stream,
					 &id, err);
	return result < 0 ? result : set_number(row, place, id, err);
}

static int read_symbol(struct nsys_import *import, struct row *row, size_t place, struct err *err)
{
	return nsys_string_get(import, row->process, cell_integer(row, place), &row->symbol, err);
}

static int read_full_name(struct nsys_import *import, struct row *row, size_t place,
			  struct err *err)
{
	return nsys_string_get(import, row->process, cell_integer(row, place), &row->full_name,
			       err);
}

static int read_short_name(struct nsys_import *import, struct row *row, size_t place,
			   struct err *err)
{
	u32 name, id;
	int result = nsys_string_get(import, row->process, cell_integer(row, place), &name, err);

	if (result == 0)
		result = nsys_symbol_get(import, row->process, row->symbol, row->full_name, name,
					 &id, err);
	return result < 0 ? result : set_id(row, place, id);
}

static int read_function(struct nsys_import *import, struct row *row, size_t place, struct err *err)
{
	u32 name, id;
	int result = nsys_string_get(import, row->process, cell_integer(row, place), &name, err);

	if (result == 0)
		result = nsys_function_get(import, row->process, name, &id, err);
	return result < 0 ? result : set_id(row, place, id);
}

static int read_domain(struct nsys_import *import, struct row *row, size_t place, struct err *err)
{
	row->domain = cell_integer(row, place);
	return set_id(row, place, nsys_domain_name(row->process, row->domain));
}

static int read_category(struct nsys_import *import, struct row *row, size_t place, struct err *err)
{
	const struct schema_field *name = schema_field(row->rows->kind, "category_name");
	s64 category = cell_integer(row, place);

	schema_field_set(name, row->record, 0,
			 nsys_category_name(row->process, row->domain, category));
	return set_number(row, place, category, err);
}

/* Its digits, whatever is between them; nothing where they are not as many as they have to be. */
static int read_uuid(struct nsys_import *import, struct row *row, size_t place, struct err *err)
{
	const struct schema_field *field = row->rows->columns[place].field;
	const char *text = cell_text(row, place);
	u8 bytes[32] = {0};
	unsigned digits = 0;

	for (; text && *text && digits < 2U * field->count; text++) {
		static const char hex[] = "0123456789abcdef";
		const char *digit = strchr(hex, *text | 0x20);

		if (*text == '-' || !digit)
			continue;
		bytes[digits / 2] |= (digit - hex) << (digits % 2 ? 0 : 4);
		digits++;
	}
	for (unsigned i = 0; digits == 2U * field->count && i < field->count; i++)
		schema_field_set(field, row->record, i, bytes[i]);
	return 0;
}

static int read_chain(struct nsys_import *import, struct row *row, size_t place,
		      enum nsys_chains chains, struct err *err)
{
	u32 stack;
	int result =
		nsys_stack_get(import, row->process, chains, cell_integer(row, place), &stack, err);

	return result < 0 ? result : set_id(row, place, stack);
}

static int read_cuda_stack(struct nsys_import *import, struct row *row, size_t place,
			   struct err *err)
{
	return read_chain(import, row, place, NSYS_CHAINS_CUDA, err);
}

static int read_os_runtime_stack(struct nsys_import *import, struct row *row, size_t place,
				 struct err *err)
{
	return read_chain(import, row, place, NSYS_CHAINS_OS_RUNTIME, err);
}

static int read_frame_file(struct nsys_import *import, struct row *row, size_t place,
			   struct err *err)
{
	return nsys_string_get(import, row->process, cell_integer(row, place), &row->module, err);
}

static int read_instruction(struct nsys_import *import, struct row *row, size_t place,
			    struct err *err)
{
	u32 stack;
	int result = nsys_instruction_get(
		import, row->process, row->symbol, row->module,
		cell_type(row, place) == SQLITE_NULL ? 0 : cell_integer(row, place), &stack, err);

	return result < 0 ? result : set_id(row, place, stack);
}

static const struct source {
	read_cell *read;
	int type; /* of the cell */
} sources[] = {
	[NSYS_START] = {read_start, SQLITE_INTEGER},
	[NSYS_END] = {read_end, SQLITE_INTEGER},
	[NSYS_THREAD] = {read_thread, SQLITE_INTEGER},
	[NSYS_PROCESS] = {read_process, SQLITE_INTEGER},
	[NSYS_NUMBER] = {read_number, SQLITE_INTEGER},
	[NSYS_CORRELATION] = {read_correlation, SQLITE_INTEGER},
	[NSYS_SCALED] = {read_scaled, SQLITE_INTEGER},
	[NSYS_REAL] = {read_real, SQLITE_FLOAT},
	[NSYS_ENUM] = {read_enum, SQLITE_INTEGER},
	[NSYS_STRING] = {read_string, SQLITE_INTEGER},
	[NSYS_TEXT] = {read_text, SQLITE_TEXT},
	[NSYS_DEVICE] = {read_device, SQLITE_INTEGER},
	[NSYS_CONTEXT] = {read_context, SQLITE_INTEGER},
	[NSYS_STREAM] = {read_stream, SQLITE_INTEGER},
	[NSYS_SYMBOL] = {read_symbol, SQLITE_INTEGER},
	[NSYS_FULL_NAME] = {read_full_name, SQLITE_INTEGER},
	[NSYS_SHORT_NAME] = {read_short_name, SQLITE_INTEGER},
	[NSYS_FUNCTION] = {read_function, SQLITE_INTEGER},
	[NSYS_DOMAIN] = {read_domain, SQLITE_INTEGER},
	[NSYS_CATEGORY] = {read_category, SQLITE_INTEGER},
	[NSYS_UUID] = {read_uuid, SQLITE_TEXT},
	[NSYS_CUDA_STACK] = {read_cuda_stack, SQLITE_INTEGER},
	[NSYS_OS_RUNTIME_STACK] = {read_os_runtime_stack, SQLITE_INTEGER},
	[NSYS_FRAME] = {read_symbol, SQLITE_INTEGER},
	[NSYS_FRAME_FILE] = {read_frame_file, SQLITE_INTEGER},
	[NSYS_INSTRUCTION] = {read_instruction, SQLITE_INTEGER},
};

/* ---- rows ---- */

/* What a cell without a value says. */
static int read_nothing(struct nsys_import *import, struct row *row, size_t place, struct err *err)
{
	const struct bound_column *bound = &row->rows->columns[place];
	const struct nsys_import_column *column = bound->column;

	if (column->need == NSYS_NEEDED && cell_type(row, place) == SQLITE_NULL)
		return wrong_type(row, place, "a value", err);
	/* An instruction has its name. */
	if (column->source == NSYS_INSTRUCTION)
		return read_instruction(import, row, place, err);
	if (column->source == NSYS_END)
		row->record->dur = RECORD_DURATION_OPEN;
	if ((column->source == NSYS_END || column->source == NSYS_CONSTANT) && bound->field)
		schema_field_set(bound->field, row->record, 0, column->other);
	return 0;
}

static int read_row(struct nsys_import *import, struct row *row, struct err *err)
{
	const struct nsys_rows *rows = row->rows;
	int result = 0;

	for (size_t i = 0; i < rows->table->column_count && result == 0; i++) {
		const struct nsys_import_column *column = rows->columns[i].column;
		const struct source *source = &sources[column->source];
		int type = cell_type(row, i);

		if (type == SQLITE_NULL || column->source == NSYS_CONSTANT)
			result = read_nothing(import, row, i, err);
		else if (type != source->type &&
			 !(type == SQLITE_INTEGER && source->type == SQLITE_FLOAT))
			result = wrong_type(
				row, i, source->type == SQLITE_TEXT ? "a text" : "an integer", err);
		else if (source->type != SQLITE_INTEGER || column->source == NSYS_SCALED ||
			 column->other == NSYS_NONE || cell_integer(row, i) != column->other ||
			 column->source == NSYS_END)
			result = source->read(import, row, i, err);
	}
	return result;
}

int nsys_rows_next(struct nsys_import *import, struct nsys_rows *rows, struct record_header *record,
		   struct err *err)
{
	struct row row = {.rows = rows, .record = record, .device = ~0U, .context = ~0U};
	int result = nsys_database_step(&import->database, rows->statement, rows->table->name, err);

	if (result <= 0)
		return result;
	schema_record_clear(rows->kind, record);
	result = nsys_process_get(import, 0, &row.process, err);
	if (result < 0)
		return result;
	record->source = row.process->source;
	result = read_row(import, &row, err);
	return result < 0 ? result : 1;
}

static int find_row(struct nsys_import *import, struct nsys_rows *rows, s64 number,
		    struct nsys_process *process, struct record_header *record, struct err *err)
{
	struct row row = {.rows = rows, .process = process, .record = record};
	int result;

	sqlite3_bind_int64(rows->statement, 1, number);
	result = nsys_database_step(&import->database, rows->statement, rows->table->name, err);
	if (result > 0)
		result = read_row(import, &row, err);
	sqlite3_reset(rows->statement);
	return result < 0 ? result : 0;
}
