/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/utf8.h"

/* What a first byte promises: where mask selects value, size bytes follow that mean minimum at
 * least. */
static const struct {
	u8 mask;
	u8 value;
	u8 size;
	u32 minimum;
} utf8_forms[] = {
	{0x80, 0x00, 1, 0x0},
	{0xe0, 0xc0, 2, 0x80},
	{0xf0, 0xe0, 3, 0x800},
	{0xf8, 0xf0, 4, 0x10000},
};

size_t utf8_decode(const char *string, size_t length, u32 *ret_code_point)
{
	const u8 *bytes = (const u8 *)string;

	for (size_t form = 0; length && form < ARRAY_SIZE(utf8_forms); form++) {
		size_t size = utf8_forms[form].size;
		u32 code_point = bytes[0] & ~utf8_forms[form].mask & 0xff;

		if ((bytes[0] & utf8_forms[form].mask) != utf8_forms[form].value)
			continue;
		if (size > length)
			return 0;
		for (size_t i = 1; i < size; i++) {
			if ((bytes[i] & 0xc0) != 0x80)
				return 0;
			code_point = code_point << 6 | (bytes[i] & 0x3f);
		}
		if (code_point < utf8_forms[form].minimum || code_point > 0x10ffff ||
		    (code_point >= 0xd800 && code_point <= 0xdfff))
			return 0;
		*ret_code_point = code_point;
		return size;
	}
	return 0;
}
