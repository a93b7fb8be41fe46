/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program of XLA (exporters/xplane/hlo.proto) that stands for work of a GPU which XLA knows nothing of: an instruction for each kind of work,
 * of a form from which XProf computes the bytes and operations that are known of it, and no others. What XProf refuses or aborts
 * on: docs/formats/xplane.md, "The synthetic program".
 */
#ifndef GPUPROBE_EXPORTERS_XPLANE_XPLANE_HLO_MODULE_H
#define GPUPROBE_EXPORTERS_XPLANE_XPLANE_HLO_MODULE_H

#include "base/err.h"
#include "base/text.h"

/* Larger ones are taken for nonsense: sizes come from the target. */
#define XPLANE_HLO_BYTES_MAX (1ULL << 50)

#define XPLANE_HLO_COMPUTATION_NAME "main"

enum xplane_hlo_form {
	XPLANE_HLO_OPAQUE,   /* it is not known what it reads, writes and computes */
	XPLANE_HLO_INFEED,   /* bytes come from outside of the GPU */
	XPLANE_HLO_OUTFEED,  /* bytes go to the outside */
	XPLANE_HLO_COPY,     /* bytes are read and written: they count twice */
	XPLANE_HLO_FILL,     /* bytes are written (a byte is read: the value) */
	XPLANE_HLO_MATMUL,   /* batch x [m, k] x [k, n] */
	XPLANE_HLO_COUNTED,  /* flops and bytes that the events say */
	XPLANE_HLO_MEMORY,   /* nothing is done: bytes that were allocated */
};

/* XLA's numbers of types. */
enum xplane_hlo_type {
	XPLANE_HLO_S8 = 2,
	XPLANE_HLO_S32 = 4,
	XPLANE_HLO_U8 = 6,
	XPLANE_HLO_F16 = 10,
	XPLANE_HLO_F32 = 11,
	XPLANE_HLO_F64 = 12,
	XPLANE_HLO_C64 = 15,
	XPLANE_HLO_BF16 = 16,
	XPLANE_HLO_C128 = 18,
	XPLANE_HLO_F8E5M2 = 19,
	XPLANE_HLO_F8E4M3 = 20,
};

/* Without gaps, so that equal ones have equal bytes; what its form does not need is 0. */
struct xplane_hlo_cost {
	u32 form;
	u32 left_type, right_type, result_type; /* of a matmul: enum xplane_hlo_type */
	u64 bytes;
	u64 m, n, k, batch;
	u64 flops;
};

struct xplane_hlo_instruction {
	const char *name;      /* made by xplane_hlo_append_name(), unique in its module */
	const char *target;    /* what runs, in full, UTF-8; NULL: nothing to say. For opaque ones */
	const char *operation; /* "path:Type" (xplane_ops.h), NULL: not known */
	const char *source;    /* "file:line" of the code that launched it, NULL: not known */
	const char *same_as;   /* the name of the first instruction with the same kernel; NULL: it is the only one */
	struct xplane_hlo_cost cost;
};

/* Zero-initialise it. */
struct xplane_hlo_module {
	struct text computation; /* its only one, packed so far */
	s64 last_id;
	s64 token_id; /* what infeeds wait for; 0: none so far */
	s64 root_id;
};

/* The instruction, and operands of its own in front of it. Sizes of which XProf would make nonsense make it opaque. 0 or -ENOMEM. */
int xplane_hlo_module_add(struct xplane_hlo_module *module, const struct xplane_hlo_instruction *instruction, s64 *ret_id);
/* The program (HloProto) of a module with at least one instruction; buffers: a packed BufferAssignment, NULL: none. */
int xplane_hlo_module_pack(const struct xplane_hlo_module *module, const char *name, s64 id, const struct text *buffers,
			   struct text *ret_program);
void xplane_hlo_module_free(struct xplane_hlo_module *module);

#define XPLANE_HLO_NAME_BYTES_MAX 120

/* Appends what XProf takes as a name: "void ns::gemm<float>(int)" is ns_gemm. The operands' names have a dot, these have none. */
void xplane_hlo_append_name(struct text *text, const char *name);

/* Appends the message's fields to those that are there. */
struct ProtobufCMessage;
void xplane_hlo_append_packed(struct text *text, const struct ProtobufCMessage *message);

#endif
