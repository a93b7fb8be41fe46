/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/kernel_texts.h"

#include <ctype.h>

#define NAME_MAX_BYTES 512

static bool is_identifier(const char *name, size_t length)
{
	if (!length || length > NAME_MAX_BYTES || isdigit((unsigned char)*name))
		return false;
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '_')
			return false;
	return true;
}

static void add_text(struct kernel_texts *texts, const struct record_header *record)
{
	const struct record_text *text = (const struct record_text *)record;
	const char *string = (const char *)(text + 1);

	if (record->size_bytes < sizeof(*text) ||
	    text->length_bytes > record->size_bytes - sizeof(*text) ||
	    texts->table.count == KERNEL_TEXTS_MAX || !is_identifier(string, text->length_bytes))
		return;
	/* Without memory it has no source line. */
	(void)string_table_add(&texts->table, string, text->length_bytes);
}

void kernel_texts_add_batch(struct kernel_texts *texts, const struct batch *batch)
{
	size_t size, count = batch_event_count(batch);
	const u8 *facts = batch_facts(batch, &size);

	for (size_t offset = 0; offset < size;) {
		const struct record_header *record = (const void *)(facts + offset);

		if (record->kind == KIND_text && record->source > RECORD_SOURCE_BPF)
			add_text(texts, record);
		offset += record->size_bytes;
	}
	for (size_t i = 0; i < count && !texts->has_kernels; i++)
		texts->has_kernels = batch_event(batch, i)->kind == KIND_kernel;
}

void kernel_texts_free(struct kernel_texts *texts)
{
	string_table_free(&texts->table);
	*texts = (struct kernel_texts){0};
}
