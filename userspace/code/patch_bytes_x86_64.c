/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "code/patch_bytes.h"

#include <string.h>

#include "base/array.h"

#define DISTANCE_BYTES 4
#define JUMP_BYTES     5
#define JUMP	       0xe9

/* By bytes behind the first one, at two places. */
static const struct form {
	u8 first, second, place, tail_size;
	u8 tail[3];
} forms[] = {
	{0x49, 0xbb, 10, 3, {0x41, 0xff, 0xe3}}, /* mov $imm64,%r11; jmp *%r11 */
	{0x48, 0xb8, 10, 2, {0xff, 0xe0}},	 /* mov $imm64,%rax; jmp *%rax */
	{0x41, 0xba, 6, 1, {0xe8}},		 /* mov $imm32,%r10d; call: XRay's */
	{0x41, 0xba, 6, 1, {0xe9}},		 /* the same; jmp: at exits */
};

static int by_form(const u8 *bytes, size_t size_bytes)
{
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if (size_bytes >= (size_t)forms[i].place + forms[i].tail_size &&
		    bytes[1] == forms[i].second &&
		    !memcmp(bytes + forms[i].place, forms[i].tail, forms[i].tail_size))
			return forms[i].first;
	return -1;
}

/* jmp *distance(%rip): where the address lies, right behind it as a rule, is code or data of the library. */
static int by_pointer(const u8 *bytes, size_t size_bytes)
{
	return size_bytes >= 6 && bytes[1] == 0x25 ? 0xff : -1;
}

int patch_first_byte(const u8 *bytes, size_t size_bytes, u64 address,
		     bool (*has_code)(const void *data, u64 address), const void *data)
{
	int found = by_form(bytes, size_bytes);
	int32_t distance;

	if (found < 0)
		found = by_pointer(bytes, size_bytes);
	if (found >= 0 || size_bytes < JUMP_BYTES)
		return found;
	memcpy(&distance, bytes + 1, DISTANCE_BYTES);
	return has_code(data, address + JUMP_BYTES + (u64)(s64)distance) ? JUMP : -1;
}
