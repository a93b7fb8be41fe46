/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/xplane/xplane_idle.h"

#include <errno.h>
#include <stdlib.h>

#include "base/temporary_file.h"

/* Of those without a place the one with the lowest number: line 0 is counters'. */
static size_t next_gpu(const struct xplane_idle *idle, const struct view_survey *survey)
{
	const struct idle_slices *slices = &idle->slices;
	size_t next = slices->gpu_count;

	for (size_t i = 0; i < slices->gpu_count; i++)
		if (!idle->places[i].line &&
		    (next == slices->gpu_count ||
		     survey->rows[slices->gpus[i]].device_number <
			     survey->rows[slices->gpus[next]].device_number))
			next = i;
	return next;
}

int xplane_idle_find(struct xplane_idle *idle, const struct view *view, struct xplane_rows *rows,
		     struct err *err)
{
	int result = idle_slices_find(&idle->slices, view, err);

	if (result < 0)
		return result;
	idle->places = calloc(idle->slices.gpu_count + 1, sizeof(*idle->places));
	if (!idle->places)
		return err_errno(err, -ENOMEM, "can't tell why GPUs were idle");
	for (size_t i = 0; i < idle->slices.gpu_count && result == 0; i++) {
		size_t gpu = next_gpu(idle, rows->survey);

		result = xplane_rows_add_idle(rows, idle->slices.gpus[gpu], idle_slices_row_name(),
					      &idle->places[gpu]);
	}
	return result < 0 ? err_errno(err, result, "can't tell why GPUs were idle") : 0;
}

static u64 offset_of(const struct xplane_rows *rows, u64 ts)
{
	return ts > rows->start_ns ? ts - rows->start_ns : 0;
}

/* Its texts stay where they are: each is in the file once. */
static bool add_args(struct xplane_event *event, struct xplane_plane *plane,
		     const struct idle_slice *slice)
{
	bool added = true;

	for (size_t i = 0; i < slice->arg_count && added; i++)
		added = xplane_event_add_reference(event, plane, slice->args[i].name,
						   slice->args[i].value);
	return added;
}

static void drop(struct xplane_idle *idle, struct xplane_rows *rows)
{
	for (size_t i = 0; i < idle->slices.gpu_count; i++) {
		struct xplane_place place = idle->places[i];
		struct xplane_line *line = &rows->planes[place.plane].lines[place.line];

		spool_free(&line->events);
		line->event_count = 0;
	}
	idle->no_room = true;
}

static int write_slices(struct xplane_idle *idle, struct xplane_rows *rows,
			struct spool_store *store, struct err *err)
{
	struct xplane_event event;
	struct idle_slice slice;
	int result;

	while ((result = idle_slices_next(&idle->slices, ~0ULL, &slice, err)) > 0) {
		struct xplane_place place = idle->places[slice.gpu];
		struct xplane_plane *plane = &rows->planes[place.plane];

		if (!xplane_event_begin(&event, plane, slice.name, offset_of(rows, slice.ts),
					slice.dur) ||
		    !add_args(&event, plane, &slice))
			return err_errno(err, -ENOMEM, "can't tell why GPUs were idle");
		result = xplane_line_add(&plane->lines[place.line], store, &event, err);
		if (result < 0)
			return result;
	}
	return result;
}

int xplane_idle_write(struct xplane_idle *idle, struct xplane_rows *rows, struct spool_store *store,
		      struct err *err)
{
	int result = write_slices(idle, rows, store, err);

	if (!temporary_file_is_failure(result))
		return result;
	*err = (struct err){0};
	drop(idle, rows);
	return 0;
}

int xplane_idle_tell(const struct xplane_idle *idle, struct xplane_message_list *warnings)
{
	return idle->no_room ? xplane_messages_add(warnings,
						   "why GPUs were idle is left out: there was no "
						   "room for it in a temporary file")
			     : 0;
}

void xplane_idle_free(struct xplane_idle *idle)
{
	idle_slices_free(&idle->slices);
	free(idle->places);
	*idle = (struct xplane_idle){0};
}
