/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Strict JSON text, appended to a struct text. Strings come from targets: invalid UTF-8 becomes U+FFFD,
 * control characters are escaped, so that every reader (Perfetto, Python, jq) takes the file.
 * Reading JSON is jansson's job.
 */
#ifndef GPUPROBE_BASE_JSON_H
#define GPUPROBE_BASE_JSON_H

#include "base/text.h"

/* With the quotes. */
void json_append_string(struct text *text, const char *string);
void json_append_string_bytes(struct text *text, const char *string, size_t length);
void json_append_u64(struct text *text, u64 value);
/* As a number where readers keep it whole: they have signed 64 bits, so what is greater is written as hex. */
void json_append_number(struct text *text, u64 value);
void json_append_signed(struct text *text, s64 value);
/* "0x1a2b" with quotes: 64-bit addresses do not fit the numbers of most JSON readers. */
void json_append_hex(struct text *text, u64 value);
/* ["0x1a2b","0x3c"] */
void json_append_hex_array(struct text *text, const u64 *values, size_t count);
/* Nanoseconds as microseconds with three decimals, from integers: 1234567 -> 1234.567. */
void json_append_us(struct text *text, u64 ns);

#endif
