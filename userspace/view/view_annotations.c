/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What programs say of themselves through gpuprobe.h: hits of USDT probes that carry their names with them. */
#include <string.h>

#include "store/record_args.h"
#include "view/view_parts.h"

/* They come from the target. Beyond them events are called by their probe. */
#define NAMES_MAX (1U << 18)

static u8 annotation_of(const struct view *view, u16 kind, const struct record_header *record)
{
	const struct record_usdt *fact;
	u32 id = kind == KIND_usdt_span	   ? ((const struct record_usdt_span *)record)->usdt
		 : kind == KIND_usdt_point ? ((const struct record_usdt_point *)record)->usdt
					   : 0;

	fact = (const struct record_usdt *)view_fact(view, KIND_usdt, id);
	return fact ? fact->annotation : 0;
}

u8 view_annotation(const struct view *view, const struct view_event *event)
{
	return annotation_of(view, event->kind->number, event->record);
}

const char *view_annotation_name(const struct view *view, const struct view_kind *kind,
				 const struct record_header *record)
{
	struct record_arg_value value;
	struct record_args args;

	if (kind->kind->tail != TAIL_ARGS || !annotation_of(view, kind->kind->number, record))
		return NULL;
	args = record_args_begin(kind->kind, record);
	if (!record_args_next(&args, &value) || value.place || !value.length_bytes)
		return NULL;
	if (view->names->strings.count >= NAMES_MAX &&
	    string_table_find(&view->names->strings, value.string, value.length_bytes) < 0)
		return NULL;
	return view_intern(view, value.string, value.length_bytes);
}
