/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What operation work on a GPU belongs to, as XProf's tables take it: "train/forward/cublasGemmEx:CublasGemmEx", the path
 * of ranges and functions to which its launch belongs, and the type of the innermost; else what the work itself is called:
 * a kernel by its function, other work by the call that launched it.
 * What is allowed in it: docs/formats/xplane.md, "Names of operations".
 */
#ifndef GPUPROBE_EXPORTERS_XPLANE_XPLANE_OPS_H
#define GPUPROBE_EXPORTERS_XPLANE_XPLANE_OPS_H

#include "base/map.h"
#include "base/text.h"
#include "view/view.h"

#define XPLANE_OP_BYTES_MAX 1000
#define XPLANE_OPS_LAST	    512 /* a power of two */

struct xplane_ops {
	struct map numbers; /* (path, name where there is none) -> number in ops */
	struct string_table ops;
	struct string_table names;
	struct {
		const char *name, *op; /* NULL: nothing is here */
		u32 path;
	} last[XPLANE_OPS_LAST]; /* of those, by path and the name's address */
};

/* The operation of an event, the ops's; short_name: of a kernel its function, an address that stays, else NULL. NULL without
 * memory. */
const char *xplane_ops_of(struct xplane_ops *ops, const struct view *view, const struct view_event *event,
			  const char *short_name);
void xplane_ops_free(struct xplane_ops *ops);

/* Appends a name as a part of an operation's: "at::native::add<float>(int)" is at.native.add, "step 12" is step. */
void xplane_op_append_part(struct text *text, const char *name);

#endif
