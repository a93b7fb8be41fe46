/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/perfetto/perfetto_tracks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

static void begin_track(struct perfetto_packets *packets, u64 track, u64 parent)
{
	protobuf_number(&packets->body, TRACK_UUID, track);
	if (parent)
		protobuf_number(&packets->body, TRACK_PARENT, parent);
}

/* ---- groups ---- */

static void name_gpu(const struct view *view, const struct view_row *row, struct text *name)
{
	const char *device = view_device_name(view, row->device);

	text_append(name, device ? device : "GPU");
	if (row->pid && *row->process_name)
		text_appendf(name, " (%s %u)", row->process_name, row->pid);
	else if (row->pid)
		text_appendf(name, " (%u)", row->pid);
}

static int write_group(struct perfetto_packets *packets, u64 track, const struct view *view,
		       const struct view_row *row, struct err *err)
{
	struct text name _cleanup_text_ = {0};
	size_t begun;

	begin_track(packets, track, 0);
	if (view_row_is_of_gpu(row->type)) {
		name_gpu(view, row, &name);
		perfetto_append_string(packets, TRACK_NAME, text_string(&name));
	} else if (row->pid) {
		begun = protobuf_begin(&packets->body, TRACK_PROCESS);
		protobuf_number(&packets->body, PROCESS_PID, row->pid);
		if (*row->process_name)
			perfetto_append_string(packets, PROCESS_NAME, row->process_name);
		protobuf_end(&packets->body, begun);
	} else {
		protobuf_string(&packets->body, TRACK_NAME, "(no process)");
	}
	packets->body.failed |= name.failed;
	return perfetto_packet_write_timeless(packets, PACKET_TRACK_DESCRIPTOR, err);
}

static int find_group(struct perfetto_tracks *tracks, struct perfetto_packets *packets,
		      const struct view *view, size_t row_index, struct err *err)
{
	const struct view_row *row = &tracks->rows->survey->rows[row_index];
	u64 key_a = view_row_is_of_gpu(row->type) ? (u64)row->source << 32 | row->pid : row->pid;
	u64 key_b = view_row_is_of_gpu(row->type) ? (u64)row->device + 1 : 0;
	const u64 *known = map_find(&tracks->groups, key_a, key_b);

	if (known) {
		tracks->group_of[row_index] = *known;
		return 0;
	}
	tracks->group_of[row_index] = tracks->next++;
	if (map_set(&tracks->groups, key_a, key_b, tracks->group_of[row_index]) < 0)
		return err_errno(err, -ENOMEM, "can't write %s", packets->writer.path);
	return write_group(packets, tracks->group_of[row_index], view, row, err);
}

/* ---- rows ---- */

/* Points of a process or a GPU as a whole stand on its own track. */
static bool has_own_track(const struct view_row *row)
{
	return (row->type != ROW_PROCESS && row->type != ROW_DEVICE) || row->span_count;
}

static const char *row_name(const struct view_row *row)
{
	if (row->type == ROW_PROCESS)
		return "CUDA overhead, unified memory, ranges of the process";
	return row->type == ROW_THREAD && !row->tid ? "(no thread)" : row->name;
}

static int write_lane(struct perfetto_tracks *tracks, struct perfetto_packets *packets,
		      size_t row_index, unsigned lane, struct err *err)
{
	const struct view_row *row = &tracks->rows->survey->rows[row_index];
	bool is_thread = row->type == ROW_THREAD && row->pid && row->tid;
	struct text name _cleanup_text_ = {0};
	u64 parent = is_thread && lane ? perfetto_tracks_lane(tracks, row_index, 0)
				       : tracks->group_of[row_index];

	text_append(&name, row_name(row));
	if (lane)
		text_append(&name, " (overlap");
	if (lane > 1)
		text_appendf(&name, " %u", lane);
	if (lane)
		text_append_char(&name, ')');
	begin_track(packets, perfetto_tracks_lane(tracks, row_index, lane),
		    is_thread && !lane ? 0 : parent);
	if (is_thread && !lane) {
		size_t begun = protobuf_begin(&packets->body, TRACK_THREAD);

		protobuf_number(&packets->body, THREAD_PID, row->pid);
		protobuf_number(&packets->body, THREAD_TID, row->tid);
		if (name.length)
			perfetto_append_string(packets, THREAD_NAME, text_string(&name));
		protobuf_end(&packets->body, begun);
	} else {
		perfetto_append_string(packets, TRACK_NAME, text_string(&name));
	}
	packets->body.failed |= name.failed;
	return perfetto_packet_write_timeless(packets, PACKET_TRACK_DESCRIPTOR, err);
}

int perfetto_tracks_make(struct perfetto_tracks *tracks, struct perfetto_packets *packets,
			 const struct chrome_rows *rows, const struct view *view, struct err *err)
{
	const struct view_survey *survey = rows->survey;
	int result = 0;

	tracks->rows = rows;
	tracks->next = rows->lane_count + 1; /* 0 is no track */
	tracks->own = tracks->next++;
	tracks->group_of = calloc(survey->row_count + 1, sizeof(*tracks->group_of));
	tracks->told = calloc(survey->row_count + 1, sizeof(*tracks->told));
	if (!tracks->group_of || !tracks->told)
		return err_errno(err, -ENOMEM, "can't write %s", packets->writer.path);
	for (size_t i = 0; i < survey->row_count && result == 0; i++) {
		result = find_group(tracks, packets, view, i, err);
		if (result == 0 && survey->rows[i].type != ROW_STREAM)
			result = perfetto_tracks_tell(tracks, packets, i, err);
	}
	return result;
}

int perfetto_tracks_tell(struct perfetto_tracks *tracks, struct perfetto_packets *packets,
			 size_t row_index, struct err *err)
{
	const struct view_row *row = &tracks->rows->survey->rows[row_index];
	int result = 0;

	if (tracks->told[row_index] || !has_own_track(row))
		return 0;
	tracks->told[row_index] = true;
	for (unsigned lane = 0; lane < row->lane_count && result == 0; lane++)
		result = write_lane(tracks, packets, row_index, lane, err);
	return result;
}

u64 perfetto_tracks_lane(const struct perfetto_tracks *tracks, size_t row_index, unsigned lane)
{
	const struct chrome_lane *found = chrome_rows_lane(tracks->rows, row_index, lane);

	if (!found)
		return 0;
	if (!has_own_track(&tracks->rows->survey->rows[row_index]))
		return tracks->group_of[row_index];
	return (u64)(found - tracks->rows->lanes) + 1;
}

int perfetto_tracks_add(struct perfetto_tracks *tracks, struct perfetto_packets *packets,
			size_t row_index, const char *name, u64 *ret_track, struct err *err)
{
	*ret_track = tracks->next++;
	begin_track(packets, *ret_track, tracks->group_of[row_index]);
	perfetto_append_string(packets, TRACK_NAME, name);
	return perfetto_packet_write_timeless(packets, PACKET_TRACK_DESCRIPTOR, err);
}

/* ---- counters ---- */

/* "power (mW)": what stands in the brackets at the end. */
static void append_unit(struct perfetto_packets *packets, const char *name)
{
	const char *open = strrchr(name, '(');
	size_t length = open ? strlen(open) : 0;
	size_t begun = protobuf_begin(&packets->body, TRACK_COUNTER);

	if (length > 2 && open[length - 1] == ')')
		protobuf_bytes(&packets->body, COUNTER_UNIT_NAME, open + 1, length - 2);
	protobuf_end(&packets->body, begun);
}

int perfetto_tracks_counter(struct perfetto_tracks *tracks, struct perfetto_packets *packets,
			    size_t row_index, const char *name, u64 *ret_track, struct err *err)
{
	u64 group = tracks->group_of[row_index];
	s64 number = string_table_add(&tracks->names, name, strlen(name));
	const u64 *known = number < 0 ? NULL : map_find(&tracks->counters, group, (u64)number);

	if (known) {
		*ret_track = *known;
		return 0;
	}
	if (number < 0 || map_set(&tracks->counters, group, (u64)number, tracks->next) < 0)
		return err_errno(err, -ENOMEM, "can't write %s", packets->writer.path);
	*ret_track = tracks->next++;
	begin_track(packets, *ret_track, group);
	perfetto_append_string(packets, TRACK_NAME, name);
	append_unit(packets, text_utf8(name, &packets->scratch));
	return perfetto_packet_write_timeless(packets, PACKET_TRACK_DESCRIPTOR, err);
}

void perfetto_tracks_free(struct perfetto_tracks *tracks)
{
	map_free(&tracks->groups);
	map_free(&tracks->counters);
	string_table_free(&tracks->names);
	free(tracks->group_of);
	free(tracks->told);
	*tracks = (struct perfetto_tracks){0};
}
