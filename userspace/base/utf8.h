/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One code point of UTF-8, strictly: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef GPUPROBE_BASE_UTF8_H
#define GPUPROBE_BASE_UTF8_H

#include "base/types.h"

/* Bytes of the code point at string (1 to 4), or 0 when it is not valid UTF-8 or length ends in it. */
size_t utf8_decode(const char *string, size_t length, u32 *ret_code_point);

#endif
