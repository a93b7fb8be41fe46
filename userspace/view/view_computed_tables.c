/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Computed values that stand in the tables of Nsight Systems, in its words. */
#include "base/text.h"
#include "view/view_parts.h"

struct view_value view_compute_offset(const struct view *view, const struct view_event *event)
{
	u64 start_ns, end_ns;

	view_time_range(&view->survey, &start_ns, &end_ns);
	return value_u64(event->ts - start_ns);
}

struct view_value view_compute_thread_name(const struct view *view, const struct view_event *event)
{
	return value_string(view_task_name(view, event->record->pid, event->record->tid));
}

struct view_value view_compute_thread_priority(const struct view *view,
					       const struct view_event *event)
{
	s64 priority;

	if (!view_task_priority(view, event->record->pid, event->record->tid, &priority))
		return (struct view_value){VALUE_ABSENT};
	return (struct view_value){VALUE_S64, .number = (u64)priority};
}

/* Pages belong to the GPU that they moved to, or left for the host. */
static u32 device_of_migration(const struct record_migration *migration)
{
	return migration->destination_device ? migration->destination_device
					     : migration->source_device;
}

struct view_value view_compute_migration_device(const struct view *view,
						const struct view_event *event)
{
	u32 id = device_of_migration((const struct record_migration *)event->record);
	const struct record_device *device =
		(const struct record_device *)view_fact(view, KIND_device, id);

	if (!id)
		return (struct view_value){VALUE_ABSENT};
	return value_u64(device && device->number != ~0U ? device->number : id);
}

/* "NVIDIA H200 (0)" */
struct view_value view_compute_device_and_number(const struct view *view,
						 const struct view_event *event)
{
	const struct schema_field *field = schema_field(event->kind, SCHEMA_FIELD(kernel, device));
	u32 id = field ? schema_field_value(field, event->record, 0)
		       : device_of_migration((const struct record_migration *)event->record);
	const struct record_device *device =
		(const struct record_device *)view_fact(view, KIND_device, id);
	const char *model = device ? view_text(view, device->header.name) : NULL;
	struct text name _cleanup_text_ = {0};

	if (!device)
		return value_absent();
	text_appendf(&name, "%s (%u)", model ? model : "",
		     device->number == ~0U ? id : device->number);
	return value_string(name.failed ? NULL : view_intern(view, name.data, name.length));
}

static struct view_value memory_word(u8 kind)
{
	const char *word = view_word("memory_kind", kind);

	return value_string(word ? word : "Unknown");
}

/* Memory that is set has one kind, which stands where a copy has that of its source. */
struct view_value view_compute_source_memory(const struct view *view,
					     const struct view_event *event)
{
	if (event->kind->number == KIND_set)
		return memory_word(((const struct record_set *)event->record)->memory);
	return memory_word(((const struct record_copy *)event->record)->from);
}

struct view_value view_compute_destination_memory(const struct view *view,
						  const struct view_event *event)
{
	return memory_word(((const struct record_copy *)event->record)->to);
}

/* ---- unified memory: only what moves is an operation of memory ---- */

struct view_value view_compute_managed_memory(const struct view *view,
					      const struct view_event *event)
{
	return memory_word(VALUE_memory_kind_managed);
}

/* "[CUDA Unified Memory memcpy HtoD]" */
struct view_value view_compute_migration_name(const struct view *view,
					      const struct view_event *event)
{
	switch (((const struct record_migration *)event->record)->type) {
	case VALUE_migration_type_host_to_device:
		return value_string("[CUDA Unified Memory memcpy HtoD]");
	case VALUE_migration_type_device_to_host:
		return value_string("[CUDA Unified Memory memcpy DtoH]");
	case VALUE_migration_type_device_to_device:
		return value_string("[CUDA Unified Memory memcpy DtoD]");
	default:
		return value_absent();
	}
}

struct view_value view_compute_migrated_bytes(const struct view *view,
					      const struct view_event *event)
{
	u64 bytes = ((const struct record_migration *)event->record)->value;

	if (view_compute_migration_name(view, event).type == VALUE_ABSENT || bytes == ~0ULL)
		return value_absent();
	return value_u64(bytes);
}

struct view_value view_compute_migrated_bandwidth(const struct view *view,
						  const struct view_event *event)
{
	struct view_value bytes = view_compute_migrated_bytes(view, event);

	if (bytes.type == VALUE_ABSENT || !event->dur || event->open)
		return value_absent();
	return value_decimal((double)bytes.number / (double)event->dur);
}
