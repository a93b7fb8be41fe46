/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of which a subscriber has chosen the fields (CUPTI_ACTIVITY_ATTR_USER_DEFINED_RECORDS), as the headers of 13.3 to 13.5 have them, of
 * the kinds and fields below. What is chosen lies in the order of the ids, each at its natural alignment; buffers come back with their layouts.
 */
#include <string.h>
#include "chosen.h"

#define FIELDS_MAX 16

/* What stands where in the whole record, and how large it is in a chosen one. */
static const struct field {
	unsigned kind;
	int id; /* of the kind's enum */
	size_t offset, size, size_chosen;
} fields[] = {
#define FIELD(kind, id, type, member, size_chosen) \
	{kind, id, offsetof(type, member), sizeof(((type *)0)->member), size_chosen},
#define KERNEL(id, member, size) \
	FIELD(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, id, CUpti_ActivityKernel9, member, size)
#define MEMCPY(id, member, size) \
	FIELD(CUPTI_ACTIVITY_KIND_MEMCPY, id, CUpti_ActivityMemcpy5, member, size)
#define API(kind, id, member, size) FIELD(kind, id, CUpti_ActivityAPI, member, size)
#define APIS(id, member, size)                             \
	API(CUPTI_ACTIVITY_KIND_RUNTIME, id, member, size) \
	API(CUPTI_ACTIVITY_KIND_DRIVER, id, member, size)
	KERNEL(0, kind, 4) KERNEL(7, start, 8) KERNEL(8, end, 8) KERNEL(10, deviceId, 4) KERNEL(
		11, contextId, 4) KERNEL(12, streamId, 4) KERNEL(22, correlationId, 4)
		KERNEL(24, name, 8) MEMCPY(0, kind, 4) MEMCPY(1, copyKind, 1) MEMCPY(5, bytes, 8)
			MEMCPY(6, start, 8) MEMCPY(7, end, 8) MEMCPY(8, deviceId, 4)
				MEMCPY(10, streamId, 4) MEMCPY(11, correlationId,
							       4) APIS(0, kind, 4) APIS(1, cbid, 4)
					APIS(2, start, 8) APIS(3, end, 8) APIS(4, processId, 4)
						APIS(5, threadId, 8) APIS(6, correlationId, 8)};

/* Of a subscriber and a kind. */
struct choice {
	struct sim_layout layout;
	struct sim_layout_entry entries[FIELDS_MAX];
	const struct field *fields[FIELDS_MAX];
};

static struct choice choices[SIM_SUBSCRIBERS][SIM_MAX_KINDS];
static struct sim_layout *lists[SIM_SUBSCRIBERS][SIM_MAX_KINDS];
static unsigned char wanted; /* a bit for each subscriber */

void sim_chosen_want(unsigned subscriber, bool on)
{
	wanted = (unsigned char)(on ? wanted | 1u << subscriber : wanted & ~(1u << subscriber));
	if (!on)
		memset(choices[subscriber], 0, sizeof(choices[subscriber]));
}

bool sim_chosen_by_anybody(void)
{
	return wanted;
}

void sim_chosen_forget(unsigned subscriber)
{
	sim_chosen_want(subscriber, false);
}

static const struct field *find_field(unsigned kind, int id)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (fields[i].kind == kind && fields[i].id == id)
			return &fields[i];
	return NULL;
}

CUptiResult sim_chosen_enable(unsigned subscriber, unsigned kind,
			      const struct sim_activity_config *config)
{
	struct choice *choice = &choices[subscriber][kind % SIM_MAX_KINDS];
	const struct sim_selection *selection = config ? &config->selection : NULL;
	size_t offset = 0;

	if (!(wanted >> subscriber & 1))
		return CUPTI_SUCCESS;
	if (!selection || !selection->count || selection->count > FIELDS_MAX || selection->ids[0])
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (size_t i = 0; i < selection->count; i++)
		if (!find_field(kind, selection->ids[i]))
			return CUPTI_ERROR_NOT_SUPPORTED; /* by the simulated one */
	for (size_t i = 0; i < selection->count; i++) {
		const struct field *field = find_field(kind, selection->ids[i]);

		offset = (offset + field->size_chosen - 1) & -field->size_chosen;
		choice->fields[i] = field;
		choice->entries[i] = (struct sim_layout_entry){
			field->id, offset, field->size_chosen, field->size_chosen};
		offset += field->size_chosen;
	}
	choice->layout = (struct sim_layout){sizeof(choice->layout), choice->entries,
					     selection->count, (offset + 7) & ~7ul};
	return CUPTI_SUCCESS;
}

size_t sim_chosen_size(unsigned subscriber, unsigned kind)
{
	return choices[subscriber][kind % SIM_MAX_KINDS].layout.record_size;
}

size_t sim_chosen_make(unsigned subscriber, const void *record, uint8_t *to)
{
	const struct choice *choice =
		&choices[subscriber][((const CUpti_Activity *)record)->kind % SIM_MAX_KINDS];

	memset(to, 0, choice->layout.record_size);
	for (size_t i = 0; i < choice->layout.count; i++)
		memcpy(to + choice->entries[i].offset,
		       (const uint8_t *)record + choice->fields[i]->offset,
		       choice->fields[i]->size);
	return choice->layout.record_size;
}

struct sim_layout **sim_chosen_layouts(unsigned subscriber, size_t *count)
{
	*count = 0;
	for (unsigned kind = 0; kind < SIM_MAX_KINDS; kind++)
		if (choices[subscriber][kind].layout.count)
			lists[subscriber][(*count)++] = &choices[subscriber][kind].layout;
	return lists[subscriber];
}
