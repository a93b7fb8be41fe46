/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What XProf's tables of operations need of work on GPUs: for each file a program of XLA with one instruction per kernel (or copy, or
 * set), operation and cost (exporters/xplane/xplane_hlo_module.h), to which the events refer by name. Costs are known for copies and sets; of
 * kernels only where somebody told (view.h), else XProf shows their times.
 */
#ifndef GPUPROBE_EXPORTERS_XPLANE_XPLANE_HLO_H
#define GPUPROBE_EXPORTERS_XPLANE_XPLANE_HLO_H

#include "base/map.h"
#include "exporters/xplane/xplane_hlo_module.h"
#include "exporters/xplane/xplane_messages.h"
#include "exporters/xplane/xplane_rows.h"
#include "view/view.h"

/* Beyond, work shares an instruction without cost with all else of its operation. */
#ifndef XPLANE_HLO_INSTRUCTIONS_MAX
#define XPLANE_HLO_INSTRUCTIONS_MAX 20000
#endif

struct xplane_hlo_program; /* of a space */

/* Zero-initialise it. */
struct xplane_hlo {
	struct xplane_rows *rows;
	struct xplane_hlo_program *programs; /* of each space */
	size_t *spaces;		/* of each plane */
	struct map *found;	/* of each plane: (name and cost, label) -> the instruction's name there */
	struct string_table labels, sources; /* as bytes: operations with sources */
	struct string_table costs; /* as bytes: number 0 is that of nothing known */
};

/* rows must outlive hlo. xplane_hlo_free() after a failure too. */
int xplane_hlo_open(struct xplane_hlo *hlo, struct xplane_rows *rows, struct err *err);
/* Adds to ret_event, that of a span on a stream, which has its name already, what tells its instruction. operation: of
 * xplane_ops_of(), source: "file:line" of the code that launched it; NULL: not known. Equal operations have one address. 0 or -ENOMEM. */
int xplane_hlo_add(struct xplane_hlo *hlo, const struct view_event *event, size_t plane, const char *operation,
		   const char *source, struct xplane_event *ret_event);
/* Gives the spaces their plane "/host:metadata" with the programs. */
int xplane_hlo_close(struct xplane_hlo *hlo, const struct view *view, struct err *err);
/* Then: what the tables do not show as it is. 0 or -ENOMEM. */
int xplane_hlo_tell(const struct xplane_hlo *hlo, struct xplane_message_list *warnings);
/* The same for a program that was made elsewhere; name is made one that XProf takes. 0 or -ENOMEM. */
int xplane_hlo_add_program(struct xplane_space *space, const char *name, s64 id, const struct xplane_hlo_module *module,
			   const struct text *buffers);
void xplane_hlo_free(struct xplane_hlo *hlo);

#endif
