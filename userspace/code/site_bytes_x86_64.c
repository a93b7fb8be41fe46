/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "code/site_bytes.h"

#include <string.h>

#define BREAKPOINT	0xcc
#define CALL_RELATIVE	0xe8
#define LONG_NOP_BYTES	5
#define CALL_BYTES	5
#define DISTANCE_BYTES	4
#define DISTANCE_OFFSET 1

static const u8 long_nop[LONG_NOP_BYTES] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

void site_bytes_keep(struct decoder *decoder, const u8 *bytes, size_t size, u64 address,
		     struct site_bytes *ret_site)
{
	struct instruction instruction;
	size_t kept = decoder_read(decoder, bytes, size, address, &instruction)
			      ? instruction.size_bytes
			      : 1;

	kept = kept < size ? kept : size;
	kept = kept < SITE_BYTES_MAX ? kept : SITE_BYTES_MAX;
	*ret_site = (struct site_bytes){.size_bytes = (u8)kept};
	memcpy(ret_site->bytes, bytes, kept);
}

bool site_bytes_is_long_nop(const struct site_bytes *site)
{
	return site->size_bytes == LONG_NOP_BYTES && !memcmp(site->bytes, long_nop, LONG_NOP_BYTES);
}

static u64 call_target(const u8 *call, u64 address)
{
	int32_t distance;

	memcpy(&distance, call + DISTANCE_OFFSET, DISTANCE_BYTES);
	return address + CALL_BYTES + (u64)(s64)distance;
}

bool site_byte_is_breakpoint(u8 byte)
{
	return byte == BREAKPOINT;
}

bool site_bytes_match(const struct site_bytes *planned, const u8 *found)
{
	return !memcmp(found, planned->bytes, planned->size_bytes);
}

/* On the way from a breakpoint to the call the distance is there already. */
static bool calls_trampoline(const u8 *bytes, u64 address,
			     bool (*is_trampoline)(const void *data, u64 address), const void *data)
{
	return (bytes[0] == CALL_RELATIVE || bytes[0] == BREAKPOINT) &&
	       is_trampoline(data, call_target(bytes, address));
}

bool site_byte_is_probe(const u8 *bytes, size_t size_bytes, size_t at, u64 address,
			bool (*is_trampoline)(const void *data, u64 address), const void *data)
{
	size_t first = at < CALL_BYTES - 1 ? 0 : at - (CALL_BYTES - 1);

	if (bytes[at] == BREAKPOINT)
		return true;
	/* In the call, or in what 7.3 puts before it over a nop of ten bytes, of five bytes too. */
	for (size_t i = first; i <= at + CALL_BYTES && i + CALL_BYTES <= size_bytes; i++)
		if (calls_trampoline(bytes + i, address + i, is_trampoline, data))
			return true;
	return false;
}
