/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is not known of the time in which a GPU has no work that is recorded. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "view/view.h"

/* So many operations for each record that may be lost unsaid. */
#define OPERATIONS_PER_LOST 1000

static u64 operation_count(const struct view *view, u32 device)
{
	const struct view_survey *survey = view_survey(view);
	const struct record_header *wanted = view_fact(view, KIND_device, device);
	u64 count = 0;

	for (size_t i = 0; i < survey->row_count; i++) {
		const struct view_row *row = &survey->rows[i];

		if (row->type == ROW_STREAM &&
		    (row->device == device ||
		     view_is_same_gpu(view_fact(view, KIND_device, row->device), wanted)))
			count += row->span_count;
	}
	return count;
}

/* "train (77)", 77 */
static bool is_in_process(const char *place, u32 pid)
{
	char ending[16];
	size_t length = strlen(place);
	size_t ending_length = (size_t)snprintf(ending, sizeof(ending), "(%" PRIu32 ")", pid);

	return length >= ending_length && !strcmp(place + length - ending_length, ending);
}

/* Is it of a process that has a fact of this GPU, or of one that has none of any? */
static bool is_of_gpu(const struct view *view, const char *place, u32 device)
{
	const struct record_header *wanted = view_fact(view, KIND_device, device);
	size_t count;
	const struct record_header *const *devices = view_facts(view, KIND_device, &count);
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		if (!devices[i] || !is_in_process(place, devices[i]->pid))
			continue;
		if (devices[i] == wanted || view_is_same_gpu(devices[i], wanted))
			return true;
		any = true;
	}
	return !any;
}

static bool is_loss_of_work(u32 reason)
{
	return reason == VALUE_loss_reason_agent_ring_full ||
	       reason == VALUE_loss_reason_cupti_dropped ||
	       reason == VALUE_loss_reason_no_timestamps ||
	       reason == VALUE_loss_reason_activity_unknown;
}

u64 view_gpu_records_lost(const struct view *view, u32 device)
{
	size_t count;
	const struct record_header *const *facts = view_facts(view, KIND_loss, &count);
	u64 lost = 0;

	for (size_t i = 0; i < count; i++) {
		const struct record_loss *loss = (const struct record_loss *)facts[i];
		const char *place = loss ? view_text(view, loss->place) : NULL;

		if (place && is_loss_of_work(loss->reason) && loss->count != ~0ULL &&
		    is_of_gpu(view, place, device))
			lost = lost + loss->count < lost ? ~0ULL : lost + loss->count;
	}
	return lost > operation_count(view, device) / OPERATIONS_PER_LOST ? lost : 0;
}

bool view_append_gpu_doubts(const struct view *view, u32 device, struct text *text)
{
	u64 lost = view_gpu_records_lost(view, device);
	_cleanup_text_ struct text users = {0};
	bool used = view_append_gpu_users(view, device, &users);

	if (used)
		text_appendf(text, "%s %s it too, not recorded", text_string(&users),
			     strchr(text_string(&users), ',') ? "use" : "uses");
	if (lost)
		text_appendf(text,
			     "%s%" PRIu64
			     " records of its processes were lost (work, calls, ranges), and its "
			     "%" PRIu64 " operations were not",
			     used ? "; " : "", lost, operation_count(view, device));
	text->failed |= users.failed;
	return used || lost;
}
