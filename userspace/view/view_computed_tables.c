/* Computed values that stand in the tables of Nsight Systems, in its words. */
#include "base/text.h"
#include "view/view_internal.h"

/* Since the window opened. */
struct view_value view_compute_offset(const struct view *view, const struct view_event *event)
{
	u64 start_ns = view->survey.window_start_ns;

	return value_u64(event->ts > start_ns ? event->ts - start_ns : 0);
}

struct view_value view_compute_thread_name(const struct view *view, const struct view_event *event)
{
	return value_string(view_task_name(view, event->record->pid, event->record->tid));
}

/* "NVIDIA H200 (0)" */
struct view_value view_compute_device_and_number(const struct view *view,
						 const struct view_event *event)
{
	const struct schema_field *field = schema_field(event->kind, "device");
	u32 id = schema_field_value(field, event->record, 0);
	const struct record_device *device =
		(const struct record_device *)view_fact(view, KIND_device, id);
	const char *model = device ? view_text(view, device->header.name) : NULL;
	struct text name _cleanup_text_ = {0};

	if (!device)
		return value_absent();
	text_appendf(&name, "%s (%u)", model ? model : "", device->number);
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
