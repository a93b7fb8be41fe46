/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/answers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

#define READ_BYTES 65536

int answers_init(struct answers *answers)
{
	answers->group = SIZE_MAX;
	answers->first = calloc(answers->address_count + 1, sizeof(*answers->first));
	answers->last = calloc(answers->address_count + 1, sizeof(*answers->last));
	answers->is_cut = calloc(answers->group_count + 1, sizeof(*answers->is_cut));
	return answers->first && answers->last && answers->is_cut ? 0 : -ENOMEM;
}

static int string_add(struct answers *answers, const u8 *bytes, size_t length, u32 *ret_number)
{
	/* A NUL inside would end it for everybody else. */
	s64 number = string_table_add(&answers->strings, (const char *)bytes,
				      strnlen((const char *)bytes, length));

	if (number < 0)
		return -ENOMEM;
	answers->text_bytes += length;
	*ret_number = (u32)number;
	return 0;
}

static int frame_take(struct answers *answers, const struct wire_message *message, const u8 *text)
{
	struct answer *answer;
	u32 *last;

	if (message->index >= answers->address_count)
		return -EPROTO;
	if (answers->count == ANSWERS_FRAMES_MAX || answers->text_bytes > ANSWERS_TEXT_MAX_BYTES)
		return -E2BIG;
	if (array_reserve(&answers->items, &answers->capacity, answers->count + 1))
		return -ENOMEM;
	answer = &answers->items[answers->count];
	*answer = (struct answer){.message = *message};
	if (string_add(answers, text, message->name_bytes, &answer->name) ||
	    string_add(answers, text + message->name_bytes, message->file_bytes, &answer->file))
		return -ENOMEM;
	answers->count++;
	last = &answers->last[message->index];
	if (message->level && *last)
		answers->items[*last - 1].next = (u32)answers->count;
	else
		answers->first[message->index] = (u32)answers->count;
	*last = (u32)answers->count;
	return 0;
}

/* At most one a group and run. */
static int wish_take(struct answers *answers, const struct wire_message *message, const u8 *text)
{
	struct answers_wish wish = {.group = message->index,
				    .address_count = message->line,
				    .build_id_bytes = message->name_bytes,
				    .refused = message->level};

	if (message->index >= answers->group_count || !message->name_bytes ||
	    message->name_bytes > sizeof(wish.build_id) ||
	    answers->wish_count >= 2 * answers->group_count)
		return -EPROTO;
	if (array_reserve(&answers->wishes, &answers->wish_capacity, answers->wish_count + 1))
		return -ENOMEM;
	memcpy(wish.build_id, text, message->name_bytes);
	answers->wishes[answers->wish_count++] = wish;
	return 0;
}

static int message_take(struct answers *answers, const struct wire_message *message, const u8 *text)
{
	switch (message->type) {
	case WIRE_GROUP:
	case WIRE_CUT:
		if (message->index >= answers->group_count)
			return -EPROTO;
		answers->group = message->index;
		answers->is_cut[message->index] |= message->type == WIRE_CUT;
		return 0;
	case WIRE_FRAME:
		return frame_take(answers, message, text);
	case WIRE_WANTED:
		return wish_take(answers, message, text);
	case WIRE_END:
		answers->at_end = true;
		return 0;
	}
	return -EPROTO;
}

static int messages_take(struct answers *answers)
{
	size_t at = 0;
	int result = 0;

	while (!result && answers->filled - at >= sizeof(struct wire_message)) {
		struct wire_message message;
		size_t size;

		memcpy(&message, answers->bytes + at, sizeof(message));
		size = sizeof(message) + message.name_bytes + message.file_bytes;
		if (answers->filled - at < size)
			break;
		result = message_take(answers, &message, answers->bytes + at + sizeof(message));
		at += size;
	}
	answers->filled -= at;
	memmove(answers->bytes, answers->bytes + at, answers->filled);
	return result;
}

int answers_read(struct answers *answers, int pipe_fd)
{
	ssize_t size;
	int result;

	if (array_reserve(&answers->bytes, &answers->byte_capacity, answers->filled + READ_BYTES))
		return -ENOMEM;
	size = read(pipe_fd, answers->bytes + answers->filled, READ_BYTES);
	if (size < 0)
		return errno == EINTR || errno == EAGAIN ? 1 : -errno;
	answers->filled += (size_t)size;
	result = messages_take(answers);
	return result ? result : size > 0;
}

void answers_free(struct answers *answers)
{
	free(answers->first);
	free(answers->last);
	free(answers->is_cut);
	free(answers->wishes);
	free(answers->items);
	free(answers->bytes);
	string_table_free(&answers->strings);
	*answers = (struct answers){0};
}
