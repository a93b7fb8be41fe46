/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/idle_slices.h"

#include <errno.h>
#include <stdlib.h>

#include "base/temporary_file.h"

/* The first of its rows; 0 where it has none. */
static size_t row_of(const struct view_survey *survey, const struct why_gpu *gpu)
{
	for (size_t i = 0; i < survey->row_count; i++) {
		const struct view_row *row = &survey->rows[i];

		if (view_row_is_of_gpu(row->type) && row->device == gpu->device)
			return i;
	}
	return 0;
}

int idle_slices_find(struct idle_slices *idle, const struct view *view, struct err *err)
{
	static const u16 work[VIEW_ROW_KINDS_MAX] = {VIEW_GPU_WORK};
	const struct why_times *times;
	const struct why_gpu *gpus;
	int result;

	idle->view = view;
	idle->next_ns = ~0ULL;
	if (!view_has_any(view, work))
		return 0;
	result = why_times(view, &times, err);
	if (result < 0)
		return temporary_file_is_failure(result) ? 0 : result;
	gpus = why_times_gpus(times, &idle->gpu_count);
	idle->gpus = calloc(idle->gpu_count + 1, sizeof(*idle->gpus));
	if (!idle->gpus)
		return err_errno(err, -ENOMEM, "can't tell why GPUs were idle");
	for (size_t i = 0; i < idle->gpu_count; i++)
		idle->gpus[i] = row_of(view_survey(view), &gpus[i]);
	result = why_times_read(&idle->reader, times, IDLE_LEAST_GAP_NS, err);
	if (result == 0)
		idle->next_ns = why_times_next_ns(&idle->reader);
	return result;
}

const char *idle_slices_row_name(void)
{
	return "why it was idle";
}

static void add_arg(struct idle_slice *slice, const char *name, const char *value)
{
	slice->args[slice->arg_count].name = name;
	slice->args[slice->arg_count++].value = value;
}

/* What was put together in scratch, kept under these keys; NULL without memory. */
static const char *keep(struct idle_slices *idle, struct map *map, u64 key, u64 second)
{
	s64 number = idle->scratch.failed
			     ? -ENOMEM
			     : string_table_add(&idle->texts, text_string(&idle->scratch),
						idle->scratch.length);

	if (number < 0 || map_set(map, key, second, (u64)number) < 0)
		return NULL;
	return idle->texts.strings[number];
}

/* "waits: futex in next_batch"; what stays where it is as long as the view. */
static const char *name_of(struct idle_slices *idle, const struct why_time *time)
{
	const u64 *known = map_find(&idle->names, time->sort, (uintptr_t)time->what);
	struct text utf8 _cleanup_text_ = {0};

	if (known)
		return idle->texts.strings[*known];
	text_clear(&idle->scratch);
	text_append(&idle->scratch, why_words(time->sort));
	if (*time->what)
		text_appendf(&idle->scratch, ": %s", text_utf8(time->what, &utf8));
	return keep(idle, &idle->names, time->sort, (uintptr_t)time->what);
}

/* "python3 (17)" */
static const char *thread_of(struct idle_slices *idle, size_t row_index)
{
	const u64 *known = map_find(&idle->threads, row_index, 0);
	struct text utf8 _cleanup_text_ = {0};
	const struct view_row *row;

	if (known)
		return idle->texts.strings[*known];
	row = &view_survey(idle->view)->rows[row_index];
	text_clear(&idle->scratch);
	text_appendf(&idle->scratch, "%s (%u)", text_utf8(row->name, &utf8), row->tid);
	return keep(idle, &idle->threads, row_index, 0);
}

/* 0 or -ENOMEM. */
static int add_thread(struct idle_slices *idle, struct idle_slice *slice, const char *name,
		      size_t row_index)
{
	const char *thread;

	if (row_index == WHY_NO_ROW)
		return 0;
	thread = thread_of(idle, row_index);
	if (!thread)
		return -ENOMEM;
	add_arg(slice, name, thread);
	return 0;
}

static int describe(struct idle_slices *idle, const struct why_time *time, struct idle_slice *slice,
		    struct err *err)
{
	*slice = (struct idle_slice){.name = name_of(idle, time), .look = ++idle->looks};
	if (!slice->name || add_thread(idle, slice, "thread", time->row_index) ||
	    add_thread(idle, slice, "waiting thread", time->waiter))
		return err_errno(err, -ENOMEM, "can't tell why GPUs were idle");
	if (why_is_known(time->sort))
		add_arg(slice, "known by", why_seen(time->sort));
	add_arg(slice, "made by", "gpuprobe");
	return 0;
}

static struct idle_look *place_of(struct idle_slices *idle, const struct why_time *time)
{
	u64 mixed = ((u64)(uintptr_t)time->what << 8 ^ (u64)time->sort ^ time->row_index << 32 ^
		     time->waiter << 48) *
		    0x9e3779b97f4a7c15ULL;

	return &idle->kept[mixed >> 48 & (IDLE_LOOKS - 1)];
}

/* NULL: there is no memory. */
static const struct idle_slice *look_of(struct idle_slices *idle, const struct why_time *time,
					struct err *err)
{
	struct idle_look *look = place_of(idle, time);
	const struct why_time *kept = &look->time;

	if (look->slice.look && kept->sort == time->sort && kept->what == time->what &&
	    kept->row_index == time->row_index && kept->waiter == time->waiter)
		return &look->slice;
	look->time = *time;
	if (describe(idle, time, &look->slice, err) == 0)
		return &look->slice;
	look->slice.look = 0;
	return NULL;
}

int idle_slices_next(struct idle_slices *idle, u64 ts, struct idle_slice *ret_slice,
		     struct err *err)
{
	const struct idle_slice *look;
	struct why_time time;
	int result;

	if (idle->next_ns == ~0ULL || idle->next_ns > ts)
		return 0;
	result = why_times_next(&idle->reader, &time, err);
	if (result < 0)
		return result;
	idle->next_ns = why_times_next_ns(&idle->reader);
	look = look_of(idle, &time, err);
	if (!look)
		return -ENOMEM;
	*ret_slice = *look;
	ret_slice->ts = time.since_ns;
	ret_slice->dur = time.until_ns - time.since_ns;
	ret_slice->gpu = time.gpu;
	return 1;
}

void idle_slices_free(struct idle_slices *idle)
{
	why_times_reader_free(&idle->reader);
	free(idle->gpus);
	text_free(&idle->scratch);
	string_table_free(&idle->texts);
	map_free(&idle->names);
	map_free(&idle->threads);
	*idle = (struct idle_slices){0};
}
