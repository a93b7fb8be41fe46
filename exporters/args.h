/* Arguments that a record ends in, as JSON; the same in all formats. */
#ifndef GPUPROBE_EXPORTERS_ARGS_H
#define GPUPROBE_EXPORTERS_ARGS_H

#include "base/text.h"
#include "view/view.h"

/* "arg0":-5 */
void args_append_json(struct text *text, const struct record_arg_value *value);

/* The text "step=3 phase=warm up" as "step":3,"phase":"warm up". False, and nothing is appended: it is no such text. */
bool args_append_key_values(struct text *text, const struct record_arg_value *value);

#endif
