/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The "metadata" object of a Chrome trace: what is known of the recording, and what it lost. */
#ifndef GPUPROBE_EXPORTERS_CHROME_CHROME_METADATA_H
#define GPUPROBE_EXPORTERS_CHROME_CHROME_METADATA_H

#include "base/text.h"
#include "view/view.h"

/*
 * What is taken from every time. Readers keep microseconds as doubles: exact to the nanosecond only below
 * 101 days, so times of hosts that run longer are reduced by a multiple of 90 days.
 */
u64 chrome_time_base_ns(const struct view_survey *survey);

/*
 * What Kineto's readers look for before the events, a line each: schemaVersion, deviceProperties,
 * distributedInfo (HolisticTraceAnalysis reads that line as text), displayTimeUnit, baseTimeNanoseconds.
 */
void chrome_append_header(const struct view *view, struct text *text);

/* "metadata":{...} without what goes before and behind it. */
void chrome_append_metadata(const struct view *view, struct text *text);

/* [{"reason":..,"meaning":..,"place":..,"count":..},...] */
void chrome_append_losses(const struct view_survey *survey, struct text *text);

/* The attributes by group and key, those that share both in their order; NULL without memory; to be freed. */
const struct view_attribute **chrome_sorted_attributes(const struct view_survey *survey);

/* "not recorded: waits (the budget)"; false: up to the end of the window it was. */
bool chrome_name_end(const struct view_survey *survey, const struct view_recording_end *end, struct text *ret_name);

#endif
