/* SPDX-License-Identifier: MIT */
#include "texts.h"

#include <string.h>

#include "../../bpf/record.h"
#include "system.h"

#define TEXTS_MOST  (1U << 20)
#define ARENA_BYTES (64UL << 20) /* reserved; memory is used as far as it is filled */
#define SEEN_MAX    4096U	 /* addresses remembered; a power of two */

struct text {
	u32 hash;
	u32 offset_bytes; /* in the arena */
	u32 length_bytes;
	bool sent;
};

/* Where a string was found last. CUPTI's names of kernels stay where they are, but for modules that are unloaded. */
struct seen {
	const char *string;
	u32 id;
};

struct texts {
	size_t own_bytes;
	u64 fact_ns;
	u32 count, count_max;
	u32 slot_mask;
	u32 arena_used_bytes;
	char *arena;
	struct text *entries; /* by id - 1 */
	u32 *slots;	      /* ids by hash, 0: empty */
	struct seen seen[SEEN_MAX];
};

struct texts *texts_open(u32 texts_max, u64 fact_ns)
{
	u32 count_max = texts_max && texts_max < TEXTS_MOST ? texts_max : TEXTS_MOST;
	u32 slots = 64;
	size_t bytes;
	struct texts *texts;

	while (slots < 2 * count_max)
		slots *= 2;
	bytes = sizeof(*texts) + count_max * sizeof(struct text) + slots * sizeof(u32);
	texts = system_map(bytes);
	if (!texts)
		return NULL;
	texts->own_bytes = bytes;
	texts->fact_ns = fact_ns;
	texts->count_max = count_max;
	texts->slot_mask = slots - 1;
	texts->entries = (struct text *)(texts + 1);
	texts->slots = (u32 *)(texts->entries + count_max);
	texts->arena = system_map(ARENA_BYTES);
	if (!texts->arena) {
		texts_close(texts);
		return NULL;
	}
	return texts;
}

void texts_close(struct texts *texts)
{
	if (!texts)
		return;
	system_unmap(texts->arena, ARENA_BYTES);
	system_unmap(texts, texts->own_bytes);
}

u32 text_hash(const char *string, u32 max_bytes, u32 *ret_length)
{
	u32 hash = 0x811c9dc5, length = 0;

	for (; string[length] && length < max_bytes; length++)
		hash = (hash ^ (u8)string[length]) * 0x01000193;
	*ret_length = length;
	return hash;
}

bool text_fact_send(struct ring_writer *writer, u32 id, u64 fact_ns, const char *string,
		    u32 length_bytes)
{
	struct record_text *record;
	u32 bytes = (sizeof(*record) + length_bytes + 7) & ~7U;

	record = ring_reserve(writer, bytes);
	if (!record)
		return false;
	memset(record, 0, bytes);
	record->header.size_bytes = bytes;
	record->header.kind = KIND_text;
	record->header.ts = fact_ns;
	record->id = id;
	record->length_bytes = length_bytes;
	memcpy(record + 1, string, length_bytes);
	ring_commit(writer, bytes);
	return true;
}

/* A new entry; 0: no room. */
static u32 text_add(struct texts *texts, const char *string, u32 length, u32 hash)
{
	struct text *text = &texts->entries[texts->count];

	if (texts->count == texts->count_max || length > ARENA_BYTES - texts->arena_used_bytes)
		return 0;
	*text = (struct text){hash, texts->arena_used_bytes, length, false};
	memcpy(texts->arena + text->offset_bytes, string, length);
	texts->arena_used_bytes += length;
	return ++texts->count;
}

void texts_send(struct texts *texts, struct ring_writer *writer, u32 id)
{
	struct text *text = &texts->entries[id - 1];

	if (!id || id > texts->count || text->sent)
		return;
	text->sent = text_fact_send(writer, id, texts->fact_ns, texts->arena + text->offset_bytes,
				    text->length_bytes);
}

/* Eight bytes wherever they stand. */
struct word {
	u64 value;
} __attribute__((packed, may_alias));

/*
 * Do these bytes begin the string? Whole words are read as long as the string was the same, so that it goes on there, and
 * the word does not reach into the next page.
 */
static bool begins_with(const char *string, const char *bytes, u32 length)
{
	u32 at = 0;

	for (; at + sizeof(struct word) <= length &&
	       (uintptr_t)(string + at) % PAGE_BYTES <= PAGE_BYTES - sizeof(struct word);
	     at += sizeof(struct word))
		if (((const struct word *)(string + at))->value !=
		    ((const struct word *)(bytes + at))->value)
			return false;
	while (at < length && string[at] == bytes[at])
		at++;
	return at == length;
}

static struct seen *seen_at(struct texts *texts, const char *string)
{
	u64 address = (uintptr_t)string;

	return &texts->seen[(address >> 3 ^ address >> 15) % SEEN_MAX];
}

/* The text that stood at this address before, if it stands there still; 0: no. */
static u32 texts_seen(struct texts *texts, const struct seen *seen, const char *string)
{
	const struct text *text;

	if (seen->string != string)
		return 0;
	text = &texts->entries[seen->id - 1];
	if (!begins_with(string, texts->arena + text->offset_bytes, text->length_bytes))
		return 0;
	return text->length_bytes == TEXT_BYTES_MAX || !string[text->length_bytes] ? seen->id : 0;
}

u32 texts_put(struct texts *texts, struct ring_writer *writer, const char *string)
{
	u32 length, hash, slot;
	struct seen *seen;

	if (!string || !*string)
		return 0;
	seen = seen_at(texts, string);
	slot = texts_seen(texts, seen, string);
	if (slot) {
		texts_send(texts, writer, slot);
		return slot;
	}
	hash = text_hash(string, TEXT_BYTES_MAX, &length);
	for (slot = hash & texts->slot_mask; texts->slots[slot];
	     slot = (slot + 1) & texts->slot_mask) {
		const struct text *text = &texts->entries[texts->slots[slot] - 1];

		if (text->hash == hash && text->length_bytes == length &&
		    !memcmp(texts->arena + text->offset_bytes, string, length))
			break;
	}
	if (!texts->slots[slot])
		texts->slots[slot] = text_add(texts, string, length, hash);
	if (!texts->slots[slot]) {
		ring_count(writer->ring, AGENT_COUNT_FACTS_CAPPED, 1);
		return 0;
	}
	*seen = (struct seen){string, texts->slots[slot]};
	texts_send(texts, writer, texts->slots[slot]);
	return texts->slots[slot];
}
