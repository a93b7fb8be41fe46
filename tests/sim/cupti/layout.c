/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Record sizes by kind and release, and walking buffers by them. */
#include "chosen.h"
#include "subscriber.h"

static const struct {
	unsigned kind;
	struct {
		unsigned since;
		unsigned size;
	} sizes[6];
} layouts[] = {
#define SIM_SIZES(number, ...) {number, {__VA_ARGS__}},
#include "layouts.def"
};

size_t sim_record_size(unsigned kind)
{
	/* The knob: records of another release than the version number tells. */
	unsigned code = (unsigned)sim_cupti_knob("layout", sim_version()->code);
	size_t size = 0;

	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (layouts[i].kind != kind)
			continue;
		for (size_t j = 0; j < 6 && layouts[i].sizes[j].since; j++)
			if (layouts[i].sizes[j].since <= code)
				size = layouts[i].sizes[j].size;
	}
	return size;
}

/* As a subscriber's buffers have them. */
static size_t size_of(unsigned subscriber, unsigned kind)
{
	size_t chosen = sim_chosen_size(subscriber, kind);

	return chosen ? chosen : sim_record_size(kind);
}

static CUptiResult next_record(unsigned subscriber, uint8_t *buffer, size_t valid_bytes,
			       CUpti_Activity **record)
{
	uint8_t *next = buffer;
	size_t size;

	if (!buffer || !record)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (*record) {
		size = size_of(subscriber, (*record)->kind);
		if (!size)
			return sim_version()->code < 12040 ? CUPTI_ERROR_UNKNOWN
							   : CUPTI_ERROR_INVALID_KIND;
		next = (uint8_t *)*record + size;
	}
	if (next + sizeof(uint32_t) > buffer + valid_bytes)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	if (!sim_record_size(((CUpti_Activity *)next)->kind))
		return sim_version()->code < 12040 ? CUPTI_ERROR_UNKNOWN : CUPTI_ERROR_INVALID_KIND;
	*record = (CUpti_Activity *)next;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_bytes, CUpti_Activity **record)
{
	CUptiResult result =
		sim_version()->code < 13030 ? sim_gate_free(__func__) : sim_gate_old(__func__);

	return result ? result : next_record(0, buffer, valid_bytes, record);
}

CUptiResult sim_ActivityGetNextRecord_v2(CUpti_SubscriberHandle subscriber, uint8_t *buffer,
					 size_t valid_bytes, CUpti_Activity **record)
{
	unsigned number;
	CUptiResult result = sim_gate_new("cuptiActivityGetNextRecord_v2", subscriber, &number);

	return result ? result : next_record(number, buffer, valid_bytes, record);
}

CUptiResult cuptiActivityGetStructSize(uint32_t kind, uint32_t version, size_t *size);
/* Answers for 130000 and newer only. */
CUptiResult cuptiActivityGetStructSize(uint32_t kind, uint32_t version, size_t *size)
{
	CUptiResult result = sim_gate_free(__func__);

	if (result)
		return result;
	if (version && version < 130000)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*size = sim_record_size(kind);
	return *size ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
}
