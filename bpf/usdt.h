/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a hit of a USDT probe means, and where its arguments are: filled by userspace from the notes of the file, read by
 * usdt.bpf.c. Included by both; the includer provides the integer names.
 */
#ifndef GPUPROBE_BPF_USDT_H
#define GPUPROBE_BPF_USDT_H

#define USDT_ARGUMENTS_MAX  12	 /* as <sys/sdt.h> has them */
#define USDT_ARGUMENTS_ROOM 16	 /* the power of two that they fit into */
#define USDT_STRING_BYTES   256	 /* of one string; what is longer is cut */
#define USDT_ARGS_BYTES	    1024 /* of all arguments of a hit, as they are recorded */
#define USDT_DEPTH_MAX	    128	 /* spans of a thread that are open at once */
#define USDT_OPEN_SPANS_MAX 65536 /* of all threads */

/* Registers by the numbers that machine code has for them, then: */
#define USDT_REGISTER_IP   16
#define USDT_REGISTER_NONE 17 /* always 0 */
#define USDT_REGISTERS	   32 /* a power of two */

enum usdt_argument_kind {
	USDT_UNREADABLE, /* a float, or a form that is not known */
	USDT_CONSTANT,	 /* value */
	USDT_REGISTER,	 /* base >> shift_bits */
	USDT_MEMORY,	 /* what stands at value + base + index * scale */
};

struct usdt_argument {
	s64 value;
	u8 kind; /* enum usdt_argument_kind */
	u8 size_bytes; /* 1, 2, 4 or 8 */
	u8 is_signed;
	u8 as_string; /* it points to text; where it can't be read it is taken for a number */
	u8 base, index;
	u8 scale;
	u8 shift_bits; /* 8: the second byte of a register, such as ah */
};

/* One place of a probe; found by the cookie of the uprobe on it. */
struct usdt_site {
	u32 usdt; /* id of the fact */
	u32 name; /* text id of PROVIDER:NAME */
	u16 role; /* VALUE_usdt_role_* */
	u16 repeats; /* it may begin a span inside one that it began at the same place with the same sp */
	u32 begin;     /* of a span: the fact of the probe that begins it, for both */
	u32 span_name; /* text id */
	u32 argument_count;
	struct usdt_argument arguments[USDT_ARGUMENTS_ROOM];
};

/* Texts of facts that come with a plan: of USDT probe number i (from 0 on) its name, then that of the span it begins. */
#define USDT_TEXTS_PER_PROBE 2

#endif
