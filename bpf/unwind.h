/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks the stack of the current thread by tables (unwind_table.h): whole stacks of code without frame pointers. What makes it
 * quick: the stack is read page by page, and where an address led is kept by CPU.
 *
 * The verifier follows each way through a loop as long as it knows numbers: all that changes stands in the map value of the caller,
 * and searches are free of branches.
 */
#ifndef GPUPROBE_BPF_UNWIND_H
#define GPUPROBE_BPF_UNWIND_H

#include "emit.h"
#include "arch_x86_64.h"
#include "kernel_page.h"
#include "unwind_maps.h"
#include "unwind_walk.h"

/* All ones where a >= b, of numbers below 2^63. A comparison would be a branch, and clang 19 makes one of a shift that it understands:
 * the verifier would go each way of each step. */
static __always_inline u64 at_least(u64 a, u64 b)
{
	u64 below = a - b;

	__asm__ volatile("%0 s>>= 63" : "+r"(below));
	return ~below;
}

/* ---- address -> rule ---- */

/* Of the mappings of the process the last one that begins at or below the address. */
static __always_inline const struct unwind_mapping *mapping_find(const struct unwind_walk *walk,
								 u64 address)
{
	const struct unwind_mapping *mapping;
	u32 first = walk->first, index;
	u64 low = 0, count = walk->count;

#pragma unroll
	for (u32 half = UNWIND_PROCESS_MAX / 2; half; half /= 2) {
		u64 candidate = low + half, valid = at_least(count, candidate + 1);

		index = first + (u32)(candidate & valid);
		mapping = bpf_map_lookup_elem(&unwind_mappings, &index);
		if (!mapping)
			return NULL;
		low += half & valid & at_least(address, mapping->start);
	}
	index = first + (u32)low;
	mapping = bpf_map_lookup_elem(&unwind_mappings, &index);
	if (!mapping || address < mapping->start || address >= mapping->end)
		return NULL;
	return mapping;
}

static __always_inline const struct unwind_chunk *chunk_of(void *words, u32 word)
{
	u32 chunk = word / UNWIND_CHUNK_WORDS;

	return bpf_map_lookup_elem(words, &chunk);
}

static __always_inline u32 word_of(const struct unwind_chunk *chunk, u64 word)
{
	OPAQUE(word);
	return chunk->words[word & (UNWIND_CHUNK_WORDS - 1)];
}

/* Both words of a page, which userspace may be replacing. */
static __always_inline u64 page_words(const struct unwind_chunk *chunk, u64 word)
{
	OPAQUE(word);
	return *(const volatile u64 *)&chunk->words[word & (UNWIND_CHUNK_WORDS - 2)];
}

/* One step of a search among the rows of a page. */
#define NARROW(half)                                                                  \
	({                                                                            \
		u64 candidate = low + (half), valid = at_least(count, candidate + 1); \
		u64 row = word_of(chunk, first + (candidate & valid));                \
                                                                                      \
		low += (half)&valid & at_least(address, UNWIND_ROW_ADDRESS(row));     \
	})

/* The number of the rule at an address in its page. */
static __always_inline u32 row_find(const struct unwind_chunk *chunk, u64 first, u64 count,
				    u64 address)
{
	u64 low = 0;

	if (count > 64) {
		NARROW(2048);
		NARROW(1024);
		NARROW(512);
		NARROW(256);
		NARROW(128);
		NARROW(64);
	}
	NARROW(32);
	NARROW(16);
	NARROW(8);
	NARROW(4);
	NARROW(2);
	NARROW(1);
	return UNWIND_ROW_RULE(word_of(chunk, first + low));
}

/* What the tables say of an address of the process. */
static __noinline u32 rule_find(struct unwind_walk *walk, u64 address)
{
	const struct unwind_mapping *mapping;
	const struct unwind_chunk *chunk;
	u64 page, first, count;
	u32 file;
	void *words;

	if (!walk)
		return UNWIND_RULE_NONE;
	mapping = mapping_find(walk, address);
	if (!mapping)
		return UNWIND_RULE_NO_MAPPING;
	file = mapping->file;
	if (file == UNWIND_NO_TABLE)
		return UNWIND_RULE_SEARCHED;
	address -= mapping->bias;
	words = bpf_map_lookup_elem(&unwind_files, &file);
	chunk = words ? chunk_of(words, 0) : NULL;
	if (!chunk)
		return UNWIND_RULE_NOT_READY;
	page = address / UNWIND_PAGE_BYTES - chunk->words[UNWIND_FIRST_PAGE];
	if (page >= chunk->words[UNWIND_PAGE_COUNT])
		return UNWIND_RULE_NONE;
	page = UNWIND_PAGE(page);
	chunk = chunk_of(words, page);
	if (!chunk)
		return UNWIND_RULE_NONE;
	first = page_words(chunk, page);
	count = first >> 32;
	first = (u32)first;
	chunk = chunk_of(words, first);
	if (!chunk || !count)
		return UNWIND_RULE_NONE;
	return row_find(chunk, first, count, address % UNWIND_PAGE_BYTES);
}

static long mapping_found(struct task_struct *task, struct vm_area_struct *mapping,
			  u64 *of_file)
{
	*of_file = mapping->vm_file != NULL;
	return 0;
}

/* What was mapped since userspace looked: code that a program made for itself, or a file, of whose callers none is to be guessed. Where
 * another thread holds the lock of the mappings that can't be told. */
static __always_inline u32 rule_of_unknown(struct task_struct *task, u64 address)
{
	u64 of_file = 0;

	bpf_find_vma(task, address, mapping_found, &of_file, 0);
	return of_file ? UNWIND_RULE_NOT_READY : UNWIND_RULE_NO_MAPPING;
}

/* Where in the cache an address is, and what the entry is above the number of its rule. */
struct cache_place {
	u64 place, tag;
};

static __always_inline struct cache_place cache_place_of(const struct unwind_walk *walk, u64 address)
{
	u64 spread = (address ^ walk->salt) * 0x9e3779b97f4a7c15ULL;
	struct cache_place found = {spread >> (64 - UNWIND_CACHE_BITS),
				    spread << UNWIND_CACHE_BITS >> (64 - UNWIND_TAG_BITS)};

	OPAQUE(found.place);
	found.place &= UNWIND_CACHE_ENTRIES - 1;
	return found;
}

static __always_inline u32 rule_at(struct unwind_walk *walk, struct task_struct *task)
{
	/* The byte before a return address belongs to the call. */
	u64 address = walk->ip - !walk->exact, entry;
	struct cache_place found = cache_place_of(walk, address);
	struct unwind_cache *cache;
	u32 zero = 0, rule;

	cache = bpf_map_lookup_elem(&unwind_cache, &zero);
	if (!cache)
		return UNWIND_RULE_NONE;
	entry = cache->entries[found.place];
	if (entry >> 16 == found.tag && entry)
		return entry & 0xffff;
	rule = rule_find(walk, address);
	if (rule == UNWIND_RULE_NO_MAPPING) {
		walk->unmapped = 1;
		rule = rule_of_unknown(task, address);
	}
	if (rule == UNWIND_RULE_NONE)
		walk->uncovered = address;
	else if (rule != UNWIND_RULE_NOT_READY)
		cache->entries[found.place] = found.tag << 16 | (rule & 0xffff);
	return rule;
}

/* ---- rule -> caller ---- */

/* Where the kernel keeps the registers of a program, by their numbers in DWARF (struct pt_regs). */
static const volatile u8 register_places[16] = {
	offsetof(struct pt_regs, rax), offsetof(struct pt_regs, rdx), offsetof(struct pt_regs, rcx),
	offsetof(struct pt_regs, rbx), offsetof(struct pt_regs, rsi), offsetof(struct pt_regs, rdi),
	offsetof(struct pt_regs, rbp), offsetof(struct pt_regs, rsp), offsetof(struct pt_regs, r8),
	offsetof(struct pt_regs, r9),  offsetof(struct pt_regs, r10), offsetof(struct pt_regs, r11),
	offsetof(struct pt_regs, r12), offsetof(struct pt_regs, r13), offsetof(struct pt_regs, r14),
	offsetof(struct pt_regs, r15),
};

/* Any register, of the innermost frame. */
static __always_inline int register_read(struct unwind_walk *walk, struct task_struct *task, u32 number)
{
	u64 registers = bpf_task_pt_regs(task), index = number;

	OPAQUE(index);
	if (!walk->innermost)
		return -1;
	return bpf_probe_read_kernel(&walk->value, sizeof(walk->value),
				     (void *)(registers + register_places[index & 15]))
		       ? -1
		       : 0;
}

/* Sets cfa, or end. */
static __always_inline void find_cfa(struct unwind_walk *walk, struct task_struct *task, const struct unwind_rule *rule)
{
	u64 offset = (s64)rule->cfa_offset;
	u32 end = VALUE_stack_end_unreadable;

	switch (rule->cfa) {
	case UNWIND_CFA_RSP:
		walk->cfa = walk->sp + offset;
		return;
	case UNWIND_CFA_RBP:
		walk->cfa = walk->bp + offset;
		return;
	case UNWIND_CFA_RBX:
		walk->cfa = walk->bx + offset;
		return;
	case UNWIND_CFA_PLT:
		walk->cfa = walk->sp + 8 + ((walk->ip & 15) >= offset) * 8;
		return;
	case UNWIND_CFA_RSP_POINTS:
		if (!unwind_read(walk, task, walk->sp + offset)) {
			walk->cfa = walk->value + rule->words * 8;
			return;
		}
		break;
	case UNWIND_CFA_RBP_POINTS:
		if (!unwind_read(walk, task, walk->bp + offset)) {
			walk->cfa = walk->value + rule->words * 8;
			return;
		}
		break;
	case UNWIND_CFA_RBP_ELSEWHERE:
		walk->cfa = walk->bp + offset;
		return;
	case UNWIND_CFA_GOROUTINE:
		if (!goroutine_cfa(walk, task, rule))
			return;
		break;
	case UNWIND_CFA_END:
		end = VALUE_stack_end_complete;
		break;
	case UNWIND_CFA_NONE:
		end = walk->rule == UNWIND_RULE_NO_MAPPING  ? VALUE_stack_end_no_file
		      : walk->rule == UNWIND_RULE_NOT_READY ? VALUE_stack_end_not_ready
							    : VALUE_stack_end_no_table;
		break;
	default:
		if (rule->cfa >= UNWIND_CFA_INDEXED) {
			if (!register_read(walk, task, rule->cfa - UNWIND_CFA_INDEXED) &&
			    !unwind_read(walk, task, walk->sp + offset + walk->value * 8)) {
				walk->cfa = walk->value + rule->words * 8;
				return;
			}
		} else if (rule->cfa >= UNWIND_CFA_REGISTER &&
		    !register_read(walk, task, rule->cfa - UNWIND_CFA_REGISTER)) {
			walk->cfa = walk->value + offset;
			return;
		}
		end = VALUE_stack_end_unsupported;
	}
	walk->end = end;
}

/* The caller's value of a register, by its rule. 0 where it cannot be read: code that uses it for numbers has no need of it. */
static __always_inline u64 register_of_caller(struct unwind_walk *walk, struct task_struct *task, u32 how, s64 offset,
					      u64 before)
{
	if (how != UNWIND_AT_CFA && how != UNWIND_AT_RBP)
		return before;
	return unwind_read_near(walk, task, (how == UNWIND_AT_CFA ? walk->cfa : walk->bp) + offset)
		       ? 0
		       : walk->value;
}

/* The frame that the kernel makes for a signal (struct rt_sigframe) holds the registers of what it interrupted; rsp is at its
 * ucontext then. */
#define SIGNAL_RBP 120
#define SIGNAL_RBX 128
#define SIGNAL_RSP 160
#define SIGNAL_RIP 168

static __always_inline void step_over_signal(struct unwind_walk *walk, struct task_struct *task)
{
	u64 frame = walk->sp;

	walk->end = VALUE_stack_end_unreadable;
	if (unwind_read(walk, task, frame + SIGNAL_RBP))
		return;
	walk->bp = walk->value;
	if (unwind_read(walk, task, frame + SIGNAL_RBX))
		return;
	walk->bx = walk->value;
	if (unwind_read(walk, task, frame + SIGNAL_RSP))
		return;
	walk->sp = walk->value;
	if (unwind_read(walk, task, frame + SIGNAL_RIP))
		return;
	walk->ip = walk->value;
	walk->exact = 1;
	walk->end = 0;
}

static __always_inline void step_to_caller(struct unwind_walk *walk, struct task_struct *task, const struct unwind_rule *rule)
{
	u64 bp;

	find_cfa(walk, task, rule);
	if (walk->end)
		return;
	/* Stacks grow downwards. */
	if (walk->cfa <= walk->sp && rule->cfa != UNWIND_CFA_RBP_ELSEWHERE && rule->cfa != UNWIND_CFA_GOROUTINE) {
		walk->end = VALUE_stack_end_broken;
		return;
	}
	if (unwind_read_near(walk, task, walk->cfa - 8)) {
		walk->end = VALUE_stack_end_unreadable;
		return;
	}
	walk->ip = walk->value;
	if (walk->trampoline && walk->ip == walk->trampoline)
		find_original(walk, walk->cfa - 8);
	bp = register_of_caller(walk, task, rule->rbp, rule->rbp_offset, walk->bp);
	walk->bx = register_of_caller(walk, task, rule->rbx, rule->rbx_offset, walk->bx);
	walk->bp = bp;
	walk->sp = walk->cfa;
	walk->exact = 0;
}

/* ---- callers that take no more than a look ---- */

/* Is the walk at a return address, of which nothing else is to be heeded? As long as nothing but unwind_quick() is done it stays so. */
static __always_inline bool unwind_is_plain(const struct unwind_walk *walk)
{
	return !(walk->exact | walk->innermost | walk->outermost | walk->to_skip | walk->scanned |
		 walk->is_guess | walk->end);
}

/* A word of the stack, if it is in the page that was read. */
static __always_inline bool word_at_hand(const struct unwind_walk *walk, u64 address, u64 *ret_word)
{
	u64 index = address - walk->page_at;

	if (index >= ARCH_PAGE_BYTES || index % 8)
		return false;
	OPAQUE(index);
	*ret_word = walk->page[index / 8 & (ARCH_PAGE_BYTES / 8 - 1)];
	return true;
}

/* False: it is not to be had at once. */
static __always_inline bool quick_register(const struct unwind_walk *walk, u64 cfa, u32 how, s64 offset, u64 *value)
{
	if (how == UNWIND_AT_RBP)
		return false;
	return how != UNWIND_AT_CFA || word_at_hand(walk, cfa + offset, value);
}

/* What unwind_frame() does, of a plain walk whose rule was needed a moment ago and whose words are at hand: nothing is called, as nearly all
 * frames are such ones. False: it is none, and nothing has changed. */
static __always_inline bool unwind_quick(struct unwind_walk *walk, const struct unwind_cache *cache)
{
	struct cache_place found = cache_place_of(walk, walk->ip - 1);
	u64 entry = cache->entries[found.place], cfa, ip, bp = walk->bp, bx = walk->bx;
	const struct unwind_rule *rule;
	u32 number = entry & 0xffff;

	if (entry >> 16 != found.tag || !entry)
		return false;
	rule = bpf_map_lookup_elem(&unwind_rules, &number);
	if (!rule || (rule->cfa != UNWIND_CFA_RSP && rule->cfa != UNWIND_CFA_RBP))
		return false;
	cfa = (rule->cfa == UNWIND_CFA_RSP ? walk->sp : bp) + (s64)rule->cfa_offset;
	if (cfa <= walk->sp || !word_at_hand(walk, cfa - 8, &ip) || ip == walk->trampoline ||
	    !arch_is_code_address(ip) ||
	    !quick_register(walk, cfa, rule->rbp, rule->rbp_offset, &bp) ||
	    !quick_register(walk, cfa, rule->rbx, rule->rbx_offset, &bx))
		return false;
	walk->ip = ip;
	walk->sp = cfa;
	walk->bp = bp;
	walk->bx = bx;
	return true;
}

/* ---- code without tables ---- */

#define GUESS_FRAME_MAX_BYTES (64 << 10) /* a larger frame is none that is guessed */

/* Code that a program made for itself, or that no table tells of: by its frame pointer, where it has one that can be one. */
static __always_inline void guess_caller(struct unwind_walk *walk, struct task_struct *task)
{
	u64 frame = walk->bp, bp, ip;

	if (frame % 8 || frame < walk->sp || frame - walk->sp > GUESS_FRAME_MAX_BYTES ||
	    unwind_read(walk, task, frame))
		return;
	/* A caller without frame pointers has any number there. */
	bp = walk->value;
	if (unwind_read(walk, task, frame + 8))
		return;
	ip = walk->value;
	walk->cfa = frame + 16;
	if (walk->trampoline && ip == walk->trampoline) {
		find_original(walk, frame + 8);
		if (walk->end)
			return;
	} else {
		if (call_before(walk, task, ip) == CALL_NONE)
			return;
		walk->ip = ip;
	}
	walk->bp = bp;
	walk->sp = walk->cfa;
	walk->exact = 0;
	walk->guessed++;
	walk->is_guess = 1;
	walk->end = 0;
}

#define SCAN_MAX_WORDS 256

/* Could it be the frame pointer of a caller? */
static __always_inline bool is_frame(const struct unwind_walk *walk, u64 value)
{
	return value % 8 == 0 && value > walk->cfa && value - walk->cfa < GUESS_FRAME_MAX_BYTES;
}

/* What was found is the caller. Code without frame pointers saves rbp first of all, or behind rbx, as oneDNN's does. */
static __always_inline void scan_found(struct unwind_walk *walk, struct task_struct *task)
{
	u64 first;

	if (walk->cfa - 8 > walk->sp && !unwind_read(walk, task, walk->cfa - 16)) {
		first = walk->value;
		if (is_frame(walk, first)) {
			walk->bp = first;
		} else if (!unwind_read(walk, task, walk->cfa - 24) && is_frame(walk, walk->value)) {
			walk->bp = walk->value;
			walk->bx = first;
		}
	}
	walk->sp = walk->cfa;
	walk->exact = walk->end = walk->scanned = 0;
	walk->guessed++;
	walk->is_guess = 1;
}

/* Code that has no frame pointer either: is the next word of the stack the return address, in code of which the tables know how to go
 * on? Those of calls that are over stand there too, but farther in: of those that are not over the first one counts. A step of the
 * walk looks at one word, since the verifier allows no more calls within each other than a walk has. */
static __noinline int scan_for_caller(struct unwind_walk *walk, struct task_struct *task)
{
	u64 place, address;
	/* What was made at run time no file calls but through a pointer. */
	int least = walk && walk->rule == UNWIND_RULE_NO_MAPPING ? CALL_DIRECT : CALL_NONE;

	if (!walk)
		return 0;
	place = (walk->sp + 7 & ~7ULL) + (u64)(walk->scanned - 1) * 8;
	if (walk->scanned++ > SCAN_MAX_WORDS || unwind_read(walk, task, place)) {
		walk->end = walk->scan_end;
		return 0;
	}
	address = walk->value;
	walk->cfa = place + 8;
	if (walk->trampoline && address == walk->trampoline) {
		find_original(walk, place);
		if (!walk->end)
			scan_found(walk, task);
	} else if (arch_is_code_address(address) &&
		   rule_find(walk, address - 1) >= UNWIND_RULES_FIXED &&
		   call_before(walk, task, address) > least) {
		walk->ip = address;
		scan_found(walk, task);
	}
	return 0;
}

static __noinline int unwind_frame(struct unwind_walk *walk, struct task_struct *task)
{
	const struct unwind_rule *rule;
	bool guesses;
	u32 number;

	if (!walk || walk->end)
		return 0;
	if (walk->outermost) {
		walk->end = VALUE_stack_end_complete;
		return 0;
	}
	number = rule_at(walk, task);
	walk->rule = number;
	walk->unmapped |= number == UNWIND_RULE_NO_MAPPING;
	rule = bpf_map_lookup_elem(&unwind_rules, &number);
	if (!rule) {
		walk->end = VALUE_stack_end_unsupported;
		return 0;
	}
	if (rule->cfa == UNWIND_CFA_SIGNAL)
		step_over_signal(walk, task);
	else
		step_to_caller(walk, task, rule);
	/* Of a file whose table comes nothing is guessed: it would leave out who keeps no frame pointer. */
	guesses = rule->cfa == UNWIND_CFA_NONE && number != UNWIND_RULE_NOT_READY;
	if (walk->end && guesses)
		guess_caller(walk, task);
	if (walk->end && guesses) {
		walk->scan_end = walk->end;
		walk->scanned = 1;
		walk->end = 0;
	}
	/* Who makes a stack for a thread or a fiber puts 0 where nobody returns to. */
	if (!walk->end && !walk->scanned && !arch_is_code_address(walk->ip))
		walk->end = walk->ip ? VALUE_stack_end_broken : VALUE_stack_end_complete;
	walk->innermost = 0;
	return 0;
}

/* ---- the walk ---- */

/* A thread that has executed nothing yet has no caller: what stands on its stack is the function that it will begin with, or nothing
 * at all. Whoever makes it as by a fork returns from there. */
static __always_inline bool is_outermost(struct unwind_walk *walk, struct task_struct *task, const struct pt_regs *registers)
{
	enum arch_beginning beginning = arch_beginning_of(registers);

	if (beginning != ARCH_PERHAPS_ON_STACK_OF_ITS_OWN)
		return beginning == ARCH_ON_STACK_OF_ITS_OWN;
	return unwind_read(walk, task, walk->sp) || call_before(walk, task, walk->value) == CALL_NONE;
}

/* in_user: the thread was interrupted in code of its own, so it is where its registers say. False: the process has no tables. */
static __always_inline bool unwind_begin(struct unwind_walk *walk, struct task_struct *task, u32 pid, u32 to_skip, bool in_user)
{
	const struct unwind_space *space = bpf_map_lookup_elem(&unwind_spaces, &pid);
	const struct pt_regs *registers = (void *)bpf_task_pt_regs(task);
	const struct uprobe_task *probed = task->utask;

	if (!space || !take_space(walk, space))
		return false;
	walk->ip = registers->rip;
	walk->sp = registers->rsp;
	walk->bp = registers->rbp;
	walk->bx = registers->rbx;
	walk->page_at = PAGE_NONE;
	walk->instance = probed ? (u64)probed->return_instances : 0;
	walk->trampoline = probed ? arch_trampoline(task) : 0;
	walk->hash = pid;
	walk->depth = 0;
	walk->to_skip = to_skip;
	walk->exact = walk->innermost = 1;
	walk->end = walk->guessed = walk->is_guess = walk->puts_guess = 0;
	walk->guesses[0] = walk->guesses[1] = 0;
	walk->uncovered = walk->unmapped = 0;
	walk->scanned = 0;
	walk->outermost = is_outermost(walk, task, registers);
	leave_kernel_pages(walk, task, probed, in_user);
	return true;
}

#endif
