/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/perfetto/perfetto_metadata.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "exporters/chrome/chrome_metadata.h"

#define OWN_CATEGORY "gpuprobe"
#define ENDS_MAX     64 /* bars, one in the other; the ledger has all */

int perfetto_write_clocks(struct perfetto_packets *packets, const struct view_survey *survey,
			  struct err *err)
{
	/* How long the host was suspended is not known: servers are not. */
	static const u32 clocks[] = {CLOCK_MONOTONIC_ID, CLOCK_MONOTONIC_COARSE_ID,
				     CLOCK_BOOTTIME_ID, CLOCK_REALTIME_ID};
	u64 now = survey->window_start_ns;

	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		bool wall = clocks[i] == CLOCK_REALTIME_ID;
		size_t begun;

		if (wall && !survey->realtime_offset_ns)
			continue;
		begun = protobuf_begin(&packets->body, CLOCKS_CLOCK);
		protobuf_number(&packets->body, CLOCK_ID, clocks[i]);
		protobuf_number(&packets->body, CLOCK_TIMESTAMP,
				now + (wall ? survey->realtime_offset_ns : 0));
		protobuf_end(&packets->body, begun);
	}
	protobuf_number(&packets->body, CLOCKS_PRIMARY, CLOCK_MONOTONIC_ID);
	return perfetto_packet_write_timeless(packets, PACKET_CLOCK_SNAPSHOT, err);
}

/* ---- annotations of texts that stand once in a trace ---- */

static size_t begin_entry(struct perfetto_packets *packets, u32 field, const char *name)
{
	u64 number = perfetto_intern(packets, PERFETTO_ANNOTATION_NAME, name);
	size_t begun = protobuf_begin(&packets->body, field);

	protobuf_number(&packets->body, ANNOTATION_NAME, number);
	return begun;
}

static void append_text(struct perfetto_packets *packets, const char *name, const char *value)
{
	size_t begun = begin_entry(packets, ANNOTATION_ENTRY, name);

	perfetto_append_string(packets, ANNOTATION_STRING, value);
	protobuf_end(&packets->body, begun);
}

static void append_number(struct perfetto_packets *packets, const char *name, u64 value)
{
	size_t begun = begin_entry(packets, ANNOTATION_ENTRY, name);

	protobuf_number(&packets->body, ANNOTATION_UNSIGNED, value);
	protobuf_end(&packets->body, begun);
}

static void append_losses(struct perfetto_packets *packets, const struct view_survey *survey)
{
	size_t list = begin_entry(packets, EVENT_ANNOTATION, "losses");

	for (size_t i = 0; i < survey->loss_count; i++) {
		const struct view_loss *loss = &survey->losses[i];
		size_t item = protobuf_begin(&packets->body, ANNOTATION_ITEM);

		append_text(packets, "reason", loss->tag);
		append_text(packets, "meaning", loss->meaning);
		append_text(packets, "place", loss->place);
		append_number(packets, "count", loss->count);
		if (loss->at_ns)
			append_number(packets, "ts", loss->at_ns);
		protobuf_end(&packets->body, item);
	}
	protobuf_end(&packets->body, list);
}

/* ---- the recording ---- */

/* A key that stands there several times (each target has a name) is an array. Gives the number of attributes that it took. */
static size_t append_attribute(struct perfetto_packets *packets,
			       const struct view_attribute *const *attributes, size_t count)
{
	size_t same = 1, begun;

	while (same < count && strcmp(attributes[same]->group, attributes[0]->group) == 0 &&
	       strcmp(attributes[same]->key, attributes[0]->key) == 0)
		same++;
	if (same == 1) {
		append_text(packets, attributes[0]->key, attributes[0]->value);
		return 1;
	}
	begun = begin_entry(packets, ANNOTATION_ENTRY, attributes[0]->key);
	for (size_t i = 0; i < same; i++) {
		size_t item = protobuf_begin(&packets->body, ANNOTATION_ITEM);

		perfetto_append_string(packets, ANNOTATION_STRING, attributes[i]->value);
		protobuf_end(&packets->body, item);
	}
	protobuf_end(&packets->body, begun);
	return same;
}

static int append_attributes(struct perfetto_packets *packets, const struct view_survey *survey)
{
	size_t count = survey->attribute_count;
	const struct view_attribute **sorted _cleanup_free_ = chrome_sorted_attributes(survey);

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < count;) {
		const char *group = sorted[i]->group;
		size_t begun = begin_entry(packets, EVENT_ANNOTATION, group);

		while (i < count && strcmp(sorted[i]->group, group) == 0)
			i += append_attribute(packets, sorted + i, count - i);
		protobuf_end(&packets->body, begun);
	}
	return 0;
}

static void begin_event(struct perfetto_packets *packets, u64 track, unsigned type,
			const char *name)
{
	protobuf_number(&packets->body, EVENT_TYPE, type);
	protobuf_number(&packets->body, EVENT_TRACK, track);
	protobuf_number(&packets->body, EVENT_CATEGORY,
			perfetto_intern_constant(packets, PERFETTO_CATEGORY, OWN_CATEGORY));
	protobuf_number(&packets->body, EVENT_NAME,
			perfetto_intern(packets, PERFETTO_EVENT_NAME, name));
}

static int write_attributes(struct perfetto_packets *packets, u64 track, const struct view *view,
			    struct err *err)
{
	const struct view_survey *survey = view_survey(view);
	size_t begun;

	begin_event(packets, track, TYPE_INSTANT, "recording");
	begun = begin_entry(packets, EVENT_ANNOTATION, "complete");
	protobuf_number(&packets->body, ANNOTATION_BOOL, view_is_complete(survey));
	protobuf_end(&packets->body, begun);
	begun = begin_entry(packets, EVENT_ANNOTATION, "window");
	append_number(packets, "start", survey->window_start_ns);
	append_number(packets, "end", survey->window_end_ns);
	protobuf_end(&packets->body, begun);
	if (append_attributes(packets, survey) < 0)
		return err_errno(err, -ENOMEM, "can't write %s", packets->writer.path);
	if (survey->loss_count)
		append_losses(packets, survey);
	return perfetto_packet_write(packets, survey->window_start_ns, PACKET_TRACK_EVENT, err);
}

/* A span up to the end of the window. */
static int write_bar(struct perfetto_packets *packets, u64 track, const struct view_survey *survey,
		     u64 from_ns, struct err *err)
{
	return perfetto_packet_write_span(packets, from_ns, survey->window_end_ns - from_ns, track,
					  err);
}

static int write_ends(struct perfetto_packets *packets, u64 track, const struct view *view,
		      struct err *err)
{
	const struct view_survey *survey = view_survey(view);
	struct text name _cleanup_text_ = {0};
	size_t count;
	const struct view_recording_end *ends = view_recording_ends(view, &count);
	int result = 0;

	for (size_t i = 0; i < count && i < ENDS_MAX && result == 0; i++) {
		if (!chrome_name_end(survey, &ends[i], &name))
			continue;
		begin_event(packets, track, TYPE_BEGIN, text_string(&name));
		result = write_bar(packets, track, survey, ends[i].until_ns, err);
	}
	return result;
}

int perfetto_write_recording(struct perfetto_packets *packets, u64 track, const struct view *view,
			     struct err *err)
{
	const struct view_survey *survey = view_survey(view);
	int result;

	protobuf_number(&packets->body, TRACK_UUID, track);
	protobuf_string(&packets->body, TRACK_NAME, OWN_CATEGORY);
	protobuf_string(&packets->body, TRACK_DESCRIPTION,
			"What is known of the recording, and what is missing in it. Times are "
			"CLOCK_MONOTONIC of its host.");
	result = perfetto_packet_write_timeless(packets, PACKET_TRACK_DESCRIPTOR, err);
	perfetto_packets_at(packets, survey->window_start_ns);
	if (result == 0)
		result = write_attributes(packets, track, view, err);
	if (result < 0 || view_is_complete(survey))
		return result;
	begin_event(packets, track, TYPE_BEGIN,
		    survey->cut ? "the recording was cut: what came later is missing"
				: "something is missing: see the losses");
	append_losses(packets, survey);
	result = write_bar(packets, track, survey, survey->window_start_ns, err);
	return result < 0 ? result : write_ends(packets, track, view, err);
}
