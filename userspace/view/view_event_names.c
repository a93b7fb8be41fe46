/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an event is called. Records with a name show it as people write it (kernels demangled, API calls without
 * their version); nameless ones are named from their fields, in the words of other CUDA tools.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/demangle.h"
#include "base/text.h"
#include "view/view_parts.h"

/* Beyond them nameless records are called by their kind: fields come from the target. */
#define MADE_NAMES_MAX 65536

/* clang-format off */
/* Each {} is the word for the value of the next of the fields. */
static const struct name_row {
	u16 kind;
	const char *pattern;
	const char *fields[VIEW_NAME_FIELDS_MAX];
} name_rows[] = {
	{KIND_copy,            "Memcpy {} ({} -> {})", {SCHEMA_FIELD(copy, direction), SCHEMA_FIELD(copy, from), SCHEMA_FIELD(copy, to)}},
	{KIND_set,             "Memset ({})",         {SCHEMA_FIELD(set, memory)}},
	{KIND_sync,            "{}",                  {SCHEMA_FIELD(sync, type)}},
	{KIND_graph_launch,    "CUDA graph {}",       {SCHEMA_FIELD(graph_launch, graph)}},
	{KIND_overhead,        "{}",                  {SCHEMA_FIELD(overhead, type)}},
	{KIND_migration,       "{}",                  {SCHEMA_FIELD(migration, type)}},
	{KIND_gpu_memory,      "{} ({})",             {SCHEMA_FIELD(gpu_memory, operation), SCHEMA_FIELD(gpu_memory, memory)}},
	{KIND_gpu_pool,        "Memory pool {}",      {SCHEMA_FIELD(gpu_pool, operation)}},
	{KIND_gpu_event,       "cudaEvent",           {}},
	{KIND_gpu_environment, "GPU",                 {}},
	{KIND_process_memory,  "Process memory",      {}},
	{KIND_probing,         "gpuprobe",            {}},
	{KIND_range,           VIEW_UNNAMED_RANGE,    {}},
	{KIND_process_range,   VIEW_UNNAMED_RANGE,    {}},
};

static const struct word_row {
	const char *enum_name;
	u32 number;
	const char *word;
} word_rows[] = {
#define WORD(enum_name, tag, word) {#enum_name, VALUE_##enum_name##_##tag, word}
	WORD(copy_direction,   host_to_device,     "HtoD"),
	WORD(copy_direction,   device_to_host,     "DtoH"),
	WORD(copy_direction,   host_to_array,      "HtoA"),
	WORD(copy_direction,   array_to_host,      "AtoH"),
	WORD(copy_direction,   array_to_array,     "AtoA"),
	WORD(copy_direction,   array_to_device,    "AtoD"),
	WORD(copy_direction,   device_to_array,    "DtoA"),
	WORD(copy_direction,   device_to_device,   "DtoD"),
	WORD(copy_direction,   host_to_host,       "HtoH"),
	WORD(copy_direction,   peer_to_peer,       "PtoP"),
	WORD(memory_kind,      pageable,           "Pageable"),
	WORD(memory_kind,      pinned,             "Pinned"),
	WORD(memory_kind,      device,             "Device"),
	WORD(memory_kind,      array,              "Array"),
	WORD(memory_kind,      managed,            "Managed"),
	WORD(memory_kind,      device_static,      "Device Static"),
	WORD(memory_kind,      managed_static,     "Managed Static"),
	WORD(sync_type,        event,              "Event Sync"),
	WORD(sync_type,        stream_wait_event,  "Stream Wait Event"),
	WORD(sync_type,        stream,             "Stream Sync"),
	WORD(sync_type,        context,            "Context Sync"),
	WORD(memory_operation, allocate,           "Malloc"),
	WORD(memory_operation, release,            "Free"),
	WORD(pool_operation,   create,             "Create"),
	WORD(pool_operation,   destroy,            "Destroy"),
	WORD(pool_operation,   trim,               "Trim"),
	WORD(migration_type,   host_to_device,     "Unified Memory Memcpy HtoD"),
	WORD(migration_type,   device_to_host,     "Unified Memory Memcpy DtoH"),
	WORD(migration_type,   device_to_device,   "Unified Memory Memcpy DtoD"),
	WORD(migration_type,   cpu_faults,         "Unified Memory CPU Page Faults"),
	WORD(migration_type,   gpu_fault,          "Unified Memory GPU Page Faults"),
	WORD(migration_type,   thrashing,          "Unified Memory Thrashing"),
	WORD(migration_type,   throttling,         "Unified Memory Throttling"),
	WORD(migration_type,   remote_map,         "Unified Memory Remote Map"),
	WORD(overhead_type,    compiler,           "Driver Compiler"),
	WORD(overhead_type,    buffer_flush,       "Buffer Flush"),
	WORD(overhead_type,    instrumentation,    "Instrumentation"),
	WORD(overhead_type,    resource,           "Resource"),
	WORD(overhead_type,    module_loading,     "Runtime Triggered Module Loading"),
	WORD(overhead_type,    function_loading,   "Lazy Function Loading"),
	WORD(overhead_type,    command_buffer_full, "Command Buffer Full"),
	WORD(overhead_type,    buffer_request,     "Activity Buffer Request"),
	WORD(overhead_type,    unified_memory_start, "Unified Memory Init"),
};
/* clang-format on */

const char *view_word(const char *enum_name, u32 number)
{
	for (size_t i = 0; i < ARRAY_SIZE(word_rows); i++)
		if (word_rows[i].number == number && strcmp(word_rows[i].enum_name, enum_name) == 0)
			return word_rows[i].word;
	return NULL;
}

/* ---- nameless records ---- */

void view_event_names_init(struct view_kind *kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(name_rows); i++) {
		const struct name_row *row = &name_rows[i];

		if (row->kind != kind->kind->number)
			continue;
		kind->name_pattern = row->pattern;
		while (kind->name_field_count < VIEW_NAME_FIELDS_MAX &&
		       row->fields[kind->name_field_count]) {
			kind->name_fields[kind->name_field_count] =
				schema_field(kind->kind, row->fields[kind->name_field_count]);
			kind->name_field_count++;
		}
	}
}

static void append_field(struct text *text, const struct schema_field *field,
			 const struct record_header *record)
{
	u64 value = schema_field_value(field, record, 0);
	const char *word =
		field->unit == UNIT_ENUM ? view_word(field->reference, (u32)value) : NULL;

	if (word)
		text_append(text, word);
	else if (field->unit == UNIT_ENUM || view_field_absent(field, record))
		text_append(text, "Unknown");
	else
		text_appendf(text, "%llu", (unsigned long long)value);
}

static const char *make_name(const struct view *view, const struct view_kind *kind,
			     const struct record_header *record)
{
	struct text name _cleanup_text_ = {0};
	const char *at = kind->name_pattern;
	unsigned field = 0;

	while (*at) {
		size_t plain = strcspn(at, "{");

		text_append_bytes(&name, at, plain);
		at += plain;
		if (!*at)
			break;
		append_field(&name, kind->name_fields[field++], record);
		at += strcspn(at, "}") + 1;
	}
	return name.failed ? NULL : view_intern(view, name.data, name.length);
}

/* The fields are few and small, so that their values together are the key of what was made of them. */
static const char *made_name(const struct view *view, const struct view_kind *kind,
			     const struct record_header *record)
{
	struct map *made = &view->names->made;
	const char *name;
	u64 key = 0, *known;

	for (unsigned i = 0; i < kind->name_field_count; i++)
		key = key << 8 * kind->name_fields[i]->element_bytes |
		      schema_field_value(kind->name_fields[i], record, 0);
	known = map_find(made, kind->kind->number, key);
	if (known)
		return (const char *)(uintptr_t)*known;
	if (made->count >= MADE_NAMES_MAX)
		return kind->kind->tag;
	name = make_name(view, kind, record);
	if (!name || map_set(made, kind->kind->number, key, (uintptr_t)name) < 0)
		return kind->kind->tag;
	return name;
}

/* ---- names as people write them ---- */

/* cudaLaunchKernel_v7000 -> cudaLaunchKernel: the version of its parameters, as CUPTI names the call. A driver
 * call's _v2 is part of its name. */
static bool shorten_api(const char *name, struct text *ret_name)
{
	const char *version = strrchr(name, '_');
	size_t digits;

	if (!version || version[1] != 'v')
		return false;
	digits = strspn(version + 2, "0123456789");
	if (digits < 4 || version[2 + digits])
		return false;
	text_append_bytes(ret_name, name, version - name);
	return true;
}

static bool demangle_full(const char *name, struct text *ret_name)
{
	return demangle_is_mangled(name) && demangle(name, DEMANGLE_FULL, ret_name);
}

/* Where the last part of "a::b<c>::name" begins. */
static const char *last_part(const char *name, const char *end)
{
	unsigned depth = 0;

	for (const char *at = end; at > name; at--) {
		depth += at[-1] == '>' || at[-1] == ')';
		depth -= depth && (at[-1] == '<' || at[-1] == '(');
		if (!depth && at[-1] == ':')
			return at;
	}
	return name;
}

/* "void ns::f<int>(int)" -> "f" */
static bool demangle_short(const char *name, struct text *ret_name)
{
	struct text full _cleanup_text_ = {0};
	const char *start, *end;

	if (!demangle_is_mangled(name) || !demangle(name, DEMANGLE_NAME, &full))
		return false;
	start = text_string(&full);
	end = start + full.length;
	start = last_part(start, end);
	/* "operator<" and the like stay whole. */
	if (strncmp(start, "operator", strlen("operator")) != 0)
		end = start + strcspn(start, "<(");
	text_append_bytes(ret_name, start, end - start);
	return ret_name->length > 0;
}

enum display { DISPLAY_KERNEL, DISPLAY_KERNEL_SHORT, DISPLAY_API };

static const char *make_display(const struct view *view, enum display display, u32 text_id,
				const char *name)
{
	static bool (*const displays[])(const char *name, struct text *ret_name) = {
		[DISPLAY_KERNEL] = demangle_full,
		[DISPLAY_KERNEL_SHORT] = demangle_short,
		[DISPLAY_API] = shorten_api,
	};
	struct text shown _cleanup_text_ = {0};
	u64 *known = map_find(&view->names->displays, text_id, display);

	if (known)
		return (const char *)(uintptr_t)*known;
	if (displays[display](name, &shown) && !shown.failed) {
		const char *kept = view_intern(view, shown.data, shown.length);

		name = kept ? kept : name;
	}
	/* Without memory it is only made again. */
	(void)map_set(&view->names->displays, text_id, display, (uintptr_t)name);
	return name;
}

static const char *display_name(const struct view *view, enum display display, u32 text_id,
				const char *name)
{
	struct view_names *names = view->names;
	size_t place = text_id % VIEW_LAST_DISPLAYS;

	if (names->last_displays[place].name && names->last_displays[place].text_id == text_id &&
	    names->last_displays[place].how == display)
		return names->last_displays[place].name;
	name = make_display(view, display, text_id, name);
	names->last_displays[place].text_id = text_id;
	names->last_displays[place].how = display;
	names->last_displays[place].name = name;
	return name;
}

int view_event_names_add_symbols(struct view *view)
{
	struct map *displays = &view->names->displays;
	size_t count;
	const struct record_header *const *facts = view_facts(view, KIND_symbol, &count);

	for (size_t i = 0; i < count; i++) {
		const struct record_symbol *symbol = (const struct record_symbol *)facts[i];
		const char *full = view_text(view, symbol->full);
		const char *brief = view_text(view, symbol->brief);

		if (full &&
		    map_set(displays, symbol->header.name, DISPLAY_KERNEL, (uintptr_t)full) < 0)
			return -ENOMEM;
		if (brief && map_set(displays, symbol->header.name, DISPLAY_KERNEL_SHORT,
				     (uintptr_t)brief) < 0)
			return -ENOMEM;
	}
	return 0;
}

static const char *make_sample_name(const struct view *view, const struct record_header *record)
{
	_cleanup_text_ struct text name = {0};
	const struct view_frame *frames;
	const char *cut;

	if (!view_frames(view, record->pid, record->stack, &frames, &cut))
		return NULL;
	view_frame_append_name(frames, &name);
	return name.failed ? NULL : view_intern(view, name.data, name.length);
}

/* The function that the thread was in. */
static const char *sample_name(const struct view *view, const struct view_kind *kind,
			       const struct record_header *record)
{
	struct map *sampled = &view->names->sampled;
	const u64 *known = map_find(sampled, record->pid, record->stack);
	const char *name;

	if (known)
		return (const char *)(uintptr_t)*known;
	name = make_sample_name(view, record);
	if (!name)
		return kind->kind->tag;
	/* Without memory it is made again. */
	(void)map_set(sampled, record->pid, record->stack, (uintptr_t)name);
	return name;
}

const char *view_event_name(const struct view *view, const struct view_kind *kind,
			    const struct record_header *record)
{
	const char *name = view_annotation_name(view, kind, record);

	if (name)
		return name;
	name = view_text(view, record->name);
	if (name && kind->kind->number == KIND_kernel)
		return display_name(view, DISPLAY_KERNEL, record->name, name);
	if (name && kind->kind->number == KIND_api)
		return display_name(view, DISPLAY_API, record->name, name);
	if (!name && kind->kind->number == KIND_sample)
		return sample_name(view, kind, record);
	if (!name && kind->name_pattern)
		return made_name(view, kind, record);
	if (!name && kind->probe) {
		u32 id = schema_field_value(kind->probe, record, 0);
		const struct record_header *fact = view_fact(view, KIND_probe, id);

		name = fact ? view_text(view, fact->name) : NULL;
		if (!name)
			name = view_label(view, KIND_probe, id);
	}
	return name ? name : kind->kind->tag;
}

const char *view_short_name(const struct view *view, const struct record_header *record)
{
	const char *name = view_text(view, record->name);

	return name ? display_name(view, DISPLAY_KERNEL_SHORT, record->name, name) : NULL;
}
