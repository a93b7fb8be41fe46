/* SPDX-License-Identifier: MIT */
#include "words.h"

bool words_begin_with(const char *string, const char *beginning)
{
	while (*beginning && *string == *beginning)
		string++, beginning++;
	return !*beginning;
}

struct words words_begin(char *buffer, size_t room_bytes)
{
	buffer[0] = '\0';
	return (struct words){buffer, room_bytes, 0};
}

void words_add(struct words *words, const char *string)
{
	while (string && *string && words->length_bytes + 1 < words->room_bytes)
		words->buffer[words->length_bytes++] = *string++;
	words->buffer[words->length_bytes] = '\0';
}

void words_add_number(struct words *words, u64 number)
{
	char digits[24];
	char *digit = digits + sizeof(digits) - 1;

	*digit = '\0';
	do {
		*--digit = '0' + number % 10;
		number /= 10;
	} while (number);
	words_add(words, digit);
}

void words_set(char *buffer, size_t room_bytes, const char *string)
{
	struct words words = words_begin(buffer, room_bytes);

	words_add(&words, string);
}
