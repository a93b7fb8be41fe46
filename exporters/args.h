/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arguments that a record ends in, as JSON; the same in all formats. */
#ifndef GPUPROBE_EXPORTERS_ARGS_H
#define GPUPROBE_EXPORTERS_ARGS_H

#include "base/text.h"
#include "view/view.h"

/* "arg0":-5 */
void args_append_json(struct text *text, const struct record_arg_value *value);

/* One "step=3" of such a text; the parts are the text's, and none is terminated. */
struct args_key_value {
	const char *key, *value;
	size_t key_length, value_length;
	bool is_integer; /* the value, as JSON writes one, of 18 digits at most */
	s64 integer;
};

/* The next one: *at begins with the text. False: there is none, or it is no such text. */
bool args_next_key_value(const struct record_arg_value *value, const char **at, struct args_key_value *ret_pair);

/* The text "step=3 phase=warm up" as "step":3,"phase":"warm up". False, and nothing is appended: it is no such text. */
bool args_append_key_values(struct text *text, const struct record_arg_value *value);

/* Is an argument to be shown? Of events of gpuprobe.h (annotation) the name is not. */
bool args_is_told(const struct record_arg_value *value, bool annotation);

/* All that the record ends in, separated by commas, one in front where text is longer than before. Of events of gpuprobe.h
 * without their name. */
void args_append_tail(struct text *text, const struct view *view, const struct view_event *event, size_t before);

/* Of a counter of gpuprobe.h. */
s64 args_counter_value(const struct view_event *event);

#endif
