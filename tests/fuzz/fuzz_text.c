/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a name: what is written for JSON is taken by a strict reader, and what is written
 * for the terminal holds no control character. */
#include <jansson.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	_cleanup_text_ struct text json = {}, terminal = {};
	json_t *parsed;

	json_append_string_bytes(&json, (const char *)data, size);
	parsed = json_loadb(json.data, json.length, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	if (!parsed)
		abort();
	json_decref(parsed);

	text_append_terminal(&terminal, (const char *)data, size);
	for (size_t i = 0; i < terminal.length; i++)
		if ((u8)terminal.data[i] < 0x20 || terminal.data[i] == 0x7f)
			abort();
	return 0;
}
