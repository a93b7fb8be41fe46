/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is not known of the time in which a GPU has no work that is recorded. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "view/view.h"

/* So many operations for each record that may be lost unsaid. */
#define OPERATIONS_PER_LOST 1000

static u64 operation_count(const struct view *view)
{
	static const u16 kinds[VIEW_ROW_KINDS_MAX] = {VIEW_GPU_WORK};
	u64 count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kinds) && kinds[i]; i++)
		count += view_kind_count(view, kinds[i]);
	return count;
}

/* Is it of a process that has a fact of this GPU? Its place ends in the process: "train (77)". */
static bool is_of_gpu(const struct view *view, const char *place, u32 device)
{
	const struct record_header *wanted = view_fact(view, KIND_device, device);
	size_t count;
	const struct record_header *const *devices = view_facts(view, KIND_device, &count);

	for (size_t i = 0; i < count; i++) {
		char ending[16];
		size_t length = strlen(place), ending_length;

		if (!devices[i] || (devices[i] != wanted && !view_is_same_gpu(devices[i], wanted)))
			continue;
		ending_length =
			(size_t)snprintf(ending, sizeof(ending), "(%" PRIu32 ")", devices[i]->pid);
		if (length >= ending_length && !strcmp(place + length - ending_length, ending))
			return true;
	}
	return false;
}

u64 view_gpu_records_lost(const struct view *view, u32 device)
{
	static const u32 reasons[] = {VALUE_loss_reason_agent_ring_full,
				      VALUE_loss_reason_cupti_dropped,
				      VALUE_loss_reason_no_timestamps};
	size_t count;
	const struct record_header *const *facts = view_facts(view, KIND_loss, &count);
	u64 lost = 0;

	for (size_t i = 0; i < count; i++) {
		const struct record_loss *loss = (const struct record_loss *)facts[i];
		const char *place = loss ? view_text(view, loss->place) : NULL;
		bool any = false;

		for (size_t j = 0; place && j < ARRAY_SIZE(reasons); j++)
			any |= loss->reason == reasons[j];
		if (any && is_of_gpu(view, place, device))
			lost += loss->count;
	}
	return lost * OPERATIONS_PER_LOST >= operation_count(view) ? lost : 0;
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
			     "%s%" PRIu64 " records of CUDA were lost, and %" PRIu64
			     " operations of GPUs were not",
			     used ? "; " : "", lost, operation_count(view));
	text->failed |= users.failed;
	return used || lost;
}
