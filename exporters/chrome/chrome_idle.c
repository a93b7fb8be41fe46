/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/chrome/chrome_idle.h"

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

int chrome_idle_find(struct chrome_idle *idle, const struct view *view, struct err *err)
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
	result = why_times_read(&idle->reader, times, CHROME_IDLE_LEAST_GAP_NS, err);
	if (result == 0)
		idle->next_ns = why_times_next_ns(&idle->reader);
	return result;
}

const char *chrome_idle_row_name(void)
{
	return "why it was idle";
}

static void add_arg(struct chrome_idle_slice *slice, const char *name, const char *value)
{
	slice->args[slice->arg_count].name = name;
	slice->args[slice->arg_count++].value = value;
}

/* "python3 (17)". 0 or -ENOMEM. */
static int add_thread(struct chrome_idle *idle, struct chrome_idle_slice *slice, const char *name,
		      size_t row_index)
{
	const struct view_row *row;
	s64 number;

	if (row_index == WHY_NO_ROW)
		return 0;
	row = &view_survey(idle->view)->rows[row_index];
	text_clear(&idle->scratch);
	text_appendf(&idle->scratch, "%s (%u)", row->name, row->tid);
	number = idle->scratch.failed
			 ? -ENOMEM
			 : string_table_add(&idle->threads, text_string(&idle->scratch),
					    idle->scratch.length);
	if (number < 0)
		return -ENOMEM;
	add_arg(slice, name, idle->threads.strings[number]);
	return 0;
}

static int describe(struct chrome_idle *idle, const struct why_time *time,
		    struct chrome_idle_slice *slice, struct err *err)
{
	text_clear(&idle->name);
	text_append(&idle->name, why_words(time->sort));
	if (*time->what)
		text_appendf(&idle->name, ": %s", time->what);
	*slice = (struct chrome_idle_slice){
		.ts = time->since_ns,
		.dur = time->until_ns - time->since_ns,
		.gpu = time->gpu,
		.name = text_string(&idle->name),
	};
	if (add_thread(idle, slice, "thread", time->row_index) ||
	    add_thread(idle, slice, "waiting thread", time->waiter) || idle->name.failed)
		return err_errno(err, -ENOMEM, "can't tell why GPUs were idle");
	if (why_is_known(time->sort))
		add_arg(slice, "known by", why_seen(time->sort));
	add_arg(slice, "made by", "gpuprobe");
	return 1;
}

int chrome_idle_next(struct chrome_idle *idle, u64 ts, struct chrome_idle_slice *ret_slice,
		     struct err *err)
{
	struct why_time time;
	int result;

	if (idle->next_ns == ~0ULL || idle->next_ns > ts)
		return 0;
	result = why_times_next(&idle->reader, &time, err);
	if (result < 0)
		return result;
	idle->next_ns = why_times_next_ns(&idle->reader);
	return describe(idle, &time, ret_slice, err);
}

void chrome_idle_free(struct chrome_idle *idle)
{
	why_times_reader_free(&idle->reader);
	free(idle->gpus);
	text_free(&idle->name);
	text_free(&idle->scratch);
	string_table_free(&idle->threads);
	*idle = (struct chrome_idle){0};
}
