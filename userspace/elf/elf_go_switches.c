/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Until Go 1.20 these two have no frame. From Go 1.21 on they push rbp first of all: then the caller's rsp is 8 bytes higher than what they
 * note of theirs, and the caller's rbp lies in between.
 */
#include "elf/elf_go_switches.h"

#define RDX 1 /* by DWARF */

/* Where it is on the stack on which it was called, which it is from its start on. */
static int put_own(const struct elf_go_function *function, size_t from)
{
	return elf_go_pushes_frame_pointer(function)
		       ? elf_go_put_depth(function, function->start + from, ELF_GO_RETURN_BYTES,
					  UNWIND_AT_CFA)
		       : elf_go_put_depth(function, function->start + from, 0, UNWIND_SAME);
}

/* pop rbp; ret or jmp rdi: how long what is behind the first is; 0: it does not leave there. */
static size_t leaves_at(const struct elf_go_function *function, size_t at)
{
	static const struct elf_go_pattern returns = ELF_GO_PATTERN(0x5d, 0xc3),
					   jumps = ELF_GO_PATTERN(0x5d, 0xff, 0xe7);
	size_t left = function->code_bytes - at;

	return elf_go_is_at(function->code + at, left, &returns) ? returns.count - 1
	       : elf_go_is_at(function->code + at, left, &jumps) ? jumps.count - 1
								 : 0;
}

/* The same for a stretch of code. */
static int put_own_until(const struct elf_go_function *function, size_t from, size_t limit)
{
	int result = put_own(function, from);

	if (!elf_go_pushes_frame_pointer(function))
		return result;
	for (size_t at = from; !result && at < limit; at++) {
		size_t rest = leaves_at(function, at);

		if (!rest)
			continue;
		result = elf_go_put_depth(function, function->start + at + 1, 0, UNWIND_SAME);
		if (!result && at + 1 + rest < function->code_bytes)
			result = put_own(function, at + 1 + rest);
	}
	return result;
}

static int begin(const struct elf_go_function *function, size_t limit)
{
	int result = elf_go_put_depth(function, function->start, 0, UNWIND_SAME);

	return result || !elf_go_pushes_frame_pointer(function) ? result
								: put_own_until(function, 1, limit);
}

bool elf_go_switches(const struct elf_go_function *function)
{
	size_t bytes;

	return elf_go_find_stack_change(function, 0, &bytes) < function->code_bytes;
}

/*
 * There rbp still is what it was. Without a frame of its own that is who called it, whose frame is where it points to: that function's caller
 * is the next one, and itself it is left out: it is always of the runtime, which names what it has done on that stack by its own name.
 */
int elf_go_switches_to_go(const struct elf_go_function *function)
{
	size_t bytes, at = elf_go_find_stack_change(function, 0, &bytes);
	int result = begin(function, at);

	for (bool away = true; !result && at < function->code_bytes; away = !away) {
		size_t from = at + bytes;

		at = elf_go_find_stack_change(function, from, &bytes);
		result = away ? elf_go_put_elsewhere(function, function->start + from)
			      : put_own_until(function, from, at);
	}
	return result;
}

/* ---- asmcgocall ---- */

/* From a place where the stack is another one up to where it is the caller's again. Sets where that is. */
static int call_c_from(const struct elf_go_function *function, size_t from,
		       const struct unwind_rule *rule, size_t *ret_back)
{
	size_t bytes = 0, back = elf_go_find_stack_change(function, from, &bytes);

	*ret_back = back < function->code_bytes ? back + bytes : back;
	return function->visit(function->data, function->start + from, rule);
}

/* Of where it has noted what it had for rsp: a pointer's CFA, and the caller's rbp. */
static struct unwind_rule noted_rule(const struct elf_go_function *function, u8 cfa)
{
	bool frame = elf_go_pushes_frame_pointer(function);

	return (struct unwind_rule){.cfa = cfa,
				    .rbp = frame ? UNWIND_AT_CFA : UNWIND_SAME,
				    .rbp_offset = frame ? -2 * ELF_GO_RETURN_BYTES : 0,
				    .rbx = UNWIND_LOST,
				    .words = frame ? 2 : 1};
}

/*
 * What it notes on the thread's first stack: its goroutine, and how far below the upper end of that one's stack it was. Returns where it has
 * done so; how much code there is: it is not known how it does.
 */
static size_t goroutine_rule(const struct elf_go_function *function, struct unwind_rule *ret_rule)
{
	/* mov [rsp + 48], rdi; mov rdi, [rdi + 8]; sub rdi, rdx; mov [rsp + 40], rdi, or [rsp] */
	static const struct elf_go_pattern notes = ELF_GO_PATTERN(
		0x48, 0x89, 0x7c, 0x24, ELF_GO_ANY_BYTE, 0x48, 0x8b, 0x7f, 0x08, 0x48, 0x29, 0xd7,
		0x48, 0x89, ELF_GO_ANY_BYTE, 0x24, ELF_GO_ANY_BYTE);
	size_t at = elf_go_find(function, 0, &notes);
	const u8 *code = function->code + at;

	*ret_rule = noted_rule(function, UNWIND_CFA_GOROUTINE);
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
static const struct elf_go_pattern room_made =
	ELF_GO_PATTERN(0x48, 0x83, 0xec, ELF_GO_ANY_BYTE, 0x48, 0x83, 0xe4, 0xf0);

/* Where it notes on the same stack where that was, before it made room: in rdx until then. */
static int calls_c_there(const struct elf_go_function *function, size_t room)
{
	/* mov [rsp + 40], rdx; mov [rsp], rdx */
	static const struct elf_go_pattern notes =
		ELF_GO_PATTERN(0x48, 0x89, 0x54, 0x24, ELF_GO_ANY_BYTE);
	static const struct elf_go_pattern notes_first = ELF_GO_PATTERN(0x48, 0x89, 0x14, 0x24);
	struct unwind_rule rule = noted_rule(function, UNWIND_CFA_RSP_POINTS);
	size_t note = elf_go_find(function, room, &notes), back = function->code_bytes;
	size_t note_first = elf_go_find(function, room, &notes_first), behind;
	int result;

	if (room == function->code_bytes || note == note_first)
		return 0;
	behind = note < note_first ? note + notes.count : note_first + notes_first.count;
	if (note < note_first)
		rule.cfa_offset = (signed char)function->code[note + 4];
	result = elf_go_put(function, function->start + room + 4, UNWIND_CFA_REGISTER + RDX,
			    rule.words * ELF_GO_RETURN_BYTES, rule.rbp);
	if (!result)
		result = call_c_from(function, behind, &rule, &back);
	return result || back == function->code_bytes
		       ? result
		       : put_own_until(function, back, function->code_bytes);
}

bool elf_go_switches_notes(const struct elf_go_function *function)
{
	struct unwind_rule rule;

	return goroutine_rule(function, &rule) < function->code_bytes;
}

/* Between the change of stacks and the note only a frame pointer tells where it was. */
static int put_changed(const struct elf_go_function *function, size_t from)
{
	return elf_go_pushes_frame_pointer(function)
		       ? elf_go_put_elsewhere(function, function->start + from)
		       : elf_go_put(function, function->start + from, UNWIND_CFA_UNSUPPORTED, 0,
				    UNWIND_SAME);
}

int elf_go_switches_to_c(const struct elf_go_function *function)
{
	size_t bytes = 0, change = elf_go_find_stack_change(function, 0, &bytes), back = 0;
	struct unwind_rule rule;
	size_t noted = goroutine_rule(function, &rule), room = elf_go_find(function, 0, &room_made);
	bool has_goroutine = noted < function->code_bytes && change < noted;
	int result;

	if (noted == function->code_bytes && room == function->code_bytes)
		return elf_go_put(function, function->start, UNWIND_CFA_UNSUPPORTED, 0,
				  UNWIND_SAME);
	result = begin(function, change);
	if (!result && has_goroutine)
		result = put_changed(function, change + bytes);
	if (!result && has_goroutine)
		result = call_c_from(function, noted, &rule, &back);
	room = elf_go_find(function, back, &room_made);
	if (!result && has_goroutine && back < function->code_bytes)
		result = put_own_until(function, back, room);
	return result ? result : calls_c_there(function, room);
}
