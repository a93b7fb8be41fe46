/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/perfetto/perfetto_stacks.h"

#include <stdlib.h>

#include "base/cleanup.h"

static u64 mapping_of(struct perfetto_packets *packets, const char *module)
{
	u64 path = perfetto_intern(packets, PERFETTO_MAPPING_PATH, module);
	struct text *interned = &packets->interned;
	size_t begun;

	if (perfetto_is_told(packets, INTERNED_MAPPINGS, path))
		return path;
	begun = protobuf_begin(interned, INTERNED_MAPPINGS);
	protobuf_number(interned, INTERNED_ID, path);
	protobuf_number(interned, MAPPING_PATH, path);
	protobuf_end(interned, begun);
	return path;
}

static u64 frame_of(struct perfetto_packets *packets, const char *name, const char *module)
{
	u64 function = perfetto_intern(packets, PERFETTO_FUNCTION, name), number;
	u64 mapping = mapping_of(packets, module);
	struct text *interned = &packets->interned;
	size_t begun;

	if (!perfetto_number(packets, INTERNED_FRAMES, function << 32 | mapping, &number))
		return number;
	begun = protobuf_begin(interned, INTERNED_FRAMES);
	protobuf_number(interned, INTERNED_ID, number);
	protobuf_number(interned, FRAME_FUNCTION, function);
	protobuf_number(interned, FRAME_MAPPING, mapping);
	protobuf_end(interned, begun);
	return number;
}

/* Its frames, the innermost first, and last what stands where callers are missing. How many; what has no memory fails with the text. */
static size_t number_frames(struct perfetto_packets *packets, const struct view *view, u32 pid,
			    u32 stack, u64 **ret_numbers)
{
	struct text name _cleanup_text_ = {0};
	const struct view_frame *frames;
	const char *cut = NULL;
	size_t count = stack ? view_frames(view, pid, stack, &frames, &cut) : 0, all = count;
	u64 *numbers = malloc((count + 1) * sizeof(*numbers));

	*ret_numbers = numbers;
	if (!numbers) {
		packets->body.failed = true;
		return 0;
	}
	for (size_t i = 0; i < count; i++) {
		text_clear(&name);
		view_frame_append_name(&frames[i], &name);
		numbers[i] = frame_of(packets, text_string(&name), frames[i].module);
	}
	if (cut)
		numbers[all++] = frame_of(packets, cut, "");
	packets->body.failed |= name.failed;
	return all;
}

static void intern_stack(struct perfetto_packets *packets, u64 number, const u64 *frames,
			 size_t count)
{
	struct text *interned = &packets->interned;
	size_t begun = protobuf_begin(interned, INTERNED_CALLSTACKS);

	protobuf_number(interned, INTERNED_ID, number);
	while (count--)
		protobuf_number(interned, CALLSTACK_FRAME, frames[count]);
	protobuf_end(interned, begun);
}

bool perfetto_stack_tell(struct perfetto_packets *packets, const struct view *view, u32 pid,
			 u32 stack, u64 number)
{
	u64 *frames _cleanup_free_ = NULL;
	size_t count = number_frames(packets, view, pid, stack, &frames);

	if (!frames)
		return false;
	/* A sample has one always: a flame graph would leave it out. */
	if (!count)
		frames[count++] = frame_of(packets, VIEW_NO_STACK, "");
	intern_stack(packets, number, frames, count);
	return true;
}

u64 perfetto_stack(struct perfetto_packets *packets, const struct view *view, u32 pid, u32 stack)
{
	u64 number;

	if (!perfetto_number(packets, INTERNED_CALLSTACKS, (u64)pid << 32 | stack, &number))
		return number;
	return perfetto_stack_tell(packets, view, pid, stack, number) ? number : 0;
}

int perfetto_sample_write(struct perfetto_packets *packets, const struct view *view,
			  const struct view_event *event, struct err *err)
{
	const struct record_header *record = event->record;
	u64 stack = perfetto_stack(packets, view, record->pid, record->stack);
	const struct record_sample *sample = (const void *)record;

	if (sample->cpu != ~0U)
		protobuf_number(&packets->body, SAMPLE_CPU, sample->cpu);
	protobuf_number(&packets->body, SAMPLE_PID, record->pid);
	protobuf_number(&packets->body, SAMPLE_TID, record->tid);
	protobuf_number(&packets->body, SAMPLE_STACK, stack);
	return perfetto_packet_write(packets, event->ts, PACKET_PERF_SAMPLE, err);
}
