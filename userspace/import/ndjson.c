/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "import/ndjson.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/nearest.h"
#include "import/ndjson_values.h"
#include "store/capture_writer.h"

#define LINE_MAX_BYTES (1U << 20)
#define BATCH_BYTES    (8U << 20)
#define SOURCES_MAX    256
#define SOURCE_DEFAULT 3

struct import {
	struct import_context context;
	struct import_source *sources[SOURCES_MAX];
	size_t source_count;
	struct capture_writer *writer;
	struct record_header *record; /* room for one */
	/* Lines. */
	int fd;
	char *buffer; /* LINE_MAX_BYTES and a bit */
	size_t start, end;
	bool at_end;
};

/* ---- lines ---- */

/* The next line without its newline: 1, or 0 at the end. Valid until the next call. */
static int next_line(struct import *import, const char **ret_line, size_t *ret_length,
		     struct err *err)
{
	import->context.line++;
	for (;;) {
		char *line = import->buffer + import->start, *newline;
		size_t rest = import->end - import->start;
		ssize_t got;

		newline = rest ? memchr(line, '\n', rest) : NULL;
		if (newline || (import->at_end && rest)) {
			*ret_line = line;
			*ret_length = newline ? (size_t)(newline - line) : rest;
			import->start += *ret_length + (newline != NULL);
			return 1;
		}
		if (import->at_end)
			return 0;
		if (rest > LINE_MAX_BYTES)
			return import_error(&import->context, err, "the line is longer than 1 MiB");
		memmove(import->buffer, line, rest);
		import->start = 0;
		import->end = rest;
		got = read(import->fd, import->buffer + rest, 2 * LINE_MAX_BYTES - rest);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_errno(err, -errno, "can't read %s", import->context.path);
		import->at_end = got == 0;
		import->end += got;
	}
}

static bool is_blank(const char *line, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!strchr(" \t\r", line[i]) || !line[i])
			return false;
	return true;
}

/* ---- sources ---- */

static int import_use_source(struct import *import, json_t *object, struct err *err)
{
	json_t *value = json_object_get(object, "source");
	u32 number = SOURCE_DEFAULT;
	struct import_source *source;
	size_t count;

	if (value) {
		if (!json_is_integer(value) || json_integer_value(value) < 0 ||
		    json_integer_value(value) > UINT32_MAX)
			return import_error(&import->context, err, "source: expected an integer");
		number = json_integer_value(value);
	}
	for (size_t i = 0; i < import->source_count; i++)
		if (import->sources[i]->source == number) {
			import->context.source = import->sources[i];
			return 0;
		}
	if (import->source_count == SOURCES_MAX)
		return import_error(&import->context, err, "more than %u sources", SOURCES_MAX);
	schema_kinds(&count);
	source = calloc(1, sizeof(*source));
	if (source)
		source->labels = calloc(count, sizeof(*source->labels));
	if (!source || !source->labels) {
		free(source);
		return err_errno(err, -ENOMEM, "can't read %s", import->context.path);
	}
	source->source = source->texts.source = number;
	import->sources[import->source_count++] = source;
	import->context.source = source;
	return 0;
}

static void source_free(struct import_source *source)
{
	size_t count;

	schema_kinds(&count);
	for (size_t i = 0; i < count; i++) {
		string_table_free(&source->labels[i].table);
		free(source->labels[i].has_fact);
	}
	free(source->labels);
	text_ids_free(&source->texts);
	string_table_free(&source->stacks);
	free(source);
}

/* ---- records ---- */

static int import_kind(struct import *import, json_t *object, const struct schema_kind **ret_kind,
		       struct err *err)
{
	const char *tag = json_string_value(json_object_get(object, "kind"));
	const struct schema_kind *kinds, *kind;
	struct nearest nearest = {.word = tag};
	size_t count;

	if (!tag)
		return import_error(&import->context, err,
				    "\"kind\" is missing: every line says what it is");
	kind = schema_kind_by_tag(tag);
	if (!kind) {
		kinds = schema_kinds(&count);
		for (size_t i = 0; i < count; i++)
			nearest_offer(&nearest, kinds[i].tag);
		return import_error(&import->context, err, "unknown kind \"%.80s\"%s", tag,
				    nearest_hint(&nearest, ""));
	}
	if (kind->tail != TAIL_NONE && kind->tail != TAIL_ARGS)
		return import_error(&import->context, err,
				    "a %s has no line of its own: it is written where it is used",
				    tag);
	*ret_kind = kind;
	return 0;
}

static int unknown_field(const struct import *import, const struct schema_kind *kind,
			 const char *key, struct err *err)
{
	struct nearest nearest = {.word = key};
	size_t count;
	const struct schema_field *header = schema_header_fields(&count);

	for (size_t i = 0; i < count; i++)
		nearest_offer(&nearest, header[i].name);
	for (size_t i = 0; i < kind->field_count; i++)
		if (kind->fields[i].unit != UNIT_PAD)
			nearest_offer(&nearest, kind->fields[i].name);
	return import_error(&import->context, err, "unknown field of %s \"%.80s\"%s", kind->tag,
			    key, nearest_hint(&nearest, ""));
}

/* What goes without saying: a span without "dur" is open, and so is a window. */
static u64 default_duration(const struct schema_kind *kind)
{
	bool open = kind->shape == SHAPE_SPAN || kind->number == KIND_window;

	return open ? RECORD_DURATION_OPEN : 0;
}

/* What a line says of its stack stands in the fact of that. */
static int import_stack_end(struct import *import, json_t *object, struct err *err)
{
	struct import_context *context = &import->context;
	json_t *end = json_object_get(object, "stack_end");
	json_t *guessed = json_object_get(object, "stack_guessed");
	json_t *first = json_object_get(object, "stack_guessed_first");
	json_t *rest = json_object_get(object, "stack_guessed_rest");
	const struct schema_enum_value *value =
		json_is_string(end) ? schema_enum_by_tag("stack_end", json_string_value(end))
				    : NULL;

	context->stack_end = value ? (u8)value->number : 0;
	context->stack_guessed = (u8)json_integer_value(guessed);
	context->stack_guessed_first = (u64)json_integer_value(first);
	context->stack_guessed_rest = (u64)json_integer_value(rest);
	if (end && !value)
		return import_error(context, err, "stack_end: expected how a stack ends");
	if (guessed && (!json_is_integer(guessed) || json_integer_value(guessed) < 0 ||
			json_integer_value(guessed) > UINT8_MAX))
		return import_error(context, err, "stack_guessed: expected a number up to %u",
				    UINT8_MAX);
	return 0;
}

static bool is_of_stack(const char *key)
{
	return strcmp(key, "stack_end") == 0 || strncmp(key, "stack_guessed", 13) == 0;
}

static int import_fields(struct import *import, const struct schema_kind *kind, json_t *object,
			 struct record_header *record, struct err *err)
{
	const char *key;
	json_t *value, *args = NULL;

	json_object_foreach(object, key, value)
	{
		const struct schema_field *field = schema_field_or_header(kind, key);
		int result;

		if (strcmp(key, "kind") == 0 || is_of_stack(key))
			continue;
		if (kind->tail == TAIL_ARGS && strcmp(key, "args") == 0) {
			args = value;
			continue;
		}
		if (!field || field->unit == UNIT_PAD || field == schema_tail_field(kind))
			return unknown_field(import, kind, key, err);
		result = import_set_field(&import->context, kind, field, value, record, err);
		if (result < 0)
			return result;
	}
	return args ? import_set_args(&import->context, kind, args, record, err) : 0;
}

/* A fact with an id needs one; marks that its label has a fact. */
static int import_note_fact(struct import *import, const struct schema_kind *kind,
			    const struct record_header *record, struct err *err)
{
	const struct schema_field *id = schema_id_field(kind);
	size_t count, place = kind - schema_kinds(&count);

	if (!id)
		return 0;
	if (schema_field_absent(id, record))
		return import_error(&import->context, err, "\"id\" is missing: a %s needs one",
				    kind->tag);
	import->context.source->labels[place].has_fact[schema_field_value(id, record, 0) - 1] =
		true;
	return 0;
}

static int import_record(struct import *import, json_t *object, struct err *err)
{
	struct record_header *record = import->record;
	const struct schema_kind *kind = NULL;
	int result = import_kind(import, object, &kind, err);

	if (result == 0)
		result = import_use_source(import, object, err);
	if (result < 0)
		return result;
	schema_record_clear(kind, record);
	record->source = import->context.source->source;
	record->dur = default_duration(kind);
	if (kind->shape != SHAPE_FACT && !json_object_get(object, "ts"))
		return import_error(&import->context, err, "\"ts\" is missing: a %s needs it",
				    kind->tag);
	result = import_stack_end(import, object, err);
	if (result == 0)
		result = import_fields(import, kind, object, record, err);
	if (result == 0 && kind->shape == SHAPE_FACT)
		result = import_note_fact(import, kind, record, err);
	if (result < 0)
		return result;
	if (batch_add(import->context.batch, record) < 0)
		return err_errno(err, -ENOMEM, "can't read %s", import->context.path);
	return 0;
}

static int import_line(struct import *import, const char *line, size_t length, struct err *err)
{
	json_error_t error;
	json_t *object;
	int result;

	if (is_blank(line, length))
		return 0;
	object = json_loadb(line, length, JSON_REJECT_DUPLICATES, &error);
	if (!object)
		return import_error(&import->context, err, "no JSON object: %s (column %d)",
				    error.text, error.column);
	if (json_is_object(object))
		result = import_record(import, object, err);
	else
		result = import_error(&import->context, err, "expected a JSON object");
	json_decref(object);
	return result;
}

/* ---- the file ---- */

static int import_flush(struct import *import, struct err *err)
{
	int result = capture_writer_append(import->writer, import->context.batch, err);

	batch_clear(import->context.batch);
	return result;
}

/* A label without a fact is the name of one. */
static int make_up_facts(struct import *import, struct import_source *source,
			 const struct schema_kind *kind, struct import_labels *labels,
			 struct err *err)
{
	struct record_header *record = import->record;
	struct batch *batch = import->context.batch;

	for (size_t i = 0; i < labels->table.count; i++) {
		if (labels->has_fact[i])
			continue;
		schema_record_clear(kind, record);
		record->source = source->source;
		schema_field_set(schema_id_field(kind), record, 0, i + 1);
		if (text_ids_get(&source->texts, batch, labels->table.strings[i], &record->name) <
			    0 ||
		    batch_add(batch, record) < 0)
			return err_errno(err, -ENOMEM, "can't read %s", import->context.path);
	}
	return 0;
}

static int import_finish(struct import *import, struct err *err)
{
	size_t count;
	const struct schema_kind *kinds = schema_kinds(&count);
	int result;

	for (size_t i = 0; i < import->source_count; i++)
		for (size_t j = 0; j < count; j++) {
			result = make_up_facts(import, import->sources[i], &kinds[j],
					       &import->sources[i]->labels[j], err);
			if (result < 0)
				return result;
		}
	result = import_flush(import, err);
	return result < 0 ? result : capture_writer_finish(import->writer, err);
}

static int import_lines(struct import *import, struct err *err)
{
	const char *line = NULL;
	size_t length = 0;
	int result;

	while ((result = next_line(import, &line, &length, err)) > 0) {
		result = import_line(import, line, length, err);
		if (result == 0 && batch_size_bytes(import->context.batch) > BATCH_BYTES)
			result = import_flush(import, err);
		if (result < 0)
			return result;
	}
	return result < 0 ? result : import_finish(import, err);
}

/* A file without a name; in memory where no folder takes one. */
static int open_temporary(struct err *err)
{
	const char *folder = getenv("TMPDIR");
	int fd = open(folder && *folder ? folder : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		fd = memfd_create("gpuprobe-import", MFD_CLOEXEC);
	if (fd < 0)
		return err_errno(err, -errno, "can't make a temporary file for the import");
	return fd;
}

static void import_clean(struct import *import)
{
	for (size_t i = 0; i < import->source_count; i++)
		source_free(import->sources[i]);
	capture_writer_free(import->writer);
	batch_free(import->context.batch);
	free(import->record);
	free(import->buffer);
}

int import_ndjson(int fd, const char *path, int *ret_capture_fd, struct err *err)
{
	struct import import _cleanup_(import_clean) = {.fd = fd, .context.path = path};
	int capture_fd _cleanup_close_ = open_temporary(err), result;

	if (capture_fd < 0)
		return capture_fd;
	import.buffer = malloc(2 * LINE_MAX_BYTES);
	import.record = malloc(RECORD_SIZE_MAX_BYTES);
	if (!import.buffer || !import.record || batch_create(&import.context.batch) < 0)
		return err_errno(err, -ENOMEM, "can't read %s", path);
	result = capture_writer_create(capture_fd, &import.writer, err);
	if (result == 0)
		result = import_lines(&import, err);
	if (result < 0)
		return result;
	*ret_capture_fd = take_fd(&capture_fd);
	return 0;
}
