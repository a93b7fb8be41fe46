/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_go_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CODE_WINDOW_BYTES 65536
/* The code of a function whose instructions are looked at. */
#define CODE_MAX_BYTES 1024
#define DEPTH_MAX      (1 << 30)
#define RETURN_BYTES   8
#define RDX	       1 /* by DWARF */

typedef int visit_rule(void *data, u64 address, const struct unwind_rule *rule);

/* A function, and to whom its rules are told. */
struct function {
	const struct elf_go_rows *rows;
	u64 index, start, end;
	u8 code[CODE_MAX_BYTES + 4]; /* behind it zeros */
	size_t code_bytes;
	visit_rule *visit;
	void *data;
	u64 rbx_from;	/* where it has saved rbx: 0: nowhere */
	s16 rbx_offset; /* from the CFA */
};

typedef int make_rules(struct function *function);

/* ---- rules ---- */

/* Go's code keeps rbx for nobody. */
static int put(const struct function *function, u64 address, u8 cfa, s32 offset, u8 rbp)
{
	bool has_rbx = rbp != UNWIND_SAME && function->rbx_from && address >= function->rbx_from;
	const struct unwind_rule rule = {.cfa = cfa,
					 .rbp = rbp,
					 .rbx = has_rbx ? UNWIND_AT_CFA
						: cfa >= UNWIND_CFA_RSP && cfa != UNWIND_CFA_SIGNAL
							? UNWIND_LOST
							: UNWIND_SAME,
					 .cfa_offset = offset,
					 .rbp_offset = rbp == UNWIND_AT_CFA ? -2 * RETURN_BYTES : 0,
					 .rbx_offset = has_rbx ? function->rbx_offset : 0};

	return function->visit(function->data, address, &rule);
}

static int put_depth(const struct function *function, u64 address, s32 depth_bytes, u8 rbp)
{
	return put(function, address, UNWIND_CFA_RSP, depth_bytes + RETURN_BYTES, rbp);
}

/* Where the function is on another stack than its caller: by its frame pointer. */
static int put_elsewhere(const struct function *function, u64 address)
{
	return put(function, address, UNWIND_CFA_RBP_ELSEWHERE, 2 * RETURN_BYTES, UNWIND_AT_CFA);
}

/* ---- instructions ---- */

#define ANY_BYTE (-1)
struct pattern {
	s16 bytes[20];
	size_t count;
};
#define PATTERN(...)                                                      \
	{                                                                 \
		{__VA_ARGS__}, sizeof((s16[]){__VA_ARGS__}) / sizeof(s16) \
	}

static bool is_at(const u8 *code, size_t size, const struct pattern *pattern)
{
	if (size < pattern->count)
		return false;
	for (size_t i = 0; i < pattern->count; i++)
		if (pattern->bytes[i] != ANY_BYTE && pattern->bytes[i] != code[i])
			return false;
	return true;
}

/* Where it stands in the function, from a place on; else how much code there is. */
static size_t find(const struct function *function, size_t from, const struct pattern *pattern)
{
	for (; from < function->code_bytes; from++)
		if (is_at(function->code + from, function->code_bytes - from, pattern))
			return from;
	return function->code_bytes;
}

static const struct pattern calls_r12 = PATTERN(0x41, 0xff, 0xd4);

/* mov rsp, register, or from memory at register + number; else how much code there is. */
static size_t find_stack_change(const struct function *function, size_t from, size_t *ret_bytes)
{
	for (; from + 3 <= function->code_bytes; from++) {
		const u8 *code = function->code + from;

		*ret_bytes = 3;
		if ((code[0] & 0xfb) == 0x48 && code[1] == 0x89 && (code[2] & 0xc7) == 0xc4)
			return from;
		*ret_bytes = (code[2] & 7) == 4 ? 5 : 4;
		if ((code[0] & 0xfe) == 0x48 && code[1] == 0x8b && (code[2] & 0xf8) == 0x60)
			return from;
	}
	return function->code_bytes;
}

/* ---- rbp ---- */

/* How it is saved at the start of a frame. */
struct frame {
	u64 saved_from;	 /* address; 0: it is not */
	u64 points_from; /* rbp points to where it is saved; 0: it does not */
};

/* mov [rsp + number], rbp or lea rbp, [rsp + number]: how long it is, 0 if it is not that. */
static size_t at_depth(const u8 *code, size_t size, u8 operation, s32 number)
{
	s32 found;

	if (size < 8 || code[0] != 0x48 || code[1] != operation || code[3] != 0x24)
		return 0;
	if (code[2] == 0x6c)
		return (signed char)code[4] == number ? 5 : 0;
	memcpy(&found, code + 4, sizeof(found));
	return code[2] == 0xac && found == number ? 8 : 0;
}

/* Until Go 1.20 it is stored into a frame that was made, then pushed first of all. */
static void frame_begin(const struct function *function, u64 address, s32 depth_bytes,
			struct frame *ret_frame)
{
	static const struct pattern moves_rsp_to_rbp = PATTERN(0x48, 0x89, 0xe5);
	u8 code[17] = {0};
	size_t size = elf_window_read(function->rows->code, address - 1, code, sizeof(code));
	size_t stored, pointed;

	*ret_frame = (struct frame){0};
	if (size < sizeof(code))
		return;
	if (depth_bytes == RETURN_BYTES && code[0] == 0x55) {
		ret_frame->saved_from = address;
		if (is_at(code + 1, size - 1, &moves_rsp_to_rbp))
			ret_frame->points_from = address + moves_rsp_to_rbp.count;
		return;
	}
	stored = at_depth(code + 1, size - 1, 0x89, depth_bytes - RETURN_BYTES);
	if (!stored)
		return;
	ret_frame->saved_from = address + stored;
	pointed = at_depth(code + 1 + stored, size - 1 - stored, 0x8d, depth_bytes - RETURN_BYTES);
	if (pointed)
		ret_frame->points_from = ret_frame->saved_from + pointed;
}

/* A function that has left its frame may go on in it behind a jump or a return; one that pushes anything else makes another one. */
static bool frame_goes_on(const struct function *function, const struct elf_go_steps *step)
{
	u8 byte = 0;

	return step->depth_bytes != RETURN_BYTES ||
	       (elf_window_read(function->rows->code, step->start - 1, &byte, 1) &&
		(byte & 0xf8) != 0x50);
}

/* ---- kinds of functions ---- */

typedef int put_stretch(const struct function *function, const struct elf_go_steps *step,
			const struct frame *frame);

static int by_stretches(const struct function *function, put_stretch *in_frame)
{
	struct elf_go_steps step;
	struct frame frame = {0};
	bool began = false;
	s32 before = 0;
	int result = 0;

	if (!elf_go_steps_begin(&function->rows->table, function->index, &step))
		return 0;
	while (!result && elf_go_steps_next(&step)) {
		struct frame of_stretch = {0};

		if (step.depth_bytes < 0 || step.depth_bytes > DEPTH_MAX) {
			result = put(function, step.start, UNWIND_CFA_UNSUPPORTED, 0, UNWIND_SAME);
			continue;
		}
		if (before <= 0 && step.depth_bytes && !began) {
			frame_begin(function, step.start, step.depth_bytes, &frame);
			began = true;
			of_stretch = frame;
		} else if (before > 0 || frame_goes_on(function, &step)) {
			of_stretch = frame;
		}
		before = step.depth_bytes;
		result = step.depth_bytes ? in_frame(function, &step, &of_stretch)
					  : put_depth(function, step.start, 0, UNWIND_SAME);
	}
	return result;
}

static int plain_stretch(const struct function *function, const struct elf_go_steps *step,
			 const struct frame *frame)
{
	int result = 0;

	if (!frame->saved_from)
		return put_depth(function, step->start, step->depth_bytes, UNWIND_LOST);
	if (frame->saved_from > step->start)
		result = put_depth(function, step->start, step->depth_bytes, UNWIND_SAME);
	if (result || frame->saved_from >= step->end)
		return result;
	return put_depth(function,
			 frame->saved_from > step->start ? frame->saved_from : step->start,
			 step->depth_bytes, UNWIND_AT_CFA);
}

static int plain(struct function *function)
{
	return by_stretches(function, plain_stretch);
}

/* Without a frame. */
static int frameless(struct function *function)
{
	return put_depth(function, function->start, 0, UNWIND_SAME);
}

/* add rsp, number at the end of a stretch: how long it is; 0: none. rbp is the caller's by then. */
static size_t frame_end_bytes(const struct function *function, const struct elf_go_steps *step)
{
	static const struct pattern adds = PATTERN(0x48, 0x83, 0xc4),
				    adds_long = PATTERN(0x48, 0x81, 0xc4);
	u8 code[7];

	if (step->end - step->start < sizeof(code) ||
	    elf_window_read(function->rows->code, step->end - sizeof(code), code, sizeof(code)) !=
		    sizeof(code))
		return 0;
	return is_at(code, sizeof(code), &adds_long) ? 7 : is_at(code + 3, 4, &adds) ? 4 : 0;
}

static int elsewhere_stretch(const struct function *function, const struct elf_go_steps *step,
			     const struct frame *frame)
{
	u64 from = frame->points_from > step->start ? frame->points_from : step->start;
	size_t end_bytes = frame_end_bytes(function, step);
	int result = 0;

	if (!frame->points_from)
		return put(function, step->start, UNWIND_CFA_UNSUPPORTED, 0, UNWIND_SAME);
	if (step->depth_bytes == RETURN_BYTES || from > step->start)
		result = plain_stretch(function, step, frame);
	if (result || step->depth_bytes == RETURN_BYTES || from >= step->end)
		return result;
	result = put_elsewhere(function, from);
	return !result && end_bytes
		       ? put_depth(function, step->end - end_bytes, step->depth_bytes, UNWIND_SAME)
		       : result;
}

/* It writes the stack pointer, and keeps a frame pointer, since it goes by that itself. */
static int elsewhere(struct function *function)
{
	return by_stretches(function, elsewhere_stretch);
}

/* Nobody called it, or who did is on a stack of which it knows nothing. */
static int ends(struct function *function)
{
	return put(function, function->start, UNWIND_CFA_END, 0, UNWIND_SAME);
}

static int unsupported(struct function *function)
{
	return put(function, function->start, UNWIND_CFA_UNSUPPORTED, 0, UNWIND_SAME);
}

static int signal_return(struct function *function)
{
	return put(function, function->start, UNWIND_CFA_SIGNAL, 0, UNWIND_SAME);
}

/* The new thread calls its first function on a stack with nothing above. */
static int clones(struct function *function)
{
	size_t call = find(function, 0, &calls_r12);
	int result;

	if (call == function->code_bytes)
		return plain(function);
	result = put_depth(function, function->start, 0, UNWIND_SAME);
	return result ? result
		      : put(function, function->start + call, UNWIND_CFA_END, 0, UNWIND_SAME);
}

/* From Go 1.21 on its assembler gives functions a frame that had none: where they note the stack then, it lies lower. */
static bool pushes_frame_pointer(const struct function *function)
{
	/* push rbp; mov rbp, rsp */
	static const struct pattern pushes = PATTERN(0x55, 0x48, 0x89, 0xe5);

	return is_at(function->code, function->code_bytes, &pushes);
}

/*
 * It calls a function on the thread's first stack, without a frame of its own. There rbp still is that of who called it, whose frame is
 * where it points to: that function's caller is the next one. Itself it is left out: it is always of the runtime, which names what it has
 * done on that stack by its own name.
 */
static int system_stack(struct function *function)
{
	size_t bytes, at = find_stack_change(function, 0, &bytes);
	int result;

	/* One that Go's compiler made, to call it. */
	if (at == function->code_bytes)
		return plain(function);
	if (pushes_frame_pointer(function))
		return unsupported(function);
	result = put_depth(function, function->start, 0, UNWIND_SAME);
	for (bool away = true; !result; away = !away) {
		at = find_stack_change(function, at, &bytes);
		if (at == function->code_bytes)
			break;
		at += bytes;
		result = away ? put_elsewhere(function, function->start + at)
			      : put_depth(function, function->start + at, 0, UNWIND_SAME);
	}
	return result;
}

/* From a place where the stack is another one up to where it is the caller's again, and to the end of what is done there. */
static int call_c_from(const struct function *function, size_t from, const struct unwind_rule *rule)
{
	size_t bytes, back = find_stack_change(function, from, &bytes);
	int result = function->visit(function->data, function->start + from, rule);

	if (result || back == function->code_bytes)
		return result;
	return put_depth(function, function->start + back + bytes, 0, UNWIND_SAME);
}

/*
 * What it notes on the thread's first stack: its goroutine, and how far below the upper end of that one's stack it was called. Returns where it
 * has done so; how much code there is: it is not known how it does.
 */
static size_t goroutine_rule(const struct function *function, struct unwind_rule *ret_rule)
{
	/* mov [rsp + 48], rdi; mov rdi, [rdi + 8]; sub rdi, rdx; mov [rsp + 40], rdi, or [rsp] */
	static const struct pattern notes =
		PATTERN(0x48, 0x89, 0x7c, 0x24, ANY_BYTE, 0x48, 0x8b, 0x7f, 0x08, 0x48, 0x29, 0xd7,
			0x48, 0x89, ANY_BYTE, 0x24, ANY_BYTE);
	size_t at = find(function, 0, &notes);
	const u8 *code = function->code + at;

	*ret_rule = (struct unwind_rule){.cfa = UNWIND_CFA_GOROUTINE, .rbx = UNWIND_LOST};
	if (at == function->code_bytes || (code[4] & 0x87) ||
	    (code[14] != 0x3c && code[14] != 0x7c))
		return function->code_bytes;
	ret_rule->words = code[4] / 8;
	if (code[14] == 0x3c)
		return at + notes.count - 1;
	ret_rule->cfa_offset = code[16];
	return code[16] & 0x87 ? function->code_bytes : at + notes.count;
}

/* sub rsp, number; and rsp, -16 */
static const struct pattern room_made = PATTERN(0x48, 0x83, 0xec, ANY_BYTE, 0x48, 0x83, 0xe4, 0xf0);

static bool makes_room(const struct function *function)
{
	return find(function, 0, &room_made) < function->code_bytes;
}

/* Where it notes on the same stack where that was, before it made room: in rdx until then. */
static int calls_c_there(const struct function *function, size_t from)
{
	/* mov [rsp + 40], rdx; mov [rsp], rdx */
	static const struct pattern notes = PATTERN(0x48, 0x89, 0x54, 0x24, ANY_BYTE);
	static const struct pattern notes_first = PATTERN(0x48, 0x89, 0x14, 0x24);
	struct unwind_rule rule = {.cfa = UNWIND_CFA_RSP_POINTS, .words = 1, .rbx = UNWIND_LOST};
	size_t room = find(function, from, &room_made), note = find(function, room, &notes);
	size_t note_first = find(function, room, &notes_first), behind;
	int result;

	if (room == function->code_bytes || note == note_first)
		return 0;
	behind = note < note_first ? note + notes.count : note_first + notes_first.count;
	if (note < note_first)
		rule.cfa_offset = (signed char)function->code[note + 4];
	result = put(function, function->start + room + 4, UNWIND_CFA_REGISTER + RDX, RETURN_BYTES,
		     UNWIND_SAME);
	return result ? result : call_c_from(function, behind, &rule);
}

/* It calls C on the thread's first stack, where it may be already. */
static int calls_c(struct function *function)
{
	struct unwind_rule rule;
	size_t bytes = 0, change = find_stack_change(function, 0, &bytes);
	size_t noted = goroutine_rule(function, &rule), first_return = change;
	int result;

	if (change == function->code_bytes)
		return plain(function);
	if (pushes_frame_pointer(function) ||
	    (noted == function->code_bytes && !makes_room(function)))
		return unsupported(function);
	result = put_depth(function, function->start, 0, UNWIND_SAME);
	if (noted < function->code_bytes && change < noted) {
		first_return = noted;
		if (!result)
			result = put(function, function->start + change + bytes,
				     UNWIND_CFA_UNSUPPORTED, 0, UNWIND_SAME);
		if (!result)
			result = call_c_from(function, noted, &rule);
	} else {
		/* asmcgocall_no_g never is elsewhere. */
		first_return = 0;
	}
	return result ? result : calls_c_there(function, first_return);
}

/* ---- what C calls ---- */

static int called_by_c_stretch(const struct function *function, const struct elf_go_steps *step,
			       const struct frame *frame)
{
	struct function from_here = *function;
	u64 rbx_from = function->rbx_from;
	int result;

	if (!rbx_from || rbx_from >= step->end)
		from_here.rbx_from = 0;
	result = plain_stretch(&from_here, step, frame);
	if (result || rbx_from <= step->start || rbx_from >= step->end)
		return result;
	return put_depth(&from_here, rbx_from, step->depth_bytes,
			 frame->saved_from && frame->saved_from <= rbx_from ? UNWIND_AT_CFA
									    : UNWIND_LOST);
}

/* It keeps the registers of C: mov [rsp], rbx or [rsp + number] once it has a frame. */
static int called_by_c(struct function *function)
{
	static const struct pattern saves = PATTERN(0x48, 0x89, 0x5c, 0x24, ANY_BYTE),
				    saves_first = PATTERN(0x48, 0x89, 0x1c, 0x24);
	size_t at = find(function, 0, &saves), first = find(function, 0, &saves_first);
	struct elf_go_steps step;
	u64 address = function->start + (at < first ? at : first);

	if (at == first || !elf_go_steps_begin(&function->rows->table, function->index, &step))
		return plain(function);
	while (elf_go_steps_next(&step) && !function->rbx_from) {
		if (address < step.start || address >= step.end || step.depth_bytes <= 0 ||
		    step.depth_bytes > INT16_MAX / 2)
			continue;
		function->rbx_from = address + (at < first ? saves.count : saves_first.count);
		function->rbx_offset =
			(s16)((at < first ? (signed char)function->code[at + 4] : 0) -
			      step.depth_bytes - RETURN_BYTES);
	}
	return by_stretches(function, called_by_c_stretch);
}

/* ---- all functions ---- */

static const struct {
	const char *name;
	make_rules *make;
	bool returned_to; /* its first instruction is where something returns to that nothing was called from */
} kinds[] = {
	{"runtime.goexit", ends, false},
	{"runtime.rt0_go", ends, false},
	{"_rt0_amd64_linux", ends, false},
	{"_rt0_amd64", ends, false},
	{"runtime.mcall", ends, false},
	{"runtime.morestack", ends, false},
	{"runtime.clone", clones, false},
	{"runtime.gogo", unsupported, false},
	{"gogo", unsupported, false},
	{"runtime.sigreturn", signal_return, true},
	{"runtime.sigreturn__sigaction", signal_return, true},
	{"runtime.systemstack", system_stack, false},
	{"runtime.systemstack_switch", frameless, true},
	{"runtime.asmcgocall", calls_c, false},
	{"runtime.asmcgocall_no_g", calls_c, false},
	{"crosscall2", called_by_c, false},
	{"runtime.cgocallback", elsewhere, false},
	{"runtime.cgocallback_gofunc", elsewhere, false},
	{"runtime.nanotime1", elsewhere, false},
	{"runtime.nanotime", elsewhere, false},
	{"time.now", elsewhere, false},
	{"runtime.walltime1", elsewhere, false},
	{"runtime.walltime", elsewhere, false},
};

static size_t kind_of(const char *name)
{
	size_t kind = 0;

	while (kind < ARRAY_SIZE(kinds) && (!name || strcmp(kinds[kind].name, name) != 0))
		kind++;
	return kind;
}

int elf_go_rows_open(const struct elf_file *file, struct elf_go_rows *ret_rows)
{
	struct elf_go_rows rows = {0};
	int result = elf_go_table_read(file, &rows.table);

	*ret_rows = (struct elf_go_rows){0};
	if (result)
		return result == -ENOENT ? 0 : result;
	rows.code = elf_window_create(file, CODE_WINDOW_BYTES);
	if (!rows.code || elf_go_crosscall_find(file, &rows.crosscall)) {
		elf_go_rows_close(&rows);
		return -ENOMEM;
	}
	*ret_rows = rows;
	return 0;
}

void elf_go_rows_close(struct elf_go_rows *rows)
{
	free(rows->table.bytes);
	free(rows->code);
	*rows = (struct elf_go_rows){0};
}

u64 elf_go_rows_count(const struct elf_go_rows *rows)
{
	return rows->table.count + (rows->crosscall.start != 0);
}

bool elf_go_rows_extent(const struct elf_go_rows *rows, u64 index, u64 *ret_start, u64 *ret_end)
{
	size_t kind = kind_of(elf_go_table_name(&rows->table, index));
	struct elf_go_steps steps;
	struct elf_extent extent;
	u64 offset;

	*ret_start = rows->crosscall.start;
	*ret_end = rows->crosscall.end;
	if (index == rows->table.count)
		return *ret_start;
	if (!elf_go_table_extent(&rows->table, index, &extent) || !extent.size_bytes ||
	    !elf_go_steps_begin(&rows->table, index, &steps) ||
	    elf_file_offset(rows->table.file, extent.address, &offset))
		return false;
	*ret_start = extent.address;
	*ret_end = extent.address + extent.size_bytes;
	if (kind < ARRAY_SIZE(kinds) && kinds[kind].returned_to)
		--*ret_start;
	return *ret_end > *ret_start;
}

int elf_go_rows_visit(const struct elf_go_rows *rows, u64 index, visit_rule *visit, void *data)
{
	const char *name = elf_go_table_name(&rows->table, index);
	struct function function = {.rows = rows, .index = index, .visit = visit, .data = data};
	size_t kind = kind_of(name);
	bool changes = elf_go_table_flags(&rows->table, index) & ELF_GO_WRITES_STACK_POINTER;

	if (!elf_go_rows_extent(rows, index, &function.start, &function.end))
		return 0;
	if (index == rows->table.count)
		return elf_go_crosscall_visit(&rows->crosscall, visit, data);
	if (kind == ARRAY_SIZE(kinds) && !changes)
		return plain(&function);
	if (kind == ARRAY_SIZE(kinds))
		return strncmp(name ? name : "", "runtime.", strlen("runtime."))
			       ? unsupported(&function)
			       : elsewhere(&function);
	function.code_bytes = function.end - function.start < CODE_MAX_BYTES
				      ? function.end - function.start
				      : CODE_MAX_BYTES;
	function.code_bytes =
		elf_window_read(rows->code, function.start, function.code, function.code_bytes);
	return kinds[kind].make(&function);
}
