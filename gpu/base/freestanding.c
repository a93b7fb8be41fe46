/* SPDX-License-Identifier: MIT */
/*
 * What the compiler calls by itself. Of our own, so that the library asks the target's libc for nothing but what
 * scripts/check-agent.sh lists, and no thread of the target's runs through a function that it has replaced.
 */
#include "arch_x86_64.h"
#include "types.h"

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *memory, int value, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);
size_t strlen(const char *string);
void *memchr(const void *memory, int value, size_t bytes);

/* Eight bytes wherever they stand. */
struct word {
	u64 value;
} __attribute__((packed, may_alias));

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
	u8 *target = to;
	const u8 *source = from;

	for (; bytes >= sizeof(struct word); bytes -= sizeof(struct word)) {
		*(struct word *)target = *(const struct word *)source;
		target += sizeof(struct word);
		source += sizeof(struct word);
	}
	while (bytes--)
		*target++ = *source++;
	return to;
}

void *memmove(void *to, const void *from, size_t bytes)
{
	u8 *target = to;
	const u8 *source = from;

	if (target <= source)
		for (size_t i = 0; i < bytes; i++)
			target[i] = source[i];
	else
		while (bytes--)
			target[bytes] = source[bytes];
	return to;
}

#define FILL_BYTES 512

void *memset(void *memory, int value, size_t bytes)
{
	u8 *target = memory;

	if (bytes >= FILL_BYTES) {
		arch_fill(memory, value, bytes);
		return memory;
	}
	while (bytes--)
		*target++ = value;
	return memory;
}

int memcmp(const void *a, const void *b, size_t bytes)
{
	const u8 *left = a, *right = b;

	for (size_t i = 0; i < bytes; i++)
		if (left[i] != right[i])
			return left[i] - right[i];
	return 0;
}

size_t strlen(const char *string)
{
	size_t length = 0;

	while (string[length])
		length++;
	return length;
}

void *memchr(const void *memory, int value, size_t bytes)
{
	const u8 *byte = memory;

	for (; bytes--; byte++)
		if (*byte == (u8)value)
			return (void *)byte;
	return NULL;
}
