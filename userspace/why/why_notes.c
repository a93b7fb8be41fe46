/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "why/why_notes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static void fail(struct why_notes *notes, int result)
{
	if (notes->result == 0)
		notes->result = err_errno(&notes->err, result, "can't keep why GPUs were idle");
}

static struct why_notes_gpu *gpu_of(struct why_notes *notes, u32 number)
{
	if (array_reserve(&notes->gpus, &notes->gpu_capacity, (size_t)number + 1)) {
		fail(notes, -ENOMEM);
		return NULL;
	}
	while (notes->gpu_count <= number)
		notes->gpus[notes->gpu_count++] = (struct why_notes_gpu){0};
	return &notes->gpus[number];
}

static void put_last(struct why_notes *notes, struct why_notes_list *list)
{
	u8 *room;
	int result;

	if (!list->last.until_ns || notes->result)
		return;
	result = spool_reserve(&list->spool, &notes->store, sizeof(list->last), &room, &notes->err);
	if (result < 0)
		notes->result = result;
	else
		memcpy(room, &list->last, sizeof(list->last));
	list->last = (struct why_note){0};
}

/* What goes on is one with what was. */
bool why_note_goes_on(const struct why_note *last, const struct why_note *next)
{
	return last->until_ns == next->since_ns && last->sort == next->sort &&
	       last->what == next->what && last->row == next->row && last->waiter == next->waiter;
}

static void put(struct why_notes *notes, struct why_notes_gpu *gpu, const struct why_cause *cause,
		enum why_sort sort, u32 what, u64 since_ns, u64 until_ns)
{
	struct why_notes_list *list = &gpu->lists[notes->run];
	struct why_note next = {
		.since_ns = since_ns,
		.until_ns = until_ns,
		.what = what,
		.row = (u32)cause->row_index,
		.waiter = (u32)cause->waiter,
		.sort = sort,
	};

	if (since_ns >= until_ns)
		return;
	if (why_note_goes_on(&list->last, &next)) {
		list->last.until_ns = until_ns;
		return;
	}
	put_last(notes, list);
	list->last = next;
}

void why_notes_add(struct why_notes *notes, const struct why_cause *cause, u32 what, u64 since_ns,
		   u64 until_ns)
{
	struct why_notes_gpu *gpu = notes && !notes->result ? gpu_of(notes, cause->gpu) : NULL;

	if (gpu)
		put(notes, gpu, cause, cause->sort, what, since_ns, until_ns);
}

void why_notes_add_sample(struct why_notes *notes, const struct why_cause *cause, u32 part, u64 ts)
{
	struct why_notes_gpu *gpu = notes && !notes->result ? gpu_of(notes, cause->gpu) : NULL;

	if (!gpu)
		return;
	/* Those that no time took are of another thread's. */
	if (gpu->sampled_row != (u32)cause->row_index)
		gpu->sample_count = 0;
	gpu->sampled_row = (u32)cause->row_index;
	if (array_reserve(&gpu->samples, &gpu->sample_capacity, gpu->sample_count + 1)) {
		fail(notes, -ENOMEM);
		return;
	}
	gpu->samples[gpu->sample_count++] = (struct why_notes_sample){.ts = ts, .part = part};
}

/* From half way to the sample before to half way to the next one. */
static void put_samples(struct why_notes *notes, struct why_notes_gpu *gpu,
			const struct why_cause *cause, size_t first, u64 since_ns, u64 until_ns)
{
	for (size_t i = first; i < gpu->sample_count; i++) {
		const struct why_notes_sample *sample = &gpu->samples[i];
		u64 end_ns = i + 1 < gpu->sample_count
				     ? sample->ts + (gpu->samples[i + 1].ts - sample->ts) / 2
				     : until_ns;

		end_ns = end_ns < until_ns ? end_ns : until_ns;
		put(notes, gpu, cause, WHY_CODE, sample->part, since_ns, end_ns);
		since_ns = end_ns > since_ns ? end_ns : since_ns;
	}
}

void why_notes_add_code(struct why_notes *notes, const struct why_cause *cause, u32 what,
			u64 since_ns, u64 until_ns)
{
	struct why_notes_gpu *gpu = notes && !notes->result ? gpu_of(notes, cause->gpu) : NULL;
	size_t first = 0;

	if (!gpu)
		return;
	if (gpu->sampled_row != (u32)cause->row_index)
		first = gpu->sample_count;
	while (first < gpu->sample_count && gpu->samples[first].ts < since_ns)
		first++;
	if (first == gpu->sample_count)
		put(notes, gpu, cause, WHY_UNSAMPLED, what, since_ns, until_ns);
	else
		put_samples(notes, gpu, cause, first, since_ns, until_ns);
	gpu->sample_count = 0;
}

void why_notes_end_run(struct why_notes *notes)
{
	if (!notes)
		return;
	for (size_t i = 0; i < notes->gpu_count; i++)
		put_last(notes, &notes->gpus[i].lists[notes->run]);
	if (notes->run < WHY_RUN_THREADS)
		notes->run++;
}

u32 *why_notes_name_parts(struct why_notes *notes, size_t count)
{
	if (!notes || notes->result)
		return NULL;
	notes->parts = calloc(count + 1, sizeof(*notes->parts));
	if (!notes->parts)
		fail(notes, -ENOMEM);
	return notes->parts;
}

void why_notes_free(struct why_notes *notes)
{
	for (size_t i = 0; i < notes->gpu_count; i++) {
		for (size_t run = 0; run < WHY_RUNS; run++)
			spool_free(&notes->gpus[i].lists[run].spool);
		free(notes->gpus[i].samples);
	}
	free(notes->gpus);
	free(notes->parts);
	spool_store_close(&notes->store);
	*notes = (struct why_notes){.store = SPOOL_STORE_INIT};
}
