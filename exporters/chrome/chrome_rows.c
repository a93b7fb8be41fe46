/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/chrome/chrome_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "exporters/writer.h"

/* Above every pid that Linux gives out (2^22), and easy to tell from one. */
#define CHROME_FIRST_OWN_TID 1000000000u
#define CHROME_FIRST_OWN_PID 2000000000u

/* What is known while numbers are given out. */
struct chrome_numbers {
	struct map used;      /* every pid and tid that stands for itself */
	struct map processes; /* key of a process -> its number */
	struct map threads;   /* (pid, tid) that a row has already */
	struct map working;   /* processes that do more than wait, or whose GPUs do */
	u32 next_tid;
	u32 next_pid;
};

/* What has no spans is no row: readers draw counters and points without their thread. */
static bool chrome_row_is_drawn(const struct view_row *row)
{
	return (row->type != ROW_PROCESS && row->type != ROW_DEVICE) || row->span_count;
}

/* A thread that did nothing but wait, of a process of which something else is to be seen. A main thread stays: readers take its tid for
 * that of its process. */
static bool chrome_row_waits(const struct chrome_numbers *numbers, const struct view_row *row)
{
	return row->type == ROW_THREAD && row->tid != row->pid && row->pid && row->span_count &&
	       !row->work_count && map_find(&numbers->working, row->pid, 0);
}

/* A GPU is drawn as a process of its own beside the process that uses it. */
static u64 chrome_process_key_a(const struct view_row *row)
{
	return view_row_is_of_gpu(row->type) ? (u64)row->source << 32 | row->pid : row->pid;
}

static u64 chrome_process_key_b(const struct chrome_numbers *numbers, const struct view_row *row)
{
	if (view_row_is_of_gpu(row->type))
		return (u64)row->device + 1;
	return chrome_row_waits(numbers, row) ? ~0ULL : 0;
}

static u32 chrome_take_number(const struct map *used, u32 *next)
{
	while (!*next || map_find(used, *next, 0))
		(*next)++;
	return (*next)++;
}

static int chrome_note_used(struct chrome_numbers *numbers, const struct view_survey *survey)
{
	for (size_t i = 0; i < survey->row_count; i++) {
		int result = map_set(&numbers->used, survey->rows[i].pid, 0, 1);

		if (result == 0)
			result = map_set(&numbers->used, survey->rows[i].tid, 0, 1);
		if (result == 0 && survey->rows[i].work_count &&
		    (survey->rows[i].type == ROW_THREAD || survey->rows[i].type == ROW_STREAM))
			result = map_set(&numbers->working, survey->rows[i].pid, 0, 1);
		if (result < 0)
			return result;
	}
	return 0;
}

static int chrome_add_process(struct chrome_rows *rows, struct chrome_numbers *numbers,
			      size_t index)
{
	const struct view_row *row = &rows->survey->rows[index];
	u64 key_a = chrome_process_key_a(row), key_b = chrome_process_key_b(numbers, row);
	bool waits = chrome_row_waits(numbers, row);
	bool own = view_row_is_of_gpu(row->type) || row->pid == 0 || waits;
	struct chrome_process *process = &rows->processes[rows->process_count];
	const u64 *known = map_find(&numbers->processes, key_a, key_b);

	for (size_t i = 0; known && waits && i < rows->process_count; i++)
		rows->processes[i].waiting_count += rows->processes[i].pid == *known;
	if (known)
		return 0;
	*process = (struct chrome_process){
		.pid = own ? chrome_take_number(&numbers->used, &numbers->next_pid) : row->pid,
		.real_pid = row->pid,
		.row = row,
		.waiting_count = waits,
		.first = index,
	};
	rows->process_count++;
	return map_set(&numbers->processes, key_a, key_b, process->pid);
}

enum chrome_rank { RANK_GPU, RANK_PROCESS, RANK_NO_PROCESS, RANK_WAITING };

static enum chrome_rank chrome_rank(const struct chrome_process *process)
{
	if (view_row_is_of_gpu(process->row->type))
		return RANK_GPU;
	if (process->waiting_count)
		return RANK_WAITING;
	return process->real_pid ? RANK_PROCESS : RANK_NO_PROCESS;
}

static int chrome_process_compare(const void *a_pointer, const void *b_pointer)
{
	const struct chrome_process *a = a_pointer, *b = b_pointer;
	enum chrome_rank a_rank = chrome_rank(a), b_rank = chrome_rank(b);

	if (a_rank != b_rank)
		return a_rank < b_rank ? -1 : 1;
	if (a->real_pid != b->real_pid)
		return a->real_pid - 1 < b->real_pid - 1 ? -1 : 1; /* 0 wraps to the greatest */
	return a->first < b->first ? -1 : a->first > b->first;
}

static int chrome_add_lane(struct chrome_rows *rows, struct chrome_numbers *numbers,
			   size_t row_index, unsigned number)
{
	const struct view_row *row = &rows->survey->rows[row_index];
	u32 pid = (u32)*map_find(&numbers->processes, chrome_process_key_a(row),
				 chrome_process_key_b(numbers, row));
	/* Points and counters of a process as a whole: readers ignore their tid, but not a strange
	 * one. */
	bool drawn = chrome_row_is_drawn(row);
	u32 tid = row->type == ROW_THREAD ? row->tid : drawn ? 0 : pid;
	struct chrome_lane *lane = &rows->lanes[rows->lane_count++];

	if (number > 0 || tid == 0 || (drawn && map_find(&numbers->threads, pid, tid)))
		tid = chrome_take_number(&numbers->used, &numbers->next_tid);
	*lane = (struct chrome_lane){.pid = pid, .tid = tid, .ids_length = rows->ids.length};
	text_append(&rows->ids, ",\"pid\":");
	json_append_u64(&rows->ids, pid);
	text_append(&rows->ids, ",\"tid\":");
	json_append_u64(&rows->ids, tid);
	lane->ids_length = rows->ids.length - lane->ids_length;
	return drawn ? map_set(&numbers->threads, pid, tid, 1) : 0;
}

static int chrome_number_rows(struct chrome_rows *rows, struct chrome_numbers *numbers)
{
	const struct view_survey *survey = rows->survey;
	size_t offset = 0;
	int result = chrome_note_used(numbers, survey);

	for (size_t i = 0; result == 0 && i < survey->row_count; i++)
		result = chrome_add_process(rows, numbers, i);
	for (size_t i = 0; result == 0 && i < survey->row_count; i++) {
		rows->first_lane[i] = rows->lane_count;
		for (unsigned lane = 0; result == 0 && lane < survey->rows[i].lane_count; lane++)
			result = chrome_add_lane(rows, numbers, i, lane);
	}
	if (rows->ids.failed)
		result = -ENOMEM;
	for (size_t i = 0; result == 0 && i < rows->lane_count; i++) {
		rows->lanes[i].ids = rows->ids.data + offset;
		offset += rows->lanes[i].ids_length;
	}
	if (result == 0 && rows->process_count)
		qsort(rows->processes, rows->process_count, sizeof(*rows->processes),
		      chrome_process_compare);
	return result;
}

int chrome_rows_make(struct chrome_rows *rows, const struct view_survey *survey, bool incomplete,
		     struct err *err)
{
	struct chrome_numbers numbers = {
		.next_tid = CHROME_FIRST_OWN_TID,
		.next_pid = CHROME_FIRST_OWN_PID,
	};
	size_t lane_count = 0;
	int result = -ENOMEM;

	rows->survey = survey;
	for (size_t i = 0; i < survey->row_count; i++)
		lane_count += survey->rows[i].lane_count;
	/* One more, so that there is something to allocate for an empty capture. */
	rows->processes = calloc(survey->row_count + 1, sizeof(*rows->processes));
	rows->first_lane = calloc(survey->row_count + 1, sizeof(*rows->first_lane));
	rows->lanes = calloc(lane_count + 1, sizeof(*rows->lanes));
	if (rows->processes && rows->first_lane && rows->lanes)
		result = chrome_number_rows(rows, &numbers);
	if (incomplete) {
		rows->own_pid = chrome_take_number(&numbers.used, &numbers.next_pid);
		rows->own_tid = chrome_take_number(&numbers.used, &numbers.next_tid);
	}
	rows->used = numbers.used;
	rows->next_tid = numbers.next_tid;
	map_free(&numbers.processes);
	map_free(&numbers.threads);
	map_free(&numbers.working);
	if (result < 0)
		return err_errno(err, result, "can't number the %zu rows of the trace",
				 survey->row_count);
	return 0;
}

void chrome_rows_free(struct chrome_rows *rows)
{
	free(rows->processes);
	free(rows->first_lane);
	free(rows->lanes);
	text_free(&rows->ids);
	map_free(&rows->used);
	*rows = (struct chrome_rows){0};
}

/* {"ph":"M","name":NAME,"pid":1[,"tid":2],"args":{ */
static void chrome_begin_name(struct text *text, const char *name, u32 pid, u32 tid)
{
	text_appendf(text, "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u", name, pid);
	if (tid)
		text_appendf(text, ",\"tid\":%u", tid);
	text_append(text, ",\"args\":{");
}

static void chrome_append_name(struct text *text, const char *kind, u32 pid, u32 tid,
			       const char *name)
{
	chrome_begin_name(text, kind, pid, tid);
	text_append(text, "\"name\":");
	json_append_string(text, name);
	text_append(text, "}},\n");
}

static void chrome_append_sort_index(struct text *text, const char *kind, u32 pid, u32 tid,
				     size_t index)
{
	chrome_begin_name(text, kind, pid, tid);
	text_appendf(text, "\"sort_index\":%zu}},\n", index);
}

/* "CPU", "GPU 0": where Kineto says it. */
static void chrome_append_labels(const struct chrome_process *process, const struct view *view,
				 struct text *text)
{
	const struct record_device *device =
		view_row_is_of_gpu(process->row->type)
			? (const struct record_device *)view_fact(view, KIND_device,
								  process->row->device)
			: NULL;

	if (!process->row->pid && !view_row_is_of_gpu(process->row->type))
		return;
	chrome_begin_name(text, "process_labels", process->pid, 0);
	if (device && device->number == ~0U)
		text_append(text, "\"labels\":\"GPU\"}},\n");
	else if (view_row_is_of_gpu(process->row->type))
		text_appendf(text, "\"labels\":\"GPU %u\"}},\n", process->row->device_number);
	else
		text_append(text, "\"labels\":\"CPU\"}},\n");
}

static void chrome_append_process(const struct chrome_process *process, const struct view *view,
				  size_t index, struct text *text)
{
	const struct view_row *row = process->row;
	struct text name _cleanup_text_ = {0};

	if (view_row_is_of_gpu(row->type)) {
		const char *device = view_device_name(view, row->device);

		text_append(&name, device ? device : "GPU");
		if (row->pid && *row->process_name)
			text_appendf(&name, " (%s %u)", row->process_name, row->pid);
		else if (row->pid)
			text_appendf(&name, " (%u)", row->pid);
	} else if (row->pid == 0) {
		text_append(&name, "(no process)");
	} else if (process->waiting_count) {
		text_appendf(&name, "%s (%u): %zu thread%s that only waited", row->process_name,
			     row->pid, process->waiting_count,
			     process->waiting_count == 1 ? "" : "s");
	} else {
		text_append(&name, row->process_name);
	}
	if (name.length)
		chrome_append_name(text, "process_name", process->pid, 0, text_string(&name));
	chrome_append_labels(process, view, text);
	chrome_append_sort_index(text, "process_sort_index", process->pid, 0, index);
}

static void chrome_append_thread(const struct chrome_lane *lane, const struct view_row *row,
				 unsigned number, size_t index, struct text *text)
{
	struct text name _cleanup_text_ = {0};

	if (row->type == ROW_PROCESS)
		text_append(&name, "CUDA overhead, unified memory, ranges of the process");
	else
		text_append(&name,
			    row->type == ROW_THREAD && !row->tid ? "(no thread)" : row->name);
	if (number == 1)
		text_append(&name, " (overlap)");
	else if (number > 1)
		text_appendf(&name, " (overlap %u)", number);
	if (name.length)
		chrome_append_name(text, "thread_name", lane->pid, lane->tid, text_string(&name));
	chrome_append_sort_index(text, "thread_sort_index", lane->pid, lane->tid, index);
}

void chrome_rows_append_names(const struct chrome_rows *rows, const struct view *view,
			      struct text *text)
{
	if (rows->own_pid) {
		chrome_append_name(text, "process_name", rows->own_pid, 0, "gpuprobe");
		chrome_append_sort_index(text, "process_sort_index", rows->own_pid, 0, 0);
		chrome_append_name(text, "thread_name", rows->own_pid, rows->own_tid,
				   "capture is incomplete");
	}
	for (size_t i = 0; i < rows->process_count; i++)
		chrome_append_process(&rows->processes[i], view, i + 1, text);
	for (size_t i = 0; i < rows->survey->row_count; i++) {
		const struct view_row *row = &rows->survey->rows[i];

		for (unsigned lane = 0; chrome_row_is_drawn(row) && lane < row->lane_count; lane++)
			chrome_append_thread(chrome_rows_lane(rows, i, lane), row, lane,
					     rows->first_lane[i] + lane, text);
	}
}

size_t chrome_rows_thread(const struct chrome_rows *rows, u32 pid, u32 tid)
{
	const struct view_survey *survey = rows->survey;

	for (size_t i = 0; i < survey->row_count; i++)
		if (survey->rows[i].type == ROW_THREAD && survey->rows[i].pid == pid &&
		    survey->rows[i].tid == tid)
			return i;
	return SIZE_MAX;
}

u32 chrome_rows_new_tid(struct chrome_rows *rows)
{
	return chrome_take_number(&rows->used, &rows->next_tid);
}

void chrome_rows_append_name(u32 pid, u32 tid, const char *name, size_t sort_index,
			     struct text *text)
{
	chrome_append_name(text, "thread_name", pid, tid, name);
	chrome_append_sort_index(text, "thread_sort_index", pid, tid, sort_index);
}
