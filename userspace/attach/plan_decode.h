/* The instruction that a probe displaces: does the kernel take it, and at what cost? */
#ifndef GPUPROBE_ATTACH_PLAN_DECODE_H
#define GPUPROBE_ATTACH_PLAN_DECODE_H

#include "attach/plan.h"

#define DECODE_LENGTH_MAX_BYTES 16 /* what the kernel looks at */

struct decoder;

int decoder_create(struct decoder **ret_decoder, struct err *err);
struct decoder *decoder_free(struct decoder *decoder); /* NULL allowed; returns NULL */

/* NULL and a cost: it can be probed. Else the reason why not, in words; one address that the kernel refuses
 * fails a whole uprobe_multi link, so in doubt it is refused here. */
const char *decoder_check(struct decoder *decoder, const u8 *bytes, size_t size, u64 address,
			  enum plan_cost *ret_cost);

#endif
