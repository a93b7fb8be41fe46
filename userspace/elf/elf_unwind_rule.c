/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_unwind_rule.h"

#include <dwarf.h>
#include <string.h>

#include "base/types.h"
#include "elf/elf_cfi_bytes.h"

/* The registers of a rule are those of DWARF up to here. */
#define REGISTERS_MAX	      16
#define WORD_BYTES	      8
#define RETURN_ADDRESS_AT_CFA (-8)
/* struct rt_sigframe of the kernel, behind the handler's return address: what rsp was stands in uc.uc_mcontext. */
#define SIGNAL_RSP_OFFSET 160
/* A sum of a register and a number, and what is done with it: more operations than these are not understood. */
#define SUMMANDS_MAX 4

/* ---- expressions ---- */

/* "register + number", then maybe what stands there, and another number more. */
struct sum {
	u64 number; /* of the register */
	s64 offset;
	bool points;
	s64 further;
};

static bool sum_operation(struct cfi_bytes *bytes, struct sum *sum)
{
	u8 operation = (u8)cfi_bytes_u8(bytes);
	s64 *offset = sum->points ? &sum->further : &sum->offset;

	if (operation == DW_OP_deref && !sum->points)
		sum->points = true;
	else if (operation != DW_OP_plus_uconst ||
		 __builtin_add_overflow(*offset, (s64)cfi_bytes_uleb(bytes), offset))
		return false;
	return !bytes->failed;
}

static bool sum_parse(const struct elf_cfi *cfi, struct elf_cfi_block block, struct sum *ret_sum)
{
	struct cfi_bytes bytes = cfi_bytes(cfi, block);
	u8 operation = (u8)cfi_bytes_u8(&bytes);

	*ret_sum = (struct sum){0};
	if (operation == DW_OP_bregx)
		ret_sum->number = cfi_bytes_uleb(&bytes);
	else if (operation >= DW_OP_breg0 && operation <= DW_OP_breg31)
		ret_sum->number = operation - DW_OP_breg0;
	else
		return false;
	ret_sum->offset = cfi_bytes_sleb(&bytes);
	for (u32 i = 0; cfi_bytes_left(&bytes); i++)
		if (i == SUMMANDS_MAX || !sum_operation(&bytes, ret_sum))
			return false;
	return !bytes.failed;
}

/* rsp + 8 + ((rip & 15) >= n) * 8, as linkers write it for their stubs, which push a number half way. */
static bool plt_parse(const struct elf_cfi *cfi, struct elf_cfi_block block, u8 *ret_threshold)
{
	static const u8 before[] = {
		DW_OP_breg0 + ELF_CFI_RSP, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and};
	static const u8 behind[] = {DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus};
	const u8 *bytes = cfi->bytes + block.offset;

	if (block.size_bytes != sizeof(before) + 1 + sizeof(behind) ||
	    memcmp(bytes, before, sizeof(before)) != 0 ||
	    memcmp(bytes + sizeof(before) + 1, behind, sizeof(behind)) != 0 ||
	    bytes[sizeof(before)] < DW_OP_lit0 || bytes[sizeof(before)] > DW_OP_lit15)
		return false;
	*ret_threshold = bytes[sizeof(before)] - DW_OP_lit0;
	return true;
}

/* *(rsp + offset + 8 * register) + number: OpenSSL's products of large numbers, on a stack as large as these are. */
static bool indexed_parse(const struct elf_cfi *cfi, struct elf_cfi_block block,
			  struct unwind_rule *rule)
{
	static const u8 behind[] = {0,		DW_OP_lit8,  DW_OP_mul,
				    DW_OP_plus, DW_OP_deref, DW_OP_plus_uconst};
	struct cfi_bytes bytes = cfi_bytes(cfi, block);
	u64 number, further;
	s64 offset;

	if (cfi_bytes_u8(&bytes) != DW_OP_breg0 + ELF_CFI_RSP)
		return false;
	offset = cfi_bytes_sleb(&bytes);
	number = cfi_bytes_u8(&bytes) - DW_OP_breg0;
	for (size_t i = 0; i < sizeof(behind); i++)
		if (cfi_bytes_u8(&bytes) != behind[i])
			return false;
	further = cfi_bytes_uleb(&bytes);
	if (bytes.failed || cfi_bytes_left(&bytes) || number >= REGISTERS_MAX)
		return false;
	rule->cfa = (u8)(UNWIND_CFA_INDEXED + number);
	rule->cfa_offset = (s32)offset;
	rule->words = (u8)(further / WORD_BYTES);
	return rule->cfa_offset == offset && rule->words * WORD_BYTES == further;
}

/* ---- the parts of a rule ---- */

static bool set_cfa_offset(struct unwind_rule *rule, s64 offset)
{
	rule->cfa_offset = (s32)offset;
	return rule->cfa_offset == offset;
}

static bool set_cfa_register(struct unwind_rule *rule, u64 number, s64 offset)
{
	if (number >= REGISTERS_MAX)
		return false;
	switch (number) {
	case ELF_CFI_RSP:
		rule->cfa = UNWIND_CFA_RSP;
		break;
	case ELF_CFI_RBP:
		rule->cfa = UNWIND_CFA_RBP;
		break;
	case ELF_CFI_RBX:
		rule->cfa = UNWIND_CFA_RBX;
		break;
	default:
		rule->cfa = (u8)(UNWIND_CFA_REGISTER + number);
	}
	return set_cfa_offset(rule, offset);
}

static bool set_cfa_points(struct unwind_rule *rule, const struct sum *sum)
{
	if (sum->number != ELF_CFI_RSP && sum->number != ELF_CFI_RBP)
		return false;
	rule->cfa = sum->number == ELF_CFI_RSP ? UNWIND_CFA_RSP_POINTS : UNWIND_CFA_RBP_POINTS;
	rule->words = (u8)(sum->further / WORD_BYTES);
	return rule->words * WORD_BYTES == sum->further && set_cfa_offset(rule, sum->offset);
}

static bool set_cfa(const struct elf_cfi *cfi, const struct elf_cfi_state *state,
		    struct unwind_rule *rule)
{
	struct sum sum;
	u8 threshold;

	if (!state->cfa_expression.size_bytes)
		return set_cfa_register(rule, state->cfa_register, state->cfa_offset);
	if (plt_parse(cfi, state->cfa_expression, &threshold)) {
		rule->cfa = UNWIND_CFA_PLT;
		return set_cfa_offset(rule, threshold);
	}
	if (indexed_parse(cfi, state->cfa_expression, rule))
		return true;
	if (!sum_parse(cfi, state->cfa_expression, &sum))
		return false;
	return sum.points ? set_cfa_points(rule, &sum)
			  : set_cfa_register(rule, sum.number, sum.offset);
}

/* Lost is no failure: nobody may need it. */
static u8 register_place(const struct elf_cfi *cfi, const struct elf_cfi_place *place,
			 s16 *ret_offset)
{
	struct sum sum;

	*ret_offset = 0;
	switch (place->how) {
	case ELF_CFI_UNSAID:
	case ELF_CFI_KEPT:
		return UNWIND_SAME;
	case ELF_CFI_AT_CFA:
		*ret_offset = (s16)place->offset;
		if (*ret_offset == place->offset)
			return UNWIND_AT_CFA;
		break;
	case ELF_CFI_AT_RESULT:
		if (!sum_parse(cfi, place->expression, &sum) || sum.points ||
		    sum.number != ELF_CFI_RBP)
			break;
		*ret_offset = (s16)sum.offset;
		if (*ret_offset == sum.offset)
			return UNWIND_AT_RBP;
		break;
	default:
		break;
	}
	*ret_offset = 0;
	return UNWIND_LOST;
}

static bool is_signal(const struct unwind_rule *rule)
{
	return rule->cfa == UNWIND_CFA_RSP_POINTS && rule->cfa_offset == SIGNAL_RSP_OFFSET &&
	       !rule->words;
}

static bool rule_set(const struct elf_cfi *cfi, const struct elf_cfi_state *state,
		     bool signal_frame, struct unwind_rule *rule)
{
	if (state->failed)
		return false;
	if (state->return_address.how == ELF_CFI_UNDEFINED) {
		rule->cfa = UNWIND_CFA_END;
		return true;
	}
	if (!set_cfa(cfi, state, rule))
		return false;
	if (signal_frame && is_signal(rule)) {
		*rule = (struct unwind_rule){.cfa = UNWIND_CFA_SIGNAL};
		return true;
	}
	rule->rbp = register_place(cfi, &state->rbp, &rule->rbp_offset);
	rule->rbx = register_place(cfi, &state->rbx, &rule->rbx_offset);
	return state->return_address.how == ELF_CFI_AT_CFA &&
	       state->return_address.offset == RETURN_ADDRESS_AT_CFA;
}

void elf_unwind_rule(const struct elf_cfi *cfi, const struct elf_cfi_state *state,
		     bool signal_frame, struct unwind_rule *ret_rule)
{
	memset(ret_rule, 0, sizeof(*ret_rule));
	if (!rule_set(cfi, state, signal_frame, ret_rule))
		*ret_rule = (struct unwind_rule){.cfa = UNWIND_CFA_UNSUPPORTED};
}
