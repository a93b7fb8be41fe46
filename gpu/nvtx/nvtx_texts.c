/* SPDX-License-Identifier: MIT */
#include "nvtx_texts.h"

#include <string.h>

#include "../../bpf/record.h"
#include "../base/system.h"
#include "../base/texts.h"

#define FIRST_ID    (1U << 21) /* behind those of texts.c */
#define SLOTS	    (1U << 16)
#define SLOTS_KEPT  (SLOTS / 2) /* so many strings are known again */
#define SLOTS_TRIED 64
#define ONCE_MOST \
	400000U /* names of kernels, streams and all else of the process have 1,000,000 ids with them (store/renumber.h) */
#define ARENA_BYTES (8UL << 20) /* reserved; memory is used as far as it is filled */

enum slot_state { SLOT_EMPTY, SLOT_BUSY, SLOT_READY, SLOT_USELESS };

struct slot {
	u64 head; /* hash, enum slot_state */
	u32 offset_bytes, length_bytes;
	u32 sent;
	u32 pad;
};

struct nvtx_texts {
	u64 fact_ns;
	u32 count, count_max;
	u32 once_count, once_max; /* of those that are sent at once and not kept */
	u64 arena_used_bytes;
	char *arena;
	struct slot slots[SLOTS];
};

struct nvtx_texts *nvtx_texts_open(u32 texts_max, u64 fact_ns)
{
	struct nvtx_texts *texts = system_map(sizeof(*texts));

	if (!texts)
		return NULL;
	texts->fact_ns = fact_ns;
	texts->count_max = texts_max && texts_max < SLOTS_KEPT ? texts_max : SLOTS_KEPT;
	texts->once_max = texts_max > SLOTS_KEPT ? texts_max - SLOTS_KEPT : 0;
	if (texts->once_max > ONCE_MOST)
		texts->once_max = ONCE_MOST;
	texts->arena = system_map(ARENA_BYTES);
	if (texts->arena)
		return texts;
	nvtx_texts_close(texts);
	return NULL;
}

void nvtx_texts_close(struct nvtx_texts *texts)
{
	if (!texts)
		return;
	system_unmap(texts->arena, ARENA_BYTES);
	system_unmap(texts, sizeof(*texts));
}

static u64 head_of(u32 hash, enum slot_state state)
{
	return (u64)hash << 32 | state;
}

/* The slot is ours to fill. */
static bool fill(struct nvtx_texts *texts, struct slot *slot, const char *string, u32 length,
		 u32 hash)
{
	u64 offset = 0;

	if (__atomic_fetch_add(&texts->count, 1, __ATOMIC_RELAXED) < texts->count_max)
		offset = __atomic_fetch_add(&texts->arena_used_bytes, length, __ATOMIC_RELAXED);
	else
		offset = ARENA_BYTES;
	if (offset + length > ARENA_BYTES) {
		__atomic_store_n(&slot->head, head_of(0, SLOT_USELESS), __ATOMIC_RELEASE);
		return false;
	}
	memcpy(texts->arena + offset, string, length);
	slot->offset_bytes = offset;
	slot->length_bytes = length;
	__atomic_store_n(&slot->head, head_of(hash, SLOT_READY), __ATOMIC_RELEASE);
	return true;
}

static bool holds(const struct nvtx_texts *texts, const struct slot *slot, const char *string,
		  u32 length)
{
	return slot->length_bytes == length &&
	       !memcmp(texts->arena + slot->offset_bytes, string, length);
}

/* Its slot, an old or a new one; SLOTS: there is no room. */
static u32 find(struct nvtx_texts *texts, const char *string, u32 length, u32 hash)
{
	for (u32 i = 0; i < SLOTS_TRIED; i++) {
		u32 index = (hash + i) % SLOTS;
		struct slot *slot = &texts->slots[index];
		u64 head = __atomic_load_n(&slot->head, __ATOMIC_ACQUIRE);

		if (head == head_of(hash, SLOT_READY) && holds(texts, slot, string, length))
			return index;
		if (head)
			continue;
		/* Full: new ones need not use up what is left. */
		if (__atomic_load_n(&texts->count, __ATOMIC_RELAXED) >= texts->count_max)
			return SLOTS;
		if (__atomic_compare_exchange_n(&slot->head, &head, head_of(hash, SLOT_BUSY), false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return fill(texts, slot, string, length, hash) ? index : SLOTS;
		/* Somebody was quicker: with this string? */
		i--;
	}
	return SLOTS;
}

u32 nvtx_texts_send(struct nvtx_texts *texts, struct ring_writer *writer, u32 id)
{
	struct slot *slot = &texts->slots[(id - FIRST_ID) % SLOTS];

	if (id >= FIRST_ID + SLOTS)
		return id - FIRST_ID - SLOTS < __atomic_load_n(&texts->once_count, __ATOMIC_RELAXED)
			       ? id
			       : 0;
	if (id < FIRST_ID || (u32)__atomic_load_n(&slot->head, __ATOMIC_ACQUIRE) != SLOT_READY)
		return 0;
	if (__atomic_load_n(&slot->sent, __ATOMIC_ACQUIRE))
		return id;
	if (text_fact_send(writer, id, texts->fact_ns, texts->arena + slot->offset_bytes,
			   slot->length_bytes))
		__atomic_store_n(&slot->sent, 1, __ATOMIC_RELEASE);
	return id;
}

static bool in_window(const struct agent_control *control)
{
	return __atomic_load_n(&control->window_start_ns, __ATOMIC_RELAXED) &&
	       !__atomic_load_n(&control->window_end_ns, __ATOMIC_RELAXED);
}

/* There is no room to know it again. Some programs put a number into each name (PyTorch's emit_nvtx()). In the window only: before it nobody takes
 * what is in the ring. 0: it has no name then. */
static u32 send_once(struct nvtx_texts *texts, struct ring_writer *writer, const char *string,
		     u32 length)
{
	u32 number = __atomic_load_n(&texts->once_count, __ATOMIC_RELAXED);

	if (number < texts->once_max) {
		if (!in_window(writer->ring->control))
			return 0;
		number = __atomic_fetch_add(&texts->once_count, 1, __ATOMIC_RELAXED);
	}
	if (number >= texts->once_max) {
		ring_count(writer->ring, AGENT_COUNT_FACTS_CAPPED, 1);
		return 0;
	}
	if (text_fact_send(writer, FIRST_ID + SLOTS + number, texts->fact_ns, string, length))
		return FIRST_ID + SLOTS + number;
	ring_count(writer->ring, AGENT_COUNT_RING_FULL, 1);
	return 0;
}

u32 nvtx_texts_put(struct nvtx_texts *texts, struct ring_writer *writer, const char *string)
{
	u32 length, hash, index;

	if (!string || !*string)
		return 0;
	hash = text_hash(string, NVTX_TEXT_BYTES_MAX, &length);
	index = find(texts, string, length, hash);
	if (index < SLOTS)
		return nvtx_texts_send(texts, writer, FIRST_ID + index);
	return send_once(texts, writer, string, length);
}

/* One character as UTF-8; how many bytes. */
static u32 encode(u32 character, char bytes[4])
{
	static const u8 leads[] = {0, 0xc0, 0xe0, 0xf0};
	u32 more = character < 0x80 ? 0 : character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;

	if (character > 0x10ffff || (character >= 0xd800 && character < 0xe000)) {
		bytes[0] = '?';
		return 1;
	}
	bytes[0] = leads[more] | character >> (6 * more);
	for (u32 i = 1; i <= more; i++)
		bytes[i] = 0x80 | (character >> (6 * (more - i)) & 0x3f);
	return more + 1;
}

u32 nvtx_texts_put_wide(struct nvtx_texts *texts, struct ring_writer *writer, const u32 *string)
{
	char bytes[NVTX_TEXT_BYTES_MAX + 1];
	u32 length = 0;

	if (!string)
		return 0;
	while (*string && length + 4 <= NVTX_TEXT_BYTES_MAX)
		length += encode(*string++, bytes + length);
	bytes[length] = '\0';
	return nvtx_texts_put(texts, writer, bytes);
}
