/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What -F says: [!][BINARY:]GLOB
 *
 * BINARY and GLOB are shell globs (* ? [...]) that must fit the whole name. BINARY is a base name, a path
 * (when it has a '/'; also a link to the file), the DT_SONAME, or for the main executable the name that it
 * was started by; without it the main executables are meant. GLOB fits a function by its name in the file,
 * by its demangled name in full ("void ns::f<int>(int)") or without return type and parameters ("ns::f<int>").
 * The first ':' that stands alone ends BINARY, so that "std::foo" and "libx.so:ns::f" mean what they say; a
 * ':' inside [...] is part of the glob. '!' takes away from all that the others add, under the same rule
 * for BINARY.
 */
#ifndef GPUPROBE_PLAN_PATTERN_H
#define GPUPROBE_PLAN_PATTERN_H

#include "plan/plan.h"
#include "base/text.h"

struct pattern {
	const char *text; /* as given; the caller's */
	bool exclude;
	char *binary; /* NULL: main executables */
	char *glob;
	char *literal; /* the longest run of letters that each match must have in its mangled name; NULL: none */
};

/* A name to be matched; the demangled forms are made when first needed. Zero-initialise, free at the end. */
struct pattern_name {
	const char *mangled;
	struct text full, name;
	bool has_full, has_name;
};

int pattern_parse(const char *text, struct pattern *ret_pattern, struct err *err);
void pattern_free(struct pattern *pattern);

/* Its BINARY is the path of one file, and it adds functions. */
bool pattern_is_path(const struct pattern *pattern);
bool pattern_matches_module(const struct pattern *pattern, const struct code_module *module,
			    const struct target *targets);
bool pattern_matches_name(const struct pattern *pattern, struct pattern_name *name);
/* The glob has no wildcards and is this very name. */
bool pattern_is_exactly(const struct pattern *pattern, const char *name);

void pattern_name_set(struct pattern_name *name, const char *mangled);
void pattern_name_free(struct pattern_name *name);

#endif
