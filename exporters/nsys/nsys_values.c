/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/nsys/nsys_values.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "exporters/nsys/database.h"

u64 nsys_values_string(struct nsys_values *values, const char *string)
{
	s64 number = string_table_add(&values->strings, string, strlen(string));

	return number < 0 ? 0 : (u64)number + 1;
}

#define NO_NAME "[Unknown]"

static u64 string_or_none(struct nsys_values *values, const char *string)
{
	return nsys_values_string(values, string[0] ? string : NO_NAME);
}

u64 nsys_values_frame(struct nsys_values *values, const struct view_frame *frame, u64 *ret_module)
{
	struct text name _cleanup_text_ = {0};

	if (frame->name[0] || frame->module[0] || frame->address)
		view_frame_append_name(frame, &name);
	*ret_module = string_or_none(values, frame->module);
	return string_or_none(values, text_string(&name));
}

/* ---- making ready ---- */

#define SQLITE "sqlite" /* who looks up, in messages */

/* "grid[1]" -> "grid", 1 */
static int prepare_key(const struct view *view, const struct schema_kind *kind,
		       struct nsys_bound_column *bound, struct err *err)
{
	const char *key = bound->column->key;
	size_t length = strcspn(key, "[");
	char name[64];

	bound->element = key[length] ? atoi(key + length + 1) : -1;
	snprintf(name, sizeof(name), "%.*s", (int)length, key);
	return view_key(view, SQLITE, kind, name, &bound->key, err);
}

static int prepare_field(const struct schema_kind *kind, const char *name,
			 const struct schema_field **ret_field, struct err *err)
{
	*ret_field = schema_field(kind, name);
	if (*ret_field)
		return 0;
	return err_set(err, -EINVAL, SQLITE ": %s has no field '%s'", kind->tag, name);
}

static int prepare_enum(const struct schema_kind *kind, struct nsys_bound_column *bound,
			struct err *err)
{
	int result = prepare_field(kind, bound->column->key, &bound->field, err);

	if (result < 0)
		return result;
	if (bound->field->unit != UNIT_ENUM)
		return err_set(err, -EINVAL, SQLITE ": '%s' of %s is no enum", bound->column->key,
			       kind->tag);
	for (u32 i = 0; i < NSYS_ENUM_MAX; i++)
		bound->numbers[i] = nsys_enum_number(bound->field->reference, i);
	return 0;
}

static int prepare_category(const struct view *view, const struct schema_kind *kind,
			    struct nsys_bound_column *bound, struct err *err)
{
	int result = view_key(view, SQLITE, kind, SCHEMA_FIELD(range, category), &bound->key, err);

	if (result == 0)
		result =
			prepare_field(kind, SCHEMA_FIELD(range, category_name), &bound->field, err);
	return result < 0 ? result
			  : prepare_field(kind, SCHEMA_FIELD(range, domain), &bound->domain, err);
}

static int prepare_column(const struct view *view, const struct schema_kind *kind,
			  struct nsys_bound_column *bound, struct err *err)
{
	const struct nsys_column *column = bound->column;

	switch (column->source) {
	case NSYS_KEY:
		return prepare_key(view, kind, bound, err);
	case NSYS_SHORT_NAME:
		return view_key(view, SQLITE, kind, "short_name", &bound->key, err);
	case NSYS_DOMAIN:
		return prepare_field(kind, SCHEMA_FIELD(range, domain), &bound->field, err);
	case NSYS_CATEGORY:
		return prepare_category(view, kind, bound, err);
	case NSYS_ENUM:
		return prepare_enum(kind, bound, err);
	default:
		return 0;
	}
}

int nsys_values_prepare(const struct nsys_values *values, const struct nsys_table *table,
			struct nsys_bound_column **ret_columns, struct err *err)
{
	const struct schema_kind *kind = schema_kind(table->kind);
	_cleanup_free_ struct nsys_bound_column *columns =
		calloc(table->column_count, sizeof(*columns));

	if (!columns)
		return err_errno(err, -ENOMEM, "can't write the table %s", table->name);
	for (size_t i = 0; i < table->column_count; i++) {
		int result;

		columns[i].column = &table->columns[i];
		result = prepare_column(values->view, kind, &columns[i], err);
		if (result < 0)
			return result;
	}
	*ret_columns = columns;
	columns = NULL;
	return 0;
}

/* ---- binding ---- */

/* What a column gets. */
struct value {
	enum { VALUE_NOTHING, VALUE_INTEGER, VALUE_REAL, VALUE_TEXT } type;
	s64 integer;
	double real;
	const char *text;
};

typedef struct value value_of(struct nsys_values *values, const struct nsys_bound_column *column,
			      const struct view_event *event);

static struct value integer(u64 number)
{
	return (struct value){VALUE_INTEGER, .integer = (s64)number};
}

static struct value nothing(void)
{
	return (struct value){VALUE_NOTHING};
}

static struct value string_id(struct nsys_values *values, const char *string)
{
	u64 id = nsys_values_string(values, string);

	return id ? integer(id) : nothing();
}

static struct value offset(const struct nsys_values *values, u64 ts)
{
	return integer(ts > values->start_ns ? ts - values->start_ns : 0);
}

static struct value value_of_start(struct nsys_values *values,
				   const struct nsys_bound_column *column,
				   const struct view_event *event)
{
	return offset(values, event->ts);
}

static struct value value_of_end(struct nsys_values *values, const struct nsys_bound_column *column,
				 const struct view_event *event)
{
	return offset(values, event->end);
}

static struct value value_of_known_end(struct nsys_values *values,
				       const struct nsys_bound_column *column,
				       const struct view_event *event)
{
	return event->open ? nothing() : offset(values, event->end);
}

static struct value value_of_thread(struct nsys_values *values,
				    const struct nsys_bound_column *column,
				    const struct view_event *event)
{
	return integer(nsys_global_tid(event->record->pid, event->record->tid));
}

static struct value value_of_process(struct nsys_values *values,
				     const struct nsys_bound_column *column,
				     const struct view_event *event)
{
	return integer(nsys_global_tid(event->record->pid, 0));
}

static struct value value_of_key(struct nsys_values *values, const struct nsys_bound_column *column,
				 const struct view_event *event)
{
	struct view_value value;

	value = view_value(values->view, column->key, event);
	switch (value.type) {
	case VALUE_ARRAY:
		if (column->element < 0 || (unsigned)column->element >= value.count)
			return nothing();
		return integer(value.numbers[column->element]);
	case VALUE_U64:
	case VALUE_S64:
	case VALUE_HEX:
		return integer(value.number);
	case VALUE_DECIMAL:
		return (struct value){VALUE_REAL, .real = value.decimal};
	default:
		return nothing();
	}
}

static struct value value_of_name(struct nsys_values *values,
				  const struct nsys_bound_column *column,
				  const struct view_event *event)
{
	return string_id(values, event->name);
}

static struct value value_of_text_name(struct nsys_values *values,
				       const struct nsys_bound_column *column,
				       const struct view_event *event)
{
	return (struct value){VALUE_TEXT, .text = event->name};
}

static struct value value_of_short_name(struct nsys_values *values,
					const struct nsys_bound_column *column,
					const struct view_event *event)
{
	struct view_value value = view_value(values->view, column->key, event);

	return string_id(values, value.type == VALUE_STRING ? value.string : event->name);
}

static struct value value_of_symbol(struct nsys_values *values,
				    const struct nsys_bound_column *column,
				    const struct view_event *event)
{
	const char *name = view_text(values->view, event->record->name);

	return string_id(values, name ? name : event->name);
}

static struct value value_of_enum(struct nsys_values *values,
				  const struct nsys_bound_column *column,
				  const struct view_event *event)
{
	u64 ours = schema_field_value(column->field, event->record, 0);

	if (ours >= NSYS_ENUM_MAX || column->numbers[ours] == NSYS_NONE)
		return nothing();
	return integer(column->numbers[ours]);
}

/* 0 is the one that has no name; NSYS_NONE without memory. */
static s64 domain_number(struct nsys_values *values, const struct schema_field *field,
			 const struct view_event *event)
{
	u32 id = schema_field_value(field, event->record, 0);
	struct nsys_item domain = {.pid = event->record->pid,
				   .tid = event->record->tid,
				   .name = view_text(values->view, id)};
	u64 number;

	if (!domain.name)
		return 0;
	number = nsys_list_note(&values->lists[NSYS_DOMAINS], domain.pid, id, &domain);
	return number ? (s64)number : NSYS_NONE;
}

static struct value value_of_domain(struct nsys_values *values,
				    const struct nsys_bound_column *column,
				    const struct view_event *event)
{
	s64 number = domain_number(values, column->field, event);

	return number == NSYS_NONE ? nothing() : integer(number);
}

/* The number is the program's, and its domain's. */
static struct value value_of_category(struct nsys_values *values,
				      const struct nsys_bound_column *column,
				      const struct view_event *event)
{
	u32 id = schema_field_value(column->field, event->record, 0);
	struct value number = value_of_key(values, column, event);
	struct nsys_item category = {.pid = event->record->pid,
				     .tid = event->record->tid,
				     .name = view_text(values->view, id),
				     .category = number.integer};

	if (!category.name || number.type != VALUE_INTEGER)
		return number;
	category.domain = domain_number(values, column->domain, event);
	nsys_list_note(&values->lists[NSYS_CATEGORIES], (u64)category.pid << 32 | category.category,
		       (u64)category.domain << 32 | id, &category);
	return number;
}

static struct value value_of_stack(struct nsys_values *values,
				   const struct nsys_bound_column *column,
				   const struct view_event *event)
{
	bool of_cuda = column->column->source == NSYS_CUDA_STACK;
	enum nsys_list_type list = of_cuda ? NSYS_CUDA_STACKS : NSYS_OSRT_STACKS;
	struct nsys_item stack = {.pid = event->record->pid, .id = event->record->stack};
	u64 number;

	/* One that was taken as a function of CUDA was entered. */
	if (!stack.id && of_cuda)
		stack.id = event->stack.stack;
	if (!stack.id)
		return nothing();
	number = nsys_list_note(&values->lists[list], stack.pid, stack.id, &stack);
	return number ? integer(number) : nothing();
}

static struct value value_of_sample(struct nsys_values *values,
				    const struct nsys_bound_column *column,
				    const struct view_event *event)
{
	struct nsys_list *list = &values->lists[NSYS_SAMPLE_STACKS];
	const struct nsys_item stack = {.pid = event->record->pid, .id = event->record->stack};

	return integer(nsys_list_note(list, list->count, 0, &stack));
}

static struct nsys_nesting *nesting_of(struct nsys_values *values, u32 pid, u32 tid)
{
	const u64 *there = map_find(&values->thread_numbers, pid, tid);

	if (there)
		return &values->threads[*there];
	if (array_reserve(&values->threads, &values->thread_capacity, values->thread_count + 1) <
		    0 ||
	    map_set(&values->thread_numbers, pid, tid, values->thread_count) < 0)
		return NULL;
	values->threads[values->thread_count].depth = 0;
	return &values->threads[values->thread_count++];
}

/* In how many calls of the same table it lies: they come in the order of their start. */
static struct value value_of_nesting(struct nsys_values *values,
				     const struct nsys_bound_column *column,
				     const struct view_event *event)
{
	struct nsys_nesting *nesting = nesting_of(values, event->record->pid, event->record->tid);
	u32 depth;

	if (!nesting)
		return nothing();
	while (nesting->depth && nesting->ends[nesting->depth - 1] <= event->ts)
		nesting->depth--;
	depth = nesting->depth;
	if (depth < NSYS_NESTING_MAX)
		nesting->ends[nesting->depth++] = event->end;
	return integer(depth);
}

/* The innermost one; false: there is none. */
static bool find_frame(const struct nsys_values *values, const struct view_event *event,
		       struct view_frame *ret_frame)
{
	const struct view_frame *frames;
	const char *cut;

	if (!view_frames(values->view, event->record->pid, event->record->stack, &frames, &cut))
		return false;
	*ret_frame = frames[0];
	return true;
}

static struct value value_of_frame(struct nsys_values *values,
				   const struct nsys_bound_column *column,
				   const struct view_event *event)
{
	struct view_frame frame = {.name = "", .module = "", .file_address = ~0ULL};
	u64 module, name;

	find_frame(values, event, &frame);
	name = nsys_values_frame(values, &frame, &module);
	return integer(column->column->source == NSYS_FRAME ? name : module);
}

static struct value value_of_frame_address(struct nsys_values *values,
					   const struct nsys_bound_column *column,
					   const struct view_event *event)
{
	struct view_frame frame;

	return find_frame(values, event, &frame) ? integer(frame.address) : nothing();
}

static struct value value_of_number(struct nsys_values *values,
				    const struct nsys_bound_column *column,
				    const struct view_event *event)
{
	return integer(++values->last_number);
}

/* What the column says for what is not known. */
static struct value value_of_constant(struct nsys_values *values,
				      const struct nsys_bound_column *column,
				      const struct view_event *event)
{
	return nothing();
}

static value_of *const sources[] = {
	[NSYS_START] = value_of_start,
	[NSYS_END] = value_of_end,
	[NSYS_KNOWN_END] = value_of_known_end,
	[NSYS_THREAD] = value_of_thread,
	[NSYS_PROCESS] = value_of_process,
	[NSYS_KEY] = value_of_key,
	[NSYS_NAME] = value_of_name,
	[NSYS_TEXT_NAME] = value_of_text_name,
	[NSYS_SHORT_NAME] = value_of_short_name,
	[NSYS_SYMBOL] = value_of_symbol,
	[NSYS_ENUM] = value_of_enum,
	[NSYS_DOMAIN] = value_of_domain,
	[NSYS_CATEGORY] = value_of_category,
	[NSYS_CUDA_STACK] = value_of_stack,
	[NSYS_OS_RUNTIME_STACK] = value_of_stack,
	[NSYS_SAMPLE_STACK] = value_of_sample,
	[NSYS_NESTING] = value_of_nesting,
	[NSYS_FRAME] = value_of_frame,
	[NSYS_FRAME_FILE] = value_of_frame,
	[NSYS_FRAME_ADDRESS] = value_of_frame_address,
	[NSYS_NUMBER] = value_of_number,
	[NSYS_CONSTANT] = value_of_constant,
};

static int bind_value(sqlite3_stmt *statement, int place, const struct value *value)
{
	switch (value->type) {
	case VALUE_INTEGER:
		return sqlite3_bind_int64(statement, place, value->integer);
	case VALUE_REAL:
		return sqlite3_bind_double(statement, place, value->real);
	case VALUE_TEXT:
		return database_bind_text(statement, place, value->text);
	default:
		return sqlite3_bind_null(statement, place);
	}
}

int nsys_values_bind(struct nsys_values *values, const struct nsys_table *table,
		     const struct nsys_bound_column *columns, const struct view_event *event,
		     sqlite3_stmt *statement)
{
	int result = SQLITE_OK;

	for (size_t i = 0; i < table->column_count && result == SQLITE_OK; i++) {
		const struct nsys_column *column = columns[i].column;
		struct value value = sources[column->source](values, &columns[i], event);

		if (value.type == VALUE_NOTHING && column->other != NSYS_NONE)
			value = integer(column->other);
		else if (value.type == VALUE_NOTHING && column->type == NSYS_NEEDED)
			value = integer(0);
		result = bind_value(statement, i + 1, &value);
	}
	return result == SQLITE_OK ? 0 : -ENOMEM;
}

void nsys_values_free(struct nsys_values *values)
{
	string_table_free(&values->strings);
	for (size_t i = 0; i < NSYS_LISTS; i++)
		nsys_list_free(&values->lists[i]);
	map_free(&values->thread_numbers);
	free(values->threads);
}
