/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/perfetto/perfetto_idle.h"

#include <errno.h>
#include <stdlib.h>

#include "exporters/perfetto/perfetto_args.h"

/* The fields of an event that say what a slice says. */
struct perfetto_idle_look {
	u64 number; /* of the slice's look; 0: none is here */
	u32 state;  /* in which its strings are interned */
	struct text bytes;
};

static int make_tracks(struct perfetto_idle *idle, struct perfetto_packets *packets,
		       struct perfetto_tracks *tracks, struct err *err)
{
	struct idle_slices *slices = &idle->slices;
	int result = 0;

	idle->looks = calloc(IDLE_LOOKS, sizeof(*idle->looks));
	idle->tracks = calloc(slices->gpu_count + 1, sizeof(*idle->tracks));
	if (!idle->looks || !idle->tracks)
		return err_errno(err, -ENOMEM, "can't write %s", packets->writer.path);
	for (size_t i = 0; i < slices->gpu_count && result == 0; i++)
		result = perfetto_tracks_add(tracks, packets, slices->gpus[i],
					     idle_slices_row_name(), &idle->tracks[i], err);
	return result;
}

int perfetto_idle_make(struct perfetto_idle *idle, struct perfetto_packets *packets,
		       struct perfetto_tracks *tracks, const struct view *view, struct err *err)
{
	int result = idle_slices_find(&idle->slices, view, err);

	return result < 0 ? result : make_tracks(idle, packets, tracks, err);
}

static void append_look(struct perfetto_packets *packets, const struct idle_slice *slice)
{
	protobuf_number(&packets->body, EVENT_CATEGORY,
			perfetto_intern_constant(packets, PERFETTO_CATEGORY, IDLE_CATEGORY));
	protobuf_number(&packets->body, EVENT_NAME,
			perfetto_intern(packets, PERFETTO_EVENT_NAME, slice->name));
	for (size_t i = 0; i < slice->arg_count; i++) {
		const struct view_value value = {.type = VALUE_STRING,
						 .string = slice->args[i].value};

		perfetto_args_append_value(packets, EVENT_ANNOTATION, slice->args[i].name, &value);
	}
}

static void append_slice(struct perfetto_idle *idle, struct perfetto_packets *packets,
			 const struct idle_slice *slice)
{
	struct perfetto_idle_look *look = &idle->looks[slice->look & (IDLE_LOOKS - 1)];
	struct text *body = &packets->body;
	size_t begun;

	protobuf_number(body, EVENT_TYPE, TYPE_BEGIN);
	protobuf_number(body, EVENT_TRACK, idle->tracks[slice->gpu]);
	if (look->number == slice->look && look->state == packets->state) {
		text_append_bytes(body, look->bytes.data, look->bytes.length);
		return;
	}
	begun = body->length;
	append_look(packets, slice);
	text_clear(&look->bytes);
	text_append_bytes(&look->bytes, body->data + begun, body->length - begun);
	look->number = slice->look;
	look->state = packets->state;
	body->failed |= look->bytes.failed;
}

int perfetto_idle_write(struct perfetto_idle *idle, struct perfetto_packets *packets, u64 ts,
			struct err *err)
{
	struct idle_slice slice;
	int result;

	while ((result = idle_slices_next(&idle->slices, ts, &slice, err)) > 0) {
		perfetto_packets_at(packets, slice.ts);
		append_slice(idle, packets, &slice);
		result = perfetto_packet_write_span(packets, slice.ts, slice.dur,
						    idle->tracks[slice.gpu], err);
		if (result < 0)
			return result;
	}
	return result;
}

void perfetto_idle_free(struct perfetto_idle *idle)
{
	for (size_t i = 0; idle->looks && i < IDLE_LOOKS; i++)
		text_free(&idle->looks[i].bytes);
	free(idle->looks);
	free(idle->tracks);
	idle_slices_free(&idle->slices);
	*idle = (struct perfetto_idle){0};
}
