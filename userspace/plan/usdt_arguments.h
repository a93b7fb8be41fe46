/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The arguments of a USDT probe, as the compiler wrote them into the note, in the syntax of its assembler:
 * "-4@%edi 8@-8(%rbp) 1@$7": size and sign, then a register, a place in memory or a constant. Only usdt_arguments.c
 * knows the registers of the processor.
 */
#ifndef GPUPROBE_PLAN_USDT_ARGUMENTS_H
#define GPUPROBE_PLAN_USDT_ARGUMENTS_H

#include "base/text.h"
#include "base/types.h"
#include "../bpf/usdt.h"

/* Looks up the address, in the file, of a variable. False: it is not known. */
typedef bool usdt_variable_function(void *data, const char *name, size_t length, u64 *ret_address);

struct usdt_place {
	u64 address; /* of the probe, in the file */
	bool movable; /* the file is loaded anywhere */
	usdt_variable_function *variable;
	void *data;
};

/* What is not understood is USDT_UNREADABLE, as floats are; arguments beyond USDT_ARGUMENTS_MAX are left out. Returns how
 * many there are in the note. */
size_t usdt_arguments_parse(const char *text, const struct usdt_place *place,
			    struct usdt_argument ret_arguments[USDT_ARGUMENTS_MAX]);
/* "s32 u64 string", "f64?": what can't be read has a question mark. */
void usdt_arguments_append(const struct usdt_argument *arguments, size_t count, struct text *text);

#endif
