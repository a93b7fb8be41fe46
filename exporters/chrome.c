#include "exporters/chrome.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "exporters/chrome_metadata.h"
#include "exporters/chrome_rows.h"
#include "exporters/writer.h"

/* ---- what stands in the args of an event, by kind ---- */

/* clang-format off */
/* Kinds without a row show all their fields, by their own names. */
static const struct chrome_arg_row {
	const char *kind;
	const char *key;    /* of view_key() */
	const char *name;   /* in the args */
	const char *unless; /* this value goes without saying */
} chrome_arg_rows[] = {
	{"call",   "probe.address", "address",     NULL},
	{"call",   "probe.binary",  "binary",      NULL},
	{"call",   "ended",         "ended",       "returned"},
	{"entry",  "probe.address", "address",     NULL},
	{"entry",  "probe.binary",  "binary",      NULL},
	{"entry",  "reason",        "reason",      NULL},
	{"kernel", "device",        "device",      NULL},
	{"kernel", "stream",        "stream",      NULL},
	{"kernel", "correlation",   "correlation", NULL},
};
/* clang-format on */

struct chrome_arg {
	const char *name;
	const char *unless;
	const struct view_key *key;
};

/* The args of one kind, looked up in the view that is written. */
struct chrome_kind {
	struct chrome_arg *args;
	size_t count;
	size_t capacity;
};

struct chrome {
	struct writer writer;
	const struct view *view;
	const struct view_survey *survey;
	struct chrome_rows rows;
	struct chrome_kind *kinds; /* by their place in schema_kinds() */
	size_t kind_count;
	u64 time_base_ns;
	bool any_event; /* the separator stands before all but the first */
};

static const struct chrome_kind *chrome_kind(const struct chrome *chrome,
					     const struct schema_kind *kind)
{
	size_t count;

	return &chrome->kinds[kind - schema_kinds(&count)];
}

static int chrome_add_arg(const struct chrome *chrome, struct chrome_kind *found,
			  const struct schema_kind *kind, const struct chrome_arg_row *row)
{
	const struct view_key *key = view_key(chrome->view, kind, row->key);

	if (!key || array_reserve(&found->args, &found->capacity, found->count + 1) < 0)
		return -ENOMEM;
	found->args[found->count++] =
		(struct chrome_arg){.name = row->name, .unless = row->unless, .key = key};
	return 0;
}

static int chrome_find_args_of_kind(const struct chrome *chrome, struct chrome_kind *found,
				    const struct schema_kind *kind)
{
	int result = 0;

	for (size_t i = 0; i < ARRAY_SIZE(chrome_arg_rows) && result == 0; i++)
		if (strcmp(chrome_arg_rows[i].kind, kind->tag) == 0)
			result = chrome_add_arg(chrome, found, kind, &chrome_arg_rows[i]);
	if (found->count)
		return result;
	for (size_t i = 0; i < kind->field_count && result == 0; i++) {
		const char *name = kind->fields[i].name;
		const struct chrome_arg_row row = {.key = name, .name = name};

		if (kind->fields[i].unit != UNIT_PAD)
			result = chrome_add_arg(chrome, found, kind, &row);
	}
	return result;
}

static int chrome_find_args(struct chrome *chrome, struct err *err)
{
	const struct schema_kind *kinds = schema_kinds(&chrome->kind_count);
	int result = 0;

	chrome->kinds = calloc(chrome->kind_count, sizeof(*chrome->kinds));
	if (!chrome->kinds)
		result = -ENOMEM;
	for (size_t i = 0; i < chrome->kind_count && result == 0; i++)
		if (kinds[i].shape != SHAPE_FACT)
			result = chrome_find_args_of_kind(chrome, &chrome->kinds[i], &kinds[i]);
	return result < 0 ? err_errno(err, result, "can't write %s", chrome->writer.path) : 0;
}

static void chrome_free_args(struct chrome *chrome)
{
	for (size_t i = 0; chrome->kinds && i < chrome->kind_count; i++)
		free(chrome->kinds[i].args);
	free(chrome->kinds);
}

/* ---- values ---- */

static void chrome_append_value(struct text *text, const struct view_value *value)
{
	if (value->type == VALUE_STRING)
		json_append_string(text, value->string);
	else if (value->type == VALUE_HEX)
		json_append_hex(text, value->number);
	else
		json_append_number(text, value->number);
}

static void chrome_append_stack(const struct chrome *chrome, struct text *text, u32 id)
{
	const u64 *addresses;
	size_t depth = view_stack(chrome->view, id, &addresses);

	text_append(text, "\"stack\":");
	json_append_hex_array(text, addresses, depth);
}

/* "args":{...}; nothing when there are none. */
static void chrome_append_args(struct chrome *chrome, struct text *text,
			       const struct view_event *event)
{
	const struct chrome_kind *found = chrome_kind(chrome, event->kind);
	size_t start = text->length, before;

	text_append(text, ",\"args\":{");
	before = text->length;
	for (size_t i = 0; i < found->count; i++) {
		const struct chrome_arg *arg = &found->args[i];
		struct view_value value = view_value(chrome->view, arg->key, event);

		if (value.type == VALUE_ABSENT || (value.type == VALUE_STRING && arg->unless &&
						   strcmp(value.string, arg->unless) == 0))
			continue;
		text_append_bytes(text, ",\"", text->length == before ? 0 : 1);
		text_append_char(text, '"');
		text_append(text, arg->name);
		text_append(text, "\":");
		chrome_append_value(text, &value);
	}
	if (event->open)
		text_append(text, text->length == before ? "\"open\":true" : ",\"open\":true");
	if (event->record->stack) {
		text_append(text, text->length == before ? "" : ",");
		chrome_append_stack(chrome, text, event->record->stack);
	}
	if (text->length == before)
		text->length = start;
	else
		text_append_char(text, '}');
}

/* ---- events ---- */

/* {"ph":"X","cat":"call","name":"main","ts":1.000; phase is one character and what belongs to it.
 */
static void chrome_begin(struct chrome *chrome, const char *phase, size_t phase_length,
			 const char *category, const char *name, u64 ts)
{
	struct text *text = &chrome->writer.text;

	if (chrome->any_event)
		text_append(text, ",\n");
	chrome->any_event = true;
	text_append(text, "{\"ph\":\"");
	text_append_bytes(text, phase, phase_length);
	text_append(text, ",\"cat\":\"");
	text_append(text, category);
	text_append(text, "\",\"name\":");
	json_append_string(text, name);
	text_append(text, ",\"ts\":");
	json_append_us(text, ts > chrome->time_base_ns ? ts - chrome->time_base_ns : 0);
}
#define chrome_begin_event(chrome, phase, event)                                          \
	chrome_begin(chrome, phase, sizeof(phase) - 1, (event)->kind->tag, (event)->name, \
		     (event)->ts)

static int chrome_append_row(struct chrome *chrome, const struct view_event *event, struct err *err)
{
	const struct chrome_lane *lane =
		chrome_rows_lane(&chrome->rows, event->row_index, event->lane);

	if (!lane)
		return err_set(err, -EINVAL,
			       "can't write %s: event on row %zu, lane %u, which the "
			       "survey did not find",
			       chrome->writer.path, event->row_index, event->lane);
	text_append_bytes(&chrome->writer.text, lane->ids, lane->ids_length);
	return 0;
}

static int chrome_finish_event(struct chrome *chrome, const struct view_event *event,
			       struct err *err)
{
	int result = chrome_append_row(chrome, event, err);

	if (result < 0)
		return result;
	chrome_append_args(chrome, &chrome->writer.text, event);
	text_append_char(&chrome->writer.text, '}');
	return writer_flush(&chrome->writer, err);
}

/* An arrow from what launched to what ran. Binding by id binds to the slice itself, where the older
 * s and f events bind to whatever is on top of the row at that moment. */
static void chrome_append_flow(struct text *text, const struct view_event *event)
{
	if (event->launch) {
		text_append(text, ",\"bind_id\":");
		json_append_hex(text, event->launch);
		text_append(text, ",\"flow_out\":true");
	} else if (event->cause) {
		text_append(text, ",\"bind_id\":");
		json_append_hex(text, event->cause->number);
		text_append(text, ",\"flow_in\":true");
	}
}

static int chrome_span(void *data, const struct view_event *event, struct err *err)
{
	struct chrome *chrome = data;

	chrome_begin_event(chrome, "X\"", event);
	text_append(&chrome->writer.text, ",\"dur\":");
	json_append_us(&chrome->writer.text, event->dur);
	chrome_append_flow(&chrome->writer.text, event);
	return chrome_finish_event(chrome, event, err);
}

static int chrome_point(void *data, const struct view_event *event, struct err *err)
{
	struct chrome *chrome = data;

	if (event->row->type == ROW_PROCESS)
		chrome_begin_event(chrome, "i\",\"s\":\"p\"", event);
	else
		chrome_begin_event(chrome, "i\",\"s\":\"t\"", event);
	return chrome_finish_event(chrome, event, err);
}

static bool chrome_has_args(struct chrome *chrome, const struct view_event *event)
{
	const struct chrome_kind *found = chrome_kind(chrome, event->kind);

	for (size_t i = 0; i < found->count; i++)
		if (view_value(chrome->view, found->args[i].key, event).type != VALUE_ABSENT)
			return true;
	return false;
}

static int chrome_counter(void *data, const struct view_event *event, struct err *err)
{
	struct chrome *chrome = data;

	/* A counter without a value would be read as no event at all. */
	if (!chrome_has_args(chrome, event))
		return 0;
	chrome_begin_event(chrome, "C\"", event);
	return chrome_finish_event(chrome, event, err);
}

/* Sums over a time have no place on a time line: they stand as a point where that time begins. */
static int chrome_total(void *data, const struct view_event *event, struct err *err)
{
	return chrome_point(data, event, err);
}

/* ---- begin and end ---- */

/* Viewers do not show the metadata, so what is missing is said by a bar over the whole window too.
 */
static void chrome_append_incomplete(struct chrome *chrome)
{
	const struct view_survey *survey = chrome->survey;
	struct text *text = &chrome->writer.text;

	chrome->any_event = false;
	chrome_begin(chrome, "X\"", strlen("X\""), "gpuprobe",
		     survey->cut ? "the recording was cut: what came later is missing"
				 : "something is missing: see the losses",
		     survey->window_start_ns);
	text_append(text, ",\"dur\":");
	json_append_us(text, survey->window_end_ns - survey->window_start_ns);
	text_appendf(text, ",\"pid\":%u,\"tid\":%u,\"args\":{\"losses\":", chrome->rows.own_pid,
		     chrome->rows.own_tid);
	chrome_append_losses(survey, text);
	text_append(text, "}},\n");
}

static int chrome_open(void *data, const struct view *view, const struct view_survey *survey,
		       struct err *err)
{
	struct chrome *chrome = data;
	struct text *text = &chrome->writer.text;
	int result;

	chrome->view = view;
	chrome->survey = survey;
	chrome->time_base_ns = chrome_time_base_ns(survey);
	result = chrome_find_args(chrome, err);
	if (result == 0)
		result = chrome_rows_make(&chrome->rows, survey, !chrome_capture_complete(survey),
					  err);
	if (result < 0)
		return result;
	text_append(text, "{\"displayTimeUnit\":\"ns\",\n");
	chrome_append_metadata(survey, text);
	text_append(text, ",\n\"traceEvents\":[\n");
	chrome_rows_append_names(&chrome->rows, view, text);
	if (chrome->rows.own_pid)
		chrome_append_incomplete(chrome);
	/* The separator that stands behind the last line goes before the first event again. */
	if (chrome->rows.process_count || chrome->rows.own_pid) {
		text->length -= strlen(",\n");
		chrome->any_event = true;
	}
	return writer_flush(&chrome->writer, err);
}

static int chrome_close(void *data, struct err *err)
{
	struct chrome *chrome = data;

	text_append(&chrome->writer.text, chrome->any_event ? "\n]}\n" : "]}\n");
	return writer_flush(&chrome->writer, err);
}

const struct view_sink chrome_sink = {
	.open = chrome_open,
	.span = chrome_span,
	.point = chrome_point,
	.counter = chrome_counter,
	.total = chrome_total,
	.close = chrome_close,
};

int chrome_create(const char *path, bool gzip, void **ret_data, struct err *err)
{
	struct chrome *chrome _cleanup_free_ = calloc(1, sizeof(*chrome));
	int result;

	if (!chrome)
		return err_set(err, -ENOMEM, "can't write %s: out of memory", path);
	result = writer_create(&chrome->writer, path, gzip, err);
	if (result < 0)
		return result;
	*ret_data = take_pointer(&chrome);
	return 0;
}

int chrome_finish(void *data, bool commit, u64 *ret_size_bytes, struct err *err)
{
	struct chrome *chrome = data;
	int result = writer_finish(&chrome->writer, commit, ret_size_bytes, err);

	chrome_free_args(chrome);
	chrome_rows_free(&chrome->rows);
	free(chrome);
	return result;
}
