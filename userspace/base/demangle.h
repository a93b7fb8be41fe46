/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of C++ (Itanium) and Rust (legacy and v0) symbols as people write them. Symbols come from files of
 * the target and are untrusted: depth and length of what comes out are bounded.
 */
#ifndef GPUPROBE_BASE_DEMANGLE_H
#define GPUPROBE_BASE_DEMANGLE_H

#include "base/text.h"

#define DEMANGLE_LENGTH_MAX_BYTES 16384 /* longer names stay as they are */

enum demangle_form {
	DEMANGLE_FULL,	/* with return type of templates and parameter list: "void ns::f<int>(int)" */
	DEMANGLE_NAME,	/* the function alone: "ns::f<int>"; takes half the time */
};

/* Could it be a mangled name? Looks at its first characters only. */
bool demangle_is_mangled(const char *symbol);
/* Replaces what is in ret_name. False, and ret_name is empty: not a mangled name, or not one that can be
 * shown within the bounds. */
bool demangle(const char *symbol, enum demangle_form form, struct text *ret_name);

#endif
