/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Causes by groups: what was told of before it was known which times are in one, and what is busy in each. */
#include <errno.h>
#include <string.h>

#include "why/why_parts.h"

struct note {
	u64 since_ns, until_ns, gap;
	u32 what, gpu;
	u32 row; /* ~0: WHY_NO_ROW */
	u32 sort;
};

int why_earlier_add(struct why_earlier *earlier, const struct why_cause *cause, u32 what, u64 gap,
		    u64 since_ns, u64 until_ns, struct err *err)
{
	const struct note note = {
		.since_ns = since_ns,
		.until_ns = until_ns,
		.gap = gap,
		.what = what,
		.gpu = cause->gpu,
		.row = (u32)cause->row_index,
		.sort = cause->sort,
	};
	u8 *room;
	int result = spool_reserve(&earlier->spool, &earlier->store, sizeof(note), &room, err);

	if (result == 0)
		memcpy(room, &note, sizeof(note));
	return result;
}

static int tell(struct why_tally *tally, const struct note *note)
{
	const struct why_cause cause = {
		.gpu = note->gpu,
		.sort = (enum why_sort)note->sort,
		.row_index = note->row == ~0U ? WHY_NO_ROW : note->row,
		.waiter = WHY_NO_ROW,
		.held = WHY_NOT_HELD,
	};

	return why_tally_add_groups(tally, &cause, note->what, note->gap, note->since_ns,
				    note->until_ns);
}

int why_earlier_tell(const struct why_earlier *earlier, struct why_tally *tally, struct err *err)
{
	struct spool_reader reader = {.spool = &earlier->spool, .store = &earlier->store};
	const void *bytes;
	int result;

	while ((result = spool_next(&reader, sizeof(struct note), &bytes, err)) > 0) {
		struct note note;

		memcpy(&note, bytes, sizeof(note));
		if (tell(tally, &note)) {
			result = err_errno(err, -ENOMEM, "can't tell why GPUs are idle");
			break;
		}
	}
	spool_reader_free(&reader);
	return result;
}

void why_earlier_free(struct why_earlier *earlier)
{
	spool_free(&earlier->spool);
	spool_store_close(&earlier->store);
}

static void add_recorded(const struct why_slices *slices, u64 start_ns, struct why_gpu *gpu)
{
	u64 end_ns = start_ns + gpu->recorded_ns;

	for (size_t i = 0; i < slices->count; i++) {
		const struct why_slice *slice = &slices->items[i];
		u64 since_ns = slice->since_ns > start_ns ? slice->since_ns : start_ns;
		u64 until_ns = slice->until_ns < end_ns ? slice->until_ns : end_ns;

		if (since_ns < until_ns)
			gpu->group_busy_ns[slice->group] += until_ns - since_ns;
	}
}

void why_groups_busy(const struct view *view, const struct why_slices *slices, struct why *why)
{
	for (size_t i = 0; i < why->gpu_count; i++)
		add_recorded(slices, view_survey(view)->window_start_ns, &why->gpus[i]);
	for (size_t i = 0; i < why->grouped_count; i++)
		why->gpus[why->grouped[i].gpu].group_busy_ns[why->grouped[i].group] -=
			why->grouped[i].ns;
}
