/* SPDX-License-Identifier: MIT */
#include "cupti_sizes.h"

#include <string.h>

#include "cupti_convert.h"

#define RECORD_MOST_BYTES 1024

/* CUPTI walks a buffer in which a record of this kind could begin anywhere: its step is the size. */
static size_t step_of(const struct cupti_calls *calls, u32 kind)
{
	u64 words[2 * RECORD_MOST_BYTES / 8];
	void *first = NULL, *second;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = kind;
	if (calls->ActivityGetNextRecord((u8 *)words, sizeof(words), &first) || !first)
		return 0;
	second = first;
	if (calls->ActivityGetNextRecord((u8 *)words, sizeof(words), &second) || second <= first)
		return 0;
	return (u8 *)second - (u8 *)first;
}

static size_t size_of(const struct cupti_calls *calls, u32 version, u32 kind)
{
	size_t bytes = 0;

	if (version >= CUPTI_VERSION_STRUCT_SIZE && calls->ActivityGetStructSize)
		return calls->ActivityGetStructSize(kind, 0, &bytes) ? 0 : bytes;
	return step_of(calls, kind);
}

void cupti_sizes_measure(const struct cupti_calls *calls, u32 version, u16 *record_bytes)
{
	for (u32 kind = 0; kind < AGENT_ACTIVITY_KINDS; kind++) {
		size_t bytes = cupti_convert_knows(kind) ? size_of(calls, version, kind) : 0;

		record_bytes[kind] = bytes <= RECORD_MOST_BYTES ? bytes : 0;
	}
}
