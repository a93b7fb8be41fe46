/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_go_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_go_switches.h"

#define CODE_WINDOW_BYTES 65536
#define DEPTH_MAX	  (1 << 30)
#define RETURN_BYTES	  ELF_GO_RETURN_BYTES

typedef int make_rules(struct elf_go_function *function);

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
static void frame_begin(const struct elf_go_function *function, u64 address, s32 depth_bytes,
			struct frame *ret_frame)
{
	static const struct elf_go_pattern moves_rsp_to_rbp = ELF_GO_PATTERN(0x48, 0x89, 0xe5);
	u8 code[17] = {0};
	size_t size = elf_window_read(function->rows->code, address - 1, code, sizeof(code));
	size_t stored, pointed;

	*ret_frame = (struct frame){0};
	if (size < sizeof(code))
		return;
	if (depth_bytes == RETURN_BYTES && code[0] == 0x55) {
		ret_frame->saved_from = address;
		if (elf_go_is_at(code + 1, size - 1, &moves_rsp_to_rbp))
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
static bool frame_goes_on(const struct elf_go_function *function, const struct elf_go_steps *step)
{
	u8 byte = 0;

	return step->depth_bytes != RETURN_BYTES ||
	       (elf_window_read(function->rows->code, step->start - 1, &byte, 1) &&
		(byte & 0xf8) != 0x50);
}

/* ---- kinds of functions ---- */

typedef int put_stretch(const struct elf_go_function *function, const struct elf_go_steps *step,
			const struct frame *frame);

static int by_stretches(const struct elf_go_function *function, put_stretch *in_frame)
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
			result = elf_go_put(function, step.start, UNWIND_CFA_UNSUPPORTED, 0,
					    UNWIND_SAME);
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
					  : elf_go_put_depth(function, step.start, 0, UNWIND_SAME);
	}
	return result;
}

static int plain_stretch(const struct elf_go_function *function, const struct elf_go_steps *step,
			 const struct frame *frame)
{
	int result = 0;

	if (!frame->saved_from)
		return elf_go_put_depth(function, step->start, step->depth_bytes, UNWIND_LOST);
	if (frame->saved_from > step->start)
		result = elf_go_put_depth(function, step->start, step->depth_bytes, UNWIND_SAME);
	if (result || frame->saved_from >= step->end)
		return result;
	return elf_go_put_depth(function,
				frame->saved_from > step->start ? frame->saved_from : step->start,
				step->depth_bytes, UNWIND_AT_CFA);
}

static int plain(struct elf_go_function *function)
{
	return by_stretches(function, plain_stretch);
}

/* Without a frame. */
static int frameless(struct elf_go_function *function)
{
	return elf_go_put_depth(function, function->start, 0, UNWIND_SAME);
}

/* add rsp, number at the end of a stretch: how long it is; 0: none. rbp may be the caller's by then. */
static size_t frame_end_bytes(const struct elf_go_function *function,
			      const struct elf_go_steps *step)
{
	static const struct elf_go_pattern adds = ELF_GO_PATTERN(0x48, 0x83, 0xc4),
					   adds_long = ELF_GO_PATTERN(0x48, 0x81, 0xc4);
	u8 code[7];

	if (step->end - step->start < sizeof(code) ||
	    elf_window_read(function->rows->code, step->end - sizeof(code), code, sizeof(code)) !=
		    sizeof(code))
		return 0;
	return elf_go_is_at(code, sizeof(code), &adds_long) ? 7
	       : elf_go_is_at(code + 3, 4, &adds)	    ? 4
							    : 0;
}

static int elsewhere_stretch(const struct elf_go_function *function,
			     const struct elf_go_steps *step, const struct frame *frame)
{
	u64 from = frame->points_from > step->start ? frame->points_from : step->start;
	size_t end_bytes = frame_end_bytes(function, step);
	int result = 0;

	if (!frame->points_from)
		return elf_go_put(function, step->start, UNWIND_CFA_UNSUPPORTED, 0, UNWIND_SAME);
	if (step->depth_bytes == RETURN_BYTES || from > step->start)
		result = plain_stretch(function, step, frame);
	if (result || step->depth_bytes == RETURN_BYTES || from >= step->end)
		return result;
	result = elf_go_put_elsewhere(function, from);
	return !result && end_bytes ? elf_go_put_depth(function, step->end - end_bytes,
						       step->depth_bytes, UNWIND_AT_CFA)
				    : result;
}

/* It writes the stack pointer, and keeps a frame pointer, since it goes by that itself. */
static int elsewhere(struct elf_go_function *function)
{
	return by_stretches(function, elsewhere_stretch);
}

/* Nobody called it, or who did is on a stack of which it knows nothing. */
static int ends(struct elf_go_function *function)
{
	return elf_go_put(function, function->start, UNWIND_CFA_END, 0, UNWIND_SAME);
}

static int unsupported(struct elf_go_function *function)
{
	return elf_go_put(function, function->start, UNWIND_CFA_UNSUPPORTED, 0, UNWIND_SAME);
}

static int signal_return(struct elf_go_function *function)
{
	return elf_go_put(function, function->start, UNWIND_CFA_SIGNAL, 0, UNWIND_SAME);
}

/* The new thread calls its first function on a stack with nothing above. */
static int clones(struct elf_go_function *function)
{
	static const struct elf_go_pattern calls_r12 = ELF_GO_PATTERN(0x41, 0xff, 0xd4);
	size_t call = elf_go_find(function, 0, &calls_r12);
	int result;

	if (call == function->code_bytes)
		return plain(function);
	result = elf_go_put_depth(function, function->start, 0, UNWIND_SAME);
	return result ? result
		      : elf_go_put(function, function->start + call, UNWIND_CFA_END, 0,
				   UNWIND_SAME);
}

/* It calls a function of the runtime on the thread's first stack. */
static int system_stack(struct elf_go_function *function)
{
	return elf_go_switches(function) ? elf_go_switches_to_go(function) : plain(function);
}

/* It calls C there. */
static int calls_c(struct elf_go_function *function)
{
	if (!elf_go_switches(function))
		return plain(function);
	return elf_go_pushes_frame_pointer(function) && !elf_go_switches_notes(function)
		       ? elsewhere(function)
		       : elf_go_switches_to_c(function);
}

/* ---- what C calls ---- */

static int called_by_c_stretch(const struct elf_go_function *function,
			       const struct elf_go_steps *step, const struct frame *frame)
{
	struct elf_go_function from_here = *function;
	u64 rbx_from = function->rbx_from;
	int result;

	if (!rbx_from || rbx_from >= step->end)
		from_here.rbx_from = 0;
	result = plain_stretch(&from_here, step, frame);
	if (result || rbx_from <= step->start || rbx_from >= step->end)
		return result;
	return elf_go_put_depth(&from_here, rbx_from, step->depth_bytes,
				frame->saved_from && frame->saved_from <= rbx_from ? UNWIND_AT_CFA
										   : UNWIND_LOST);
}

/* It keeps the registers of C: mov [rsp], rbx or [rsp + number] once it has a frame. */
static int called_by_c(struct elf_go_function *function)
{
	static const struct elf_go_pattern saves = ELF_GO_PATTERN(0x48, 0x89, 0x5c, 0x24,
								  ELF_GO_ANY_BYTE),
					   saves_first = ELF_GO_PATTERN(0x48, 0x89, 0x1c, 0x24);
	size_t at = elf_go_find(function, 0, &saves),
	       first = elf_go_find(function, 0, &saves_first);
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

int elf_go_rows_visit(const struct elf_go_rows *rows, u64 index, elf_go_visit *visit, void *data)
{
	const char *name = elf_go_table_name(&rows->table, index);
	struct elf_go_function function = {
		.rows = rows, .index = index, .visit = visit, .data = data};
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
	function.code_bytes = function.end - function.start < ELF_GO_CODE_MAX_BYTES
				      ? function.end - function.start
				      : ELF_GO_CODE_MAX_BYTES;
	function.code_bytes =
		elf_window_read(rows->code, function.start, function.code, function.code_bytes);
	return kinds[kind].make(&function);
}
