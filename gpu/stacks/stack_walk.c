/* SPDX-License-Identifier: MIT */
#include "stack_walk.h"

#include "../../bpf/record.h"

#define FRAME_MAX_BYTES	      (64UL << 20) /* no frame is larger */
#define GUESS_FRAME_MAX_BYTES (64UL << 10) /* nor one that is guessed */
#define STEP_MAX_BYTES	      2048U	   /* between words of one that is noted */
#define SCAN_MAX_WORDS	      256U
/* What the page that probed functions return to begins with: before Linux 6.11, and since (bpf/kernel_page.h). */
#define BREAKPOINT	   0xcc
#define RETURN_PAGE_BEGINS 0x4fc0c74853415150

/* In the kernel's frame of a signal (struct rt_sigframe), at whose ucontext rsp is. */
#define SIGNAL_RBP 120
#define SIGNAL_RBX 128
#define SIGNAL_RSP 160
#define SIGNAL_RIP 168

static bool is_code_address(u64 address)
{
	return address >= 0x10000 && address < 1ULL << 47;
}

static bool read_word(const struct stack_walk *walk, u64 address, u64 *ret_word)
{
	return stack_memory_read(&walk->sight->memory, walk->moment, address, ret_word);
}

bool stack_walk_begin(struct stack_walk *walk, struct stack_sight *sight, u64 now_ns,
		      const struct stack_registers *registers)
{
	walk->sight = sight;
	walk->space = stack_tables_space(&sight->tables);
	walk->moment = stack_memory_moment(now_ns);
	walk->at = *registers;
	walk->exact = false;
	walk->end = 0;
	walk->python = NULL;
	walk->trace = stack_trace_begin(NULL, 0);
	stack_walk_forget(walk);
	return walk->space.mappings;
}

void stack_walk_follow(struct stack_walk *walk, struct stack_past *past)
{
	walk->trace = stack_trace_begin(past, walk->space.filled);
}

void stack_walk_forget(struct stack_walk *walk)
{
	walk->is_guess = false;
	walk->depth = walk->guessed = 0;
	walk->guesses[0] = walk->guesses[1] = 0;
}

/* ---- by a rule ---- */

static u32 end_of_unknown(u32 number)
{
	switch (number) {
	case UNWIND_RULE_NO_MAPPING:
		return VALUE_stack_end_no_file;
	case UNWIND_RULE_NOT_READY:
		return VALUE_stack_end_not_ready;
	}
	return VALUE_stack_end_no_table;
}

/* Where a goroutine was when it called C, which was done on the thread's first stack. Its own may have been moved since. */
static bool goroutine_cfa(const struct stack_walk *walk, const struct unwind_rule *rule,
			  u64 *ret_cfa)
{
	u64 depth_bytes, goroutine, stack_end;

	if (!read_word(walk, walk->at.sp + (u64)(s64)rule->cfa_offset, &depth_bytes) ||
	    !read_word(walk, walk->at.sp + rule->words * 8, &goroutine) ||
	    !read_word(walk, goroutine + UNWIND_GOROUTINE_STACK_END, &stack_end))
		return false;
	*ret_cfa = stack_end - depth_bytes + (rule->rbp == UNWIND_AT_CFA ? 16 : 8);
	return true;
}

/* May its caller be anywhere? */
static bool is_elsewhere(const struct unwind_rule *rule)
{
	return rule->cfa == UNWIND_CFA_RBP_ELSEWHERE || rule->cfa == UNWIND_CFA_GOROUTINE;
}

/* 0, or why the walk ends there. */
static u32 find_cfa(const struct stack_walk *walk, const struct unwind_rule *rule, u32 number,
		    u64 *ret_cfa)
{
	const struct stack_registers *at = &walk->at;
	u64 offset = (s64)rule->cfa_offset;

	/* Nearly all. */
	if (rule->cfa == UNWIND_CFA_RSP || rule->cfa == UNWIND_CFA_RBP) {
		*ret_cfa = (rule->cfa == UNWIND_CFA_RSP ? at->sp : at->bp) + offset;
		return 0;
	}
	switch (rule->cfa) {
	case UNWIND_CFA_RBX:
		*ret_cfa = at->bx + offset;
		return 0;
	case UNWIND_CFA_PLT:
		*ret_cfa = at->sp + 8 + ((at->ip & 15) >= offset) * 8;
		return 0;
	case UNWIND_CFA_RSP_POINTS:
	case UNWIND_CFA_RBP_POINTS:
		if (!read_word(walk,
			       (rule->cfa == UNWIND_CFA_RSP_POINTS ? at->sp : at->bp) + offset,
			       ret_cfa))
			return VALUE_stack_end_unreadable;
		*ret_cfa += rule->words * 8;
		return 0;
	case UNWIND_CFA_RBP_ELSEWHERE:
		*ret_cfa = at->bp + offset;
		return 0;
	case UNWIND_CFA_GOROUTINE:
		return goroutine_cfa(walk, rule, ret_cfa) ? 0 : VALUE_stack_end_unreadable;
	case UNWIND_CFA_END:
		return VALUE_stack_end_complete;
	case UNWIND_CFA_NONE:
		return end_of_unknown(number);
	}
	/* Other registers are known of the innermost frame only, which called us. */
	return VALUE_stack_end_unsupported;
}

/* Where the caller's value of a register is read; 0: it is not. */
static u64 place_of_register(const struct stack_registers *at, u64 cfa, u32 how, s64 offset)
{
	if (how != UNWIND_AT_CFA && how != UNWIND_AT_RBP)
		return 0;
	return (how == UNWIND_AT_CFA ? cfa : at->bp) + offset;
}

/* The caller's value of a register. 0 where it cannot be read: code that uses it for numbers has no need of it. */
static u64 register_of_caller(const struct stack_walk *walk, u64 cfa, u32 how, s64 offset,
			      u64 before)
{
	u64 place = place_of_register(&walk->at, cfa, how, offset), value;

	if (!place)
		return before;
	return read_word(walk, place, &value) ? value : 0;
}

/* For the next walk: this one goes on to the caller, and was before at these registers. */
static void note_step(const struct stack_walk *walk, const struct unwind_rule *rule,
		      struct stack_step *step)
{
	u64 first = walk->at.sp - 8, bp_at, bx_at;
	u32 bx_place;

	if (rule->cfa != UNWIND_CFA_RSP && rule->cfa != UNWIND_CFA_RBP &&
	    rule->cfa != UNWIND_CFA_RBX && rule->cfa != UNWIND_CFA_PLT)
		return;
	bp_at = place_of_register(&step->at, walk->at.sp, rule->rbp, rule->rbp_offset);
	bx_at = place_of_register(&step->at, walk->at.sp, rule->rbx, rule->rbx_offset);
	bp_at = bp_at ? bp_at : first;
	bx_at = bx_at ? bx_at : first;
	bx_place = bx_at <= bp_at ? 2 : 1;
	/* None lies behind the return address, nor far before it: so it is one piece of memory. */
	if (first - bp_at > STEP_MAX_BYTES || first - bx_at > STEP_MAX_BYTES)
		return;
	step->places[0] = first;
	step->words[0] = walk->at.ip;
	step->places[3 - bx_place] = bp_at;
	step->words[3 - bx_place] = bp_at == first ? walk->at.ip : walk->at.bp;
	step->places[bx_place] = bx_at;
	step->words[bx_place] = bx_at == first ? walk->at.ip : walk->at.bx;
}

static u32 step_to_caller(struct stack_walk *walk, const struct unwind_rule *rule, u32 number,
			  struct stack_step *noted)
{
	u64 cfa, ip, bp;
	u32 end = find_cfa(walk, rule, number, &cfa);

	if (end)
		return end;
	/* Stacks grow downwards. */
	if ((cfa <= walk->at.sp || cfa - walk->at.sp > FRAME_MAX_BYTES) && !is_elsewhere(rule))
		return VALUE_stack_end_broken;
	if (!read_word(walk, cfa - 8, &ip))
		return VALUE_stack_end_unreadable;
	bp = register_of_caller(walk, cfa, rule->rbp, rule->rbp_offset, walk->at.bp);
	walk->at.bx = register_of_caller(walk, cfa, rule->rbx, rule->rbx_offset, walk->at.bx);
	/* One by one: a copy of them all would wait for each to be written. */
	walk->at.ip = ip;
	walk->at.sp = cfa;
	walk->at.bp = bp;
	if (noted && !walk->exact)
		note_step(walk, rule, noted);
	walk->exact = false;
	return 0;
}

static u32 step_over_signal(struct stack_walk *walk)
{
	u64 frame = walk->at.sp;
	struct stack_registers at;

	if (!read_word(walk, frame + SIGNAL_RBP, &at.bp) ||
	    !read_word(walk, frame + SIGNAL_RBX, &at.bx) ||
	    !read_word(walk, frame + SIGNAL_RSP, &at.sp) ||
	    !read_word(walk, frame + SIGNAL_RIP, &at.ip))
		return VALUE_stack_end_unreadable;
	walk->at = at;
	walk->exact = true;
	return 0;
}

/* ---- code without tables ---- */

enum call { CALL_NONE, CALL_DIRECT, CALL_THROUGH };

/* Which call is before this address? (call rel32; call *register or *memory in its lengths.) Where bytes could be either it is the one
 * through a pointer. */
static enum call call_before(const struct stack_walk *walk, u64 address)
{
	static const u8 lengths[] = {2, 3, 4, 6, 7};
	u64 from = address - 8, low, high;
	u8 code[8];

	/* They may lie in two pages. */
	if (!is_code_address(address) || !read_word(walk, from & ~7ULL, &low) ||
	    !read_word(walk, (address - 1) & ~7ULL, &high))
		return CALL_NONE;
	for (u32 i = 0; i < sizeof(code); i++)
		code[i] = (((from + i) ^ from) & ~7ULL ? high : low) >> 8 * ((from + i) % 8);
	for (u32 i = 0; i < ARRAY_SIZE(lengths); i++)
		if (code[8 - lengths[i]] == 0xff && (code[9 - lengths[i]] >> 3 & 7) == 2)
			return CALL_THROUGH;
	return code[3] == 0xe8 ? CALL_DIRECT : CALL_NONE;
}

static void take_guess(struct stack_walk *walk, const struct stack_registers *caller)
{
	walk->at = *caller;
	walk->exact = false;
	walk->is_guess = true;
	walk->guessed++;
}

/* By its frame pointer, where it has one that can be one. */
static bool guess_by_frame(struct stack_walk *walk)
{
	u64 frame = walk->at.bp;
	struct stack_registers caller = {.sp = frame + 16, .bx = walk->at.bx};

	/* A caller without frame pointers has any number there. */
	if (frame % 8 || frame < walk->at.sp || frame - walk->at.sp > GUESS_FRAME_MAX_BYTES ||
	    !read_word(walk, frame, &caller.bp) || !read_word(walk, frame + 8, &caller.ip) ||
	    call_before(walk, caller.ip) == CALL_NONE)
		return false;
	take_guess(walk, &caller);
	return true;
}

/* Could it be the frame pointer of a caller? */
static bool is_frame(u64 cfa, u64 value)
{
	return value % 8 == 0 && value > cfa && value - cfa < GUESS_FRAME_MAX_BYTES;
}

/* Code without frame pointers saves rbp first of all, or behind rbx. */
static void take_scanned(struct stack_walk *walk, u64 cfa, u64 ip)
{
	struct stack_registers caller = {ip, cfa, walk->at.bp, walk->at.bx};
	u64 first, second;

	if (cfa - 8 > walk->at.sp && read_word(walk, cfa - 16, &first)) {
		if (is_frame(cfa, first)) {
			caller.bp = first;
		} else if (read_word(walk, cfa - 24, &second) && is_frame(cfa, second)) {
			caller.bp = second;
			caller.bx = first;
		}
	}
	take_guess(walk, &caller);
}

/* By the first word of the stack that can be a return address, in code of which the tables know how to go on. Those of calls that are over
 * stand farther in. */
static bool guess_by_scan(struct stack_walk *walk, u32 number)
{
	/* What was made at run time no file calls but through a pointer. */
	enum call least = number == UNWIND_RULE_NO_MAPPING ? CALL_DIRECT : CALL_NONE;
	u64 place = (walk->at.sp + 7) & ~7ULL, word;

	for (u32 i = 0; i < SCAN_MAX_WORDS && read_word(walk, place, &word); i++, place += 8) {
		if (!is_code_address(word) ||
		    STACK_TABLES_RULE(stack_tables_find(&walk->sight->tables, &walk->space,
							word - 1)) < UNWIND_RULES_FIXED ||
		    call_before(walk, word) <= least)
			continue;
		take_scanned(walk, place + 8, word);
		return true;
	}
	return false;
}

/* ---- the walk ---- */

void stack_walk_put(struct stack_walk *walk, u64 address)
{
	walk->addresses[walk->depth++] = address;
}

/* Those of the call of the loop that is left, or all that there are. */
static void put_python(struct stack_walk *walk, bool all)
{
	struct python_frames *python = walk->python;
	bool goes_on = true;

	while (goes_on && python->next < python->count) {
		if (walk->depth == STACK_WALK_DEPTH_MAX) {
			walk->end = VALUE_stack_end_deep;
			return;
		}
		goes_on = all || !python_frames_end_call(python);
		stack_walk_put(walk, python->words[python->next++]);
	}
}

/* An address that the walk came to and went on from. That of the loop is left out: the frames that it ran stand there. */
static void put_code(struct stack_walk *walk, u64 address, bool is_guess, bool scanned)
{
	if (walk->python && walk->depth && !walk->end && !scanned &&
	    python_frames_are_due(walk->python, address, walk->at.sp)) {
		put_python(walk, false);
		return;
	}
	if (is_guess)
		walk->guesses[walk->depth / 64] |= 1ULL << walk->depth % 64;
	stack_walk_put(walk, address);
}

/* As a fact has it: who called us stands at the call; where a signal struck is no return address, but looked at like one. */
static u64 address_of(const struct stack_walk *walk)
{
	if (!walk->depth)
		return walk->at.ip - 1;
	return walk->at.ip + walk->exact;
}

/* The kernel's page that functions return to whose return address a probe has taken: who called them only the kernel knows. */
static bool is_in_probe(const struct stack_walk *walk)
{
	u64 word;

	return walk->at.ip % PAGE_BYTES == 0 && read_word(walk, walk->at.ip, &word) &&
	       ((word & 0xff) == BREAKPOINT || word == RETURN_PAGE_BEGINS);
}

/* To the caller. Was it found by a scan? */
static bool step(struct stack_walk *walk)
{
	struct stack_tables *tables = &walk->sight->tables;
	u32 number = STACK_TABLES_RULE(
		stack_tables_find(tables, &walk->space, walk->at.ip - !walk->exact));
	const struct unwind_rule *rule = stack_tables_rule(tables, number);
	struct stack_step *noted = stack_trace_step(&walk->trace);
	bool scanned = false;

	if (noted)
		*noted = (struct stack_step){.at = walk->at};
	walk->end = rule->cfa == UNWIND_CFA_SIGNAL ? step_over_signal(walk)
						   : step_to_caller(walk, rule, number, noted);
	/* Of a file whose table comes nothing is guessed: it would leave out who keeps no frame pointer. */
	if (number == UNWIND_RULE_NO_MAPPING && is_in_probe(walk)) {
		walk->end = VALUE_stack_end_in_probe;
	} else if (walk->end && rule->cfa == UNWIND_CFA_NONE && number != UNWIND_RULE_NOT_READY) {
		bool guessed = guess_by_frame(walk);

		scanned = !guessed && guess_by_scan(walk, number);
		if (guessed || scanned)
			walk->end = 0;
	}
	/* Who makes a stack for a thread or a fiber puts 0 where nobody returns to. */
	if (!walk->end && !is_code_address(walk->at.ip))
		walk->end = walk->at.ip ? VALUE_stack_end_broken : VALUE_stack_end_complete;
	return scanned;
}

/* Do the words that led to the caller say the same as in the last walk? All are compared at once: that they differ is rare. */
__attribute__((no_sanitize_address)) static inline bool leads_on(struct stack_memory *memory,
								 u32 moment,
								 struct stack_memory_range *range,
								 const struct stack_step *step)
{
	u64 low = step->places[STACK_STEP_WORDS - 1], different = 0;

	if (!stack_memory_covers(memory, moment, range, low, step->places[0] + sizeof(u64) - low))
		return false;
#pragma GCC unroll 3
	for (u32 i = 0; i < STACK_STEP_WORDS; i++)
		different |=
			((const struct stack_memory_word *)step->places[i])->value ^ step->words[i];
	return !different;
}

/* As far as that is so from this step on, the last one at most. */
static u32 steps_lead_until(const struct stack_walk *walk, const struct stack_past *past, u32 from)
{
	struct stack_memory *memory = &walk->sight->memory;
	struct stack_memory_range range = {0};
	const u32 moment = walk->moment;

	while (from + 1 < STACK_PAST_STEPS && leads_on(memory, moment, &range, &past->steps[from]))
		from++;
	return from;
}

/* What next() puts for each step, until there is no room. */
static void put_steps(struct stack_walk *walk, const struct stack_step *steps, u32 count)
{
	u32 depth = walk->depth;

	for (u32 i = 0; i < count && depth < STACK_WALK_DEPTH_MAX; i++) {
		u64 address = steps[i].at.ip - !depth;

		if (walk->python && depth &&
		    python_frames_are_due(walk->python, address, steps[i + 1].at.sp)) {
			walk->depth = depth;
			put_python(walk, false);
			depth = walk->depth;
		} else {
			walk->addresses[depth++] = address;
		}
	}
	walk->depth = depth;
}

/* Goes along the last walk for as long as the stack says the same. */
static void retrace(struct stack_walk *walk)
{
	const struct stack_step *steps = walk->trace.past->steps;
	u32 from = stack_trace_find(&walk->trace, &walk->at), to;

	if (from == STACK_PAST_STEPS)
		return;
	to = steps_lead_until(walk, walk->trace.past, from);
	put_steps(walk, &steps[from], to - from);
	walk->at = steps[to].at;
	if (to + 1 == STACK_PAST_STEPS)
		walk->trace.kept = from;
	else
		stack_trace_went(&walk->trace, from, to);
}

/* As stack_walk_next(). */
static void next(struct stack_walk *walk)
{
	bool is_guess = walk->is_guess;
	u64 address;

	if (walk->depth == STACK_WALK_DEPTH_MAX) {
		walk->end = VALUE_stack_end_deep;
		return;
	}
	address = address_of(walk);
	walk->is_guess = false;
	put_code(walk, address, is_guess, step(walk));
	/* Those that belong to no call that was met come last. */
	if (walk->end && walk->python)
		put_python(walk, true);
}

bool stack_walk_next(struct stack_walk *walk)
{
	if (walk->trace.past && walk->trace.kept == STACK_PAST_STEPS && !walk->exact &&
	    !walk->is_guess)
		retrace(walk);
	next(walk);
	if (walk->end)
		stack_trace_end(&walk->trace);
	return !walk->end;
}

bool stack_walk_is_same(struct stack_walk *walk, const struct stack_past *past, u32 end)
{
	const struct stack_registers began = walk->at;
	const u32 guessed = walk->guessed, last = STACK_PAST_STEPS - 1;

	/* What is too deep is left out, so that steps are not all. */
	if (end == VALUE_stack_end_deep || past->filled != walk->space.filled ||
	    past->first > last || walk->exact || walk->is_guess ||
	    !stack_registers_are_same(&past->steps[past->first].at, &began))
		return false;
	if (steps_lead_until(walk, past, past->first) < last)
		return false;
	walk->at = past->steps[last].at;
	step(walk);
	if (walk->end == end)
		return true;
	walk->at = began;
	walk->guessed = guessed;
	walk->end = 0;
	walk->exact = walk->is_guess = false;
	return false;
}
