/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "code/function_stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "code/capstone_x86_64.h"
#include "code/instruction.h"
#include "code/instruction_parts.h"

#define RBX		  3
#define RSP		  4
#define RBP		  5
#define REGISTERS	  16
#define RETURN_ADDRESS	  16 /* one more value that a function is given */
#define PADDING_MAX_BYTES 15
/* rax, rcx, rdx, rsi, rdi, r8 to r11: a call leaves nothing in them. */
#define NOT_KEPT 0x0fc7

enum value_kind {
	VALUE_UNKNOWN,
	VALUE_OF_CALLER, /* what the register `number` was at the function's start, or RETURN_ADDRESS */
	VALUE_FRAME,	 /* CFA - number */
	VALUE_ALIGNED, /* rsp was rounded down, and this is so much below */
};

/* What is looked for on the stack. V8's code takes the return address off it, to push arguments above. */
enum place { PLACE_RBP, PLACE_RBX, PLACE_RETURN, PLACES };
static const s32 place_values[PLACES] = {RBP, RBX, RETURN_ADDRESS};

struct value {
	s32 kind;
	s32 number;
};

/* What is known before an instruction. Places are below the CFA, or below the stack where it was rounded down; 0: nowhere. */
struct stack_state {
	struct value registers[REGISTERS];
	s32 places[PLACES]; /* where the caller's are */
	s32 frame_place;    /* where, below the rounded stack, CFA - frame_number is */
	s32 frame_number;
};

struct reader {
	csh handle;
	cs_insn *instruction;
	const u8 *bytes;
	u32 size_bytes;
	u64 address;
	u32 *numbers; /* by offset: 1 + that of a state; 0: nothing led there yet */
	u8 *sizes;    /* of the instructions, by offset */
	struct stack_state *states;
	size_t state_count, state_capacity;
	u32 *waiting; /* offsets to go on from */
	size_t waiting_count, waiting_capacity;
	struct stack_state at_jump; /* to what nothing else leads to */
	bool jumps, returns, is_odd;
};

/* ---- states ---- */

static bool meet(struct stack_state *state, const struct stack_state *other)
{
	bool changed = false;

	for (int i = 0; i < REGISTERS; i++) {
		struct value *mine = &state->registers[i];

		if (mine->kind == VALUE_UNKNOWN ||
		    !memcmp(mine, &other->registers[i], sizeof(*mine)))
			continue;
		*mine = (struct value){VALUE_UNKNOWN, 0};
		changed = true;
	}
	for (int i = 0; i < PLACES; i++) {
		if (!state->places[i] || state->places[i] == other->places[i])
			continue;
		state->places[i] = 0;
		changed = true;
	}
	if (state->frame_place && (state->frame_place != other->frame_place ||
				   state->frame_number != other->frame_number)) {
		state->frame_place = 0;
		changed = true;
	}
	return changed;
}

/* Control may come to this offset in this state. */
static int go_on(struct reader *reader, u64 offset, const struct stack_state *state)
{
	u32 *number;

	if (offset >= reader->size_bytes)
		return 0;
	number = &reader->numbers[offset];
	if (*number && !meet(&reader->states[*number - 1], state))
		return 0;
	if (array_reserve(&reader->waiting, &reader->waiting_capacity, reader->waiting_count + 1))
		return -ENOMEM;
	reader->waiting[reader->waiting_count++] = (u32)offset;
	if (*number)
		return 0;
	if (array_reserve(&reader->states, &reader->state_capacity, reader->state_count + 1))
		return -ENOMEM;
	reader->states[reader->state_count++] = *state;
	*number = (u32)reader->state_count;
	return 0;
}

/* ---- what instructions do ---- */

static struct value moved(struct value value, s64 up)
{
	s64 number = value.number - up;

	if ((value.kind != VALUE_FRAME && value.kind != VALUE_ALIGNED) || number < INT32_MIN ||
	    number > INT32_MAX)
		return (struct value){VALUE_UNKNOWN, 0};
	return (struct value){value.kind, (s32)number};
}

static void set(struct stack_state *state, u8 number, struct value value)
{
	if (number < REGISTERS)
		state->registers[number] = value;
}

static struct value get(const struct stack_state *state, u8 number)
{
	return number < REGISTERS ? state->registers[number] : (struct value){VALUE_UNKNOWN, 0};
}

/* Its number where it is a whole register. */
static u8 whole_register(const cs_x86_op *operand)
{
	return operand->type == X86_OP_REG && operand->size == 8
		       ? instruction_register_number(operand->reg)
		       : REGISTER_NONE;
}

/* Where an operand in memory is, if that is on the stack. */
static struct value place_of(const struct stack_state *state, const cs_x86_op *operand)
{
	if (operand->type != X86_OP_MEM || operand->mem.index != X86_REG_INVALID ||
	    operand->mem.segment != X86_REG_INVALID)
		return (struct value){VALUE_UNKNOWN, 0};
	return moved(get(state, instruction_register_number(operand->mem.base)), operand->mem.disp);
}

static void store_place(s32 *place, s32 number, bool is_it)
{
	if (is_it)
		*place = number;
	else if (*place == number)
		*place = 0;
}

static void store(struct stack_state *state, struct value place, struct value value)
{
	s32 of_caller = value.kind == VALUE_OF_CALLER ? value.number : -1;

	if (place.kind == VALUE_FRAME) {
		for (int i = 0; i < PLACES; i++)
			store_place(&state->places[i], place.number, of_caller == place_values[i]);
	} else if (place.kind == VALUE_ALIGNED && value.kind == VALUE_FRAME) {
		state->frame_place = place.number;
		state->frame_number = value.number;
	} else if (place.kind == VALUE_ALIGNED && state->frame_place == place.number) {
		state->frame_place = 0;
	}
}

static struct value load(const struct stack_state *state, struct value place)
{
	for (int i = 0; i < PLACES && place.kind == VALUE_FRAME && place.number; i++)
		if (place.number == state->places[i])
			return (struct value){VALUE_OF_CALLER, place_values[i]};
	if (place.kind == VALUE_ALIGNED && place.number && place.number == state->frame_place)
		return (struct value){VALUE_FRAME, state->frame_number};
	return (struct value){VALUE_UNKNOWN, 0};
}

static void push(struct stack_state *state, struct value value)
{
	struct value *rsp = &state->registers[RSP];

	*rsp = moved(*rsp, -8);
	store(state, *rsp, value);
}

static struct value pop(struct stack_state *state)
{
	struct value *rsp = &state->registers[RSP], value = load(state, *rsp);

	/* Below the stack it may be overwritten at any moment. */
	if (value.kind == VALUE_OF_CALLER && value.number == RETURN_ADDRESS)
		state->places[PLACE_RETURN] = 0;
	*rsp = moved(*rsp, 8);
	return value;
}

static void do_move(struct stack_state *state, const cs_x86_op *to, const cs_x86_op *from)
{
	struct value value = {VALUE_UNKNOWN, 0};

	if (from->type == X86_OP_REG)
		value = get(state, whole_register(from));
	else if (from->type == X86_OP_MEM && from->size == 8)
		value = load(state, place_of(state, from));
	if (to->type == X86_OP_MEM)
		store(state, place_of(state, to), value);
	else
		set(state, instruction_register_number(to->reg), value);
}

/* A constant is added, or the stack is rounded down. */
static void do_sum(struct stack_state *state, unsigned id, const cs_x86_op *to, const cs_x86_op *by)
{
	u8 number = whole_register(to);
	struct value before = get(state, number), after = {VALUE_UNKNOWN, 0};

	if (to->type != X86_OP_REG)
		return;
	if (by->type == X86_OP_IMM && id != X86_INS_AND)
		after = moved(before, id == X86_INS_SUB ? -by->imm : by->imm);
	else if (by->type == X86_OP_IMM && number == RSP && by->imm < 0 &&
		 before.kind == VALUE_FRAME)
		after = (struct value){VALUE_ALIGNED, 0};
	set(state, instruction_register_number(to->reg), after);
}

static void do_any(struct reader *reader, struct stack_state *state, const cs_insn *instruction)
{
	cs_regs read, written;
	u8 read_count, written_count;

	if (cs_regs_access(reader->handle, instruction, read, &read_count, written, &written_count))
		written_count = 0;
	for (u8 i = 0; i < written_count; i++)
		set(state, instruction_register_number(written[i]),
		    (struct value){VALUE_UNKNOWN, 0});
}

static void do_call(struct stack_state *state, const cs_insn *instruction)
{
	const cs_x86_op *target = &instruction->detail->x86.operands[0];

	/* Where it is, a function finds out that way. */
	if (target->type == X86_OP_IMM &&
	    (u64)target->imm == instruction->address + instruction->size) {
		push(state, (struct value){VALUE_UNKNOWN, 0});
		return;
	}
	for (u8 i = 0; i < REGISTERS; i++)
		if (NOT_KEPT >> i & 1)
			set(state, i, (struct value){VALUE_UNKNOWN, 0});
}

/* Changes the state by what the instruction does. */
static void execute(struct reader *reader, struct stack_state *state, const cs_insn *instruction)
{
	const cs_x86 *x86 = &instruction->detail->x86;
	const cs_x86_op *first = &x86->operands[0], *second = &x86->operands[1];

	switch (instruction->id) {
	case X86_INS_PUSH:
		push(state, get(state, whole_register(first)));
		return;
	case X86_INS_PUSHFQ:
		push(state, (struct value){VALUE_UNKNOWN, 0});
		return;
	case X86_INS_POPFQ:
		(void)pop(state);
		return;
	case X86_INS_POP:
		set(state, whole_register(first), pop(state));
		return;
	case X86_INS_LEAVE:
		set(state, RSP, get(state, RBP));
		set(state, RBP, pop(state));
		return;
	case X86_INS_MOV:
		do_move(state, first, second);
		return;
	case X86_INS_ADD:
	case X86_INS_SUB:
	case X86_INS_AND:
		do_sum(state, instruction->id, first, second);
		return;
	case X86_INS_LEA:
		set(state, instruction_register_number(first->reg),
		    first->size == 8 ? place_of(state, second) : (struct value){VALUE_UNKNOWN, 0});
		return;
	case X86_INS_CALL:
		do_call(state, instruction);
		return;
	default:
		do_any(reader, state, instruction);
	}
}

/* What has no frame of its own looks at its caller's. */
static bool uses_frame_of_caller(const struct stack_state *state, const cs_insn *instruction)
{
	const cs_x86 *x86 = &instruction->detail->x86;
	const struct value *rbp = &state->registers[RBP];

	if (rbp->kind != VALUE_OF_CALLER || rbp->number != RBP || instruction->id == X86_INS_NOP)
		return false;
	for (u8 i = 0; i < x86->op_count; i++)
		if (x86->operands[i].type == X86_OP_MEM &&
		    (x86->operands[i].mem.base == X86_REG_RBP ||
		     x86->operands[i].mem.index == X86_REG_RBP))
			return true;
	return false;
}

/* ---- ways through the function ---- */

static bool in_group(const cs_insn *instruction, u8 group)
{
	for (u8 i = 0; i < instruction->detail->groups_count; i++)
		if (instruction->detail->groups[i] == group)
			return true;
	return false;
}

/* A jump, whose condition may not hold. */
static int follow_jump(struct reader *reader, u64 next, const struct stack_state *state,
		       const cs_insn *instruction)
{
	const cs_x86_op *target = &instruction->detail->x86.operands[0];
	int result = 0;

	if (target->type == X86_OP_IMM) {
		result = go_on(reader, (u64)target->imm - reader->address, state);
	} else {
		if (!reader->jumps)
			reader->at_jump = *state;
		else
			meet(&reader->at_jump, state);
		reader->jumps = true;
	}
	if (!result && instruction->id != X86_INS_JMP)
		result = go_on(reader, next, state);
	return result;
}

static int follow(struct reader *reader, u32 offset)
{
	struct stack_state state = reader->states[reader->numbers[offset] - 1];
	const u8 *at = reader->bytes + offset;
	size_t size = reader->size_bytes - offset;
	u64 address = reader->address + offset;
	cs_insn *instruction = reader->instruction;

	if (!cs_disasm_iter(reader->handle, &at, &size, &address, instruction))
		return 0;
	reader->sizes[offset] = (u8)instruction->size;
	reader->is_odd |= uses_frame_of_caller(&state, instruction);
	if (in_group(instruction, X86_GRP_JUMP))
		return follow_jump(reader, offset + instruction->size, &state, instruction);
	switch (instruction->id) {
	case X86_INS_RET:
		reader->returns = true;
		return 0;
	case X86_INS_UD2:
	case X86_INS_HLT:
	case X86_INS_INT3:
		return 0;
	}
	execute(reader, &state, instruction);
	return go_on(reader, offset + instruction->size, &state);
}

static int follow_all(struct reader *reader)
{
	int result = 0;

	while (reader->waiting_count && !result && !reader->is_odd)
		result = follow(reader, reader->waiting[--reader->waiting_count]);
	return result;
}

static bool is_padding(const struct reader *reader, u32 offset)
{
	const u8 *at = reader->bytes + offset;
	size_t size = reader->size_bytes - offset;
	u64 address = reader->address + offset;

	return !*at || (cs_disasm_iter(reader->handle, &at, &size, &address, reader->instruction) &&
			(reader->instruction->id == X86_INS_NOP ||
			 reader->instruction->id == X86_INS_INT3));
}

/* A jump by a table leads to pieces that nothing else leads to, and that come in the state of the jump. */
static int follow_tables(struct reader *reader)
{
	u32 offset = 0;
	int result = 0;

	while (reader->jumps && offset < reader->size_bytes && !result && !reader->is_odd) {
		if (reader->sizes[offset]) {
			offset += reader->sizes[offset];
		} else if (reader->numbers[offset]) {
			return 0; /* no instruction: what follows is data */
		} else if (is_padding(reader, offset)) {
			offset++;
		} else {
			result = go_on(reader, offset, &reader->at_jump);
			if (!result)
				result = follow_all(reader);
		}
	}
	return result;
}

/* ---- rules ---- */

/* Numbers of DWARF by those of machine code. */
static const u8 dwarf_numbers[REGISTERS] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};

/* A callee that takes its arguments off the stack (V8's do) leaves rsp elsewhere: by the frame pointer, where there is one. */
static bool has_frame_pointer(const struct stack_state *state)
{
	const struct value *rbp = &state->registers[RBP];

	return rbp->kind == VALUE_FRAME && rbp->number == state->places[PLACE_RETURN] + 8 &&
	       state->places[PLACE_RBP] == state->places[PLACE_RETURN] + 8;
}

static void find_cfa(const struct stack_state *state, struct unwind_rule *rule)
{
	static const u8 by_preference[REGISTERS] = {4, 5, 3,  0,  1,  2,  6,  7,
						    8, 9, 10, 11, 12, 13, 14, 15};
	const struct value *rsp = &state->registers[RSP];

	for (int i = 0; i < REGISTERS; i++) {
		u8 number = by_preference[i];

		/* Other registers are known in the innermost frame only. */
		if (i == 3 && rsp->kind == VALUE_ALIGNED && state->frame_place &&
		    state->frame_number >= 0 && state->frame_number % 8 == 0 &&
		    state->frame_number / 8 <= UINT8_MAX) {
			rule->cfa = UNWIND_CFA_RSP_POINTS;
			rule->words = (u8)(state->frame_number / 8);
			rule->cfa_offset = rsp->number - state->frame_place;
			return;
		}
		if (state->registers[number].kind != VALUE_FRAME ||
		    (number == RSP && has_frame_pointer(state)))
			continue;
		rule->cfa = number == RSP   ? UNWIND_CFA_RSP
			    : number == RBP ? UNWIND_CFA_RBP
			    : number == RBX ? UNWIND_CFA_RBX
					    : (u8)(UNWIND_CFA_REGISTER + dwarf_numbers[number]);
		rule->cfa_offset = state->registers[number].number;
		return;
	}
}

static void find_saved(const struct stack_state *state, u8 number, s32 place, s32 lower,
		       u8 *ret_how, s16 *ret_offset)
{
	const struct value *value = &state->registers[number];

	*ret_how = UNWIND_LOST;
	if (value->kind == VALUE_OF_CALLER && value->number == number) {
		*ret_how = UNWIND_SAME;
	} else if (place > 0 && place <= -INT16_MIN) {
		*ret_how = UNWIND_AT_CFA;
		*ret_offset = (s16)(lower - place);
	}
}

static void rule_of(const struct stack_state *state, struct unwind_rule *ret_rule)
{
	struct unwind_rule rule = {0};
	/* Where it was put back to counts as right below the CFA. */
	s32 lower = state->places[PLACE_RETURN] - 8;

	if (state->places[PLACE_RETURN])
		find_cfa(state, &rule);
	if (rule.cfa == UNWIND_CFA_RSP_POINTS && lower)
		rule = (struct unwind_rule){0};
	if (rule.cfa != UNWIND_CFA_NONE) {
		rule.cfa_offset -= lower;
		find_saved(state, RBP, state->places[PLACE_RBP], lower, &rule.rbp,
			   &rule.rbp_offset);
		find_saved(state, RBX, state->places[PLACE_RBX], lower, &rule.rbx,
			   &rule.rbx_offset);
	}
	*ret_rule = rule;
}

static int row_add(struct function_stack *stack, u64 address, const struct unwind_rule *rule)
{
	if (stack->count && !memcmp(&stack->items[stack->count - 1].rule, rule, sizeof(*rule)))
		return 0;
	if (array_reserve(&stack->items, &stack->capacity, stack->count + 1))
		return -ENOMEM;
	stack->items[stack->count++] = (struct function_stack_row){address, *rule};
	return 0;
}

static int make_rows(const struct reader *reader, struct function_stack *stack)
{
	static const struct unwind_rule none;
	u32 covered = 0; /* up to here */
	int result = 0;

	stack->count = 0;
	for (u32 offset = 0; offset < reader->size_bytes && !result; offset++) {
		struct unwind_rule rule;

		if (!reader->sizes[offset])
			continue;
		if (offset > covered && offset - covered > PADDING_MAX_BYTES)
			result = row_add(stack, reader->address + covered, &none);
		rule_of(&reader->states[reader->numbers[offset] - 1], &rule);
		if (!result)
			result = row_add(stack, reader->address + offset, &rule);
		covered = offset + reader->sizes[offset];
	}
	if (!result && (!stack->count || (covered < reader->size_bytes &&
					  reader->size_bytes - covered > PADDING_MAX_BYTES)))
		result = row_add(stack, reader->address + covered, &none);
	return result;
}

/* ---- the whole ---- */

static int reader_open(struct reader *reader, struct err *err)
{
	cs_err result = capstone_open_x86_64(&reader->handle);

	reader->numbers = calloc(reader->size_bytes + 1, sizeof(*reader->numbers));
	reader->sizes = calloc(reader->size_bytes + 1, sizeof(*reader->sizes));
	if (!reader->numbers || !reader->sizes)
		return -ENOMEM;
	if (result == CS_ERR_OK)
		result = cs_option(reader->handle, CS_OPT_DETAIL, CS_OPT_ON);
	if (result == CS_ERR_OK)
		reader->instruction = cs_malloc(reader->handle);
	return reader->instruction
		       ? 0
		       : err_set(err, -EINVAL, "can't start the decoder: %s", cs_strerror(result));
}

static void reader_close(struct reader *reader)
{
	if (reader->instruction)
		cs_free(reader->instruction, 1);
	if (reader->handle)
		cs_close(&reader->handle);
	free(reader->numbers);
	free(reader->sizes);
	free(reader->states);
	free(reader->waiting);
}

int function_stack_read(const u8 *bytes, size_t size_bytes, u64 address,
			struct function_stack *stack, struct err *err)
{
	struct reader reader = {.bytes = bytes, .size_bytes = (u32)size_bytes, .address = address};
	struct stack_state start = {0};
	int result;

	if (!size_bytes || size_bytes > FUNCTION_STACK_MAX_BYTES)
		return err_set(err, -ENOTSUP, "no function of %zu bytes is followed", size_bytes);
	for (s32 i = 0; i < REGISTERS; i++)
		start.registers[i] = (struct value){VALUE_OF_CALLER, i};
	start.registers[RSP] = (struct value){VALUE_FRAME, 8};
	start.places[PLACE_RETURN] = 8;
	result = reader_open(&reader, err);
	if (!result)
		result = go_on(&reader, 0, &start);
	if (!result)
		result = follow_all(&reader);
	if (!result)
		result = follow_tables(&reader);
	if (!result && (reader.is_odd || (reader.jumps && !reader.returns)))
		result = err_set(err, -ENOTSUP, "it goes on in the frame of another function");
	if (!result)
		result = make_rows(&reader, stack);
	reader_close(&reader);
	return result == -ENOMEM ? err_errno(err, result, "can't follow a function") : result;
}

void function_stack_free(struct function_stack *stack)
{
	free(stack->items);
	*stack = (struct function_stack){0};
}
