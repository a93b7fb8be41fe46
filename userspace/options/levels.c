/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "options/levels.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "options/options_table.h"

enum tracer { TRACER_HOST, TRACER_DEVICE, TRACER_PYTHON };

static const struct {
	const char *member;
	size_t offset;
	u64 highest;
	const char *why;
} tracers[] = {
#define TRACER(tracer, member, highest, why) \
	[TRACER_##tracer] = {#member, offsetof(struct options, member), highest, why},
#include "options/levels.def"
};

static const enum tracer feature_tracers[] = {
#define FEATURE(feature, tracer, level, how, words) TRACER_##tracer,
#include "options/levels.def"
};

static const struct level_row level_rows[] = {
#define HOST					    "host_tracer_level"
#define DEVICE					    "device_tracer_level"
#define PYTHON					    "python_tracer_level"
#define FEATURE(feature, tracer, level, how, words) {tracer, level, LEVEL_BY_##how, words},
#include "options/levels.def"
};

static u64 level_of(const struct options *options, enum tracer tracer)
{
	return *(const u64 *)((const char *)options + tracers[tracer].offset);
}

const struct level_row *level_row(enum level_feature feature)
{
	return &level_rows[feature];
}

bool levels_has(const struct options *options, enum level_feature feature)
{
	if (feature == LEVEL_nvtx && options->profile_given.gpu_enable_nvtx_tracking)
		return options->profile.gpu_enable_nvtx_tracking;
	if (level_rows[feature].how == LEVEL_BY_FULL &&
	    options->gpu_records != CHOICE_gpu_records_full)
		return false;
	return level_rows[feature].how != LEVEL_BY_NOT_YET &&
	       level_of(options, feature_tracers[feature]) >= level_rows[feature].level;
}

bool levels_wants_blocking(const struct options *options)
{
	return !options->no_blocking && levels_has(options, LEVEL_blocking);
}

bool levels_wants_samples(const struct options *options)
{
	return options->cpu_hz && (options->given.cpu_hz || levels_has(options, LEVEL_samples));
}

u64 levels_alloc_mode(const struct options *options)
{
	if (options->alloc_mode != CHOICE_alloc_mode_auto)
		return options->alloc_mode;
	if (levels_has(options, LEVEL_allocations))
		return CHOICE_alloc_mode_events;
	return levels_has(options, LEVEL_memory_growth) ? CHOICE_alloc_mode_growth
							: CHOICE_alloc_mode_off;
}

bool levels_wants_heap(const struct options *options)
{
	return levels_alloc_mode(options) >= CHOICE_alloc_mode_heap;
}

int levels_check(const struct options *options, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(tracers); i++)
		if (level_of(options, i) > tracers[i].highest)
			return err_set(
				err, -EINVAL,
				"Unimplemented: %s %llu can not act yet: %s; %llu is the highest "
				"that is accepted",
				tracers[i].member, (unsigned long long)level_of(options, i),
				tracers[i].why, (unsigned long long)tracers[i].highest);
	return 0;
}

const char *level_how_words(enum level_how how)
{
	static const char *const words[] = {
		[LEVEL_BY_AGENT] = "",
		[LEVEL_BY_CATALOGUE] = " (where no agent is in the process)",
		[LEVEL_BY_PROBES] = " (beside an agent too)",
		[LEVEL_BY_KERNEL] = "",
		[LEVEL_BY_FULL] = " (with --gpu-records full)",
		[LEVEL_BY_NOT_YET] = " (not yet: this version does not record it)",
	};

	return words[how];
}

static void append_level(struct text *text, enum tracer tracer, unsigned level)
{
	bool first = true;

	for (size_t i = 0; i < LEVEL_FEATURES; i++) {
		if (feature_tracers[i] != tracer || level_rows[i].level != level)
			continue;
		if (first)
			text_appendf(text, "  %u  ", level);
		text_appendf(text, "%s%s%s\n", first ? "" : "     ", level_rows[i].words,
			     level_how_words(level_rows[i].how));
		first = false;
	}
}

void levels_append_help(struct text *text)
{
	text_append(text, "What each level switches on, and all below it:\n");
	for (size_t i = 0; i < ARRAY_SIZE(tracers); i++) {
		const struct option_row *row = option_rows;

		while (strcmp(row->member, tracers[i].member))
			row++;
		text_appendf(text, "\n%s (--%s=N, default %.0f)\n  0  nothing%s\n",
			     tracers[i].member, row->long_name, row->number_default,
			     i == TRACER_HOST ? " but the functions that -F names" : "");
		for (unsigned level = 1; level <= row->maximum; level++)
			append_level(text, i, level);
	}
}
