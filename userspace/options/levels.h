/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the levels of the tracers switch on, from levels.def. */
#ifndef GPUPROBE_OPTIONS_LEVELS_H
#define GPUPROBE_OPTIONS_LEVELS_H

#include "base/text.h"
#include "options/options.h"

enum level_feature {
#define FEATURE(feature, tracer, level, how, words) LEVEL_##feature,
#include "options/levels.def"
	LEVEL_FEATURES
};

/* How a feature is had: see levels.def. */
enum level_how {
	LEVEL_BY_AGENT,
	LEVEL_BY_CATALOGUE,
	LEVEL_BY_PROBES,
	LEVEL_BY_KERNEL,
	LEVEL_BY_FULL,
	LEVEL_BY_NOT_YET
};

struct level_row {
	const char *tracer; /* as the option is spelled: host_tracer_level */
	unsigned level;	    /* from which on */
	enum level_how how;
	const char *words;
};

const struct level_row *level_row(enum level_feature feature);
/* Does the level that is in force switch it on, or an option of its own? Never what is not there yet. */
bool levels_has(const struct options *options, enum level_feature feature);
/* The feature blocking, unless --no-blocking takes it out. */
bool levels_wants_blocking(const struct options *options);
/* The feature samples, or --cpu-hz by itself; --cpu-hz 0 takes it out. */
bool levels_wants_samples(const struct options *options);
/* CHOICE_alloc_mode_*, never auto: what --alloc says, else the level. */
u64 levels_alloc_mode(const struct options *options);
/* Its heap or events. */
bool levels_wants_heap(const struct options *options);
/* A level of which nothing can be had is refused by name. */
int levels_check(const struct options *options, struct err *err);
/* " (beside an agent too)", "" where the row's words say all. */
const char *level_how_words(enum level_how how);
/* For --help-levels. */
void levels_append_help(struct text *text);

#endif
