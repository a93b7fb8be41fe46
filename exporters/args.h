/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arguments that a record ends in, as JSON; the same in all formats. */
#ifndef GPUPROBE_EXPORTERS_ARGS_H
#define GPUPROBE_EXPORTERS_ARGS_H

#include "base/text.h"
#include "view/view.h"

/* "arg0":-5 */
void args_append_json(struct text *text, const struct record_arg_value *value);

/* The text "step=3 phase=warm up" as "step":3,"phase":"warm up". False, and nothing is appended: it is no such text. */
bool args_append_key_values(struct text *text, const struct record_arg_value *value);

/* All that the record ends in, separated by commas, one in front where text is longer than before. Of events of gpuprobe.h
 * without their name. */
void args_append_tail(struct text *text, const struct view *view, const struct view_event *event, size_t before);

/* Of a counter of gpuprobe.h. */
s64 args_counter_value(const struct view_event *event);

#endif
