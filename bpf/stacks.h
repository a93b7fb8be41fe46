/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call stacks of targets as facts: each is sent once, and records refer to it by its id. By unwind tables (unwind.h) of processes
 * that have them, else by frame pointers: code that keeps none cuts that chain. Who looks for names takes the first address as that
 * of an instruction and one byte off the others, which are return addresses: a stack that begins with a return address begins with
 * that byte.
 */
#ifndef GPUPROBE_BPF_STACKS_H
#define GPUPROBE_BPF_STACKS_H

#include "emit.h"
#include "arch_x86_64.h"
#include "python.h"
#include "unwind.h"

/* A stack fact as it is sent, and where it is built: of those that may interrupt each other every program has its own. */
struct stack_scratch {
	struct record_stack fact;
	u64 addresses[STACK_DEPTH_MAX];
	struct unwind_walk walk;
	struct python_walk python;
	u32 interrupts; /* the program may interrupt any other one */
	u32 in_user;	/* and has interrupted the thread in code of its own, not in the kernel */
};

struct stack_hash {
	const u64 *addresses;
	u64 hash;
	u32 first; /* behind so many of the addresses */
	u32 depth; /* up to which they went into it */
};

/* The hash of a stack that goes on with an address. */
static __always_inline u64 stack_hash_add(u64 hash, u64 address)
{
	hash = (hash ^ address) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 29;
}

/* Code that uses the frame pointer for numbers leads to what is no address: there the chain ends. */
static long stack_hash_next(u32 index, struct stack_hash *state)
{
	index += state->first;
	if (index >= STACK_DEPTH_MAX || !arch_is_code_address(state->addresses[index]))
		return 1;
	state->depth = index + 1;
	state->hash = stack_hash_add(state->hash, state->addresses[index]);
	return 0;
}

/* Ids are unique without a counter that all CPUs share. Who interrupts a program may do so in the middle of its counting, so it counts
 * by itself, from the other end. 0: this CPU has given all it has. */
static __always_inline u32 stack_id_new(bool interrupts)
{
	struct counters *mine = counters_get();
	u32 number;

	if (!mine || mine->stacks + mine->sampled_stacks >= STACK_IDS_PER_CPU - 1)
		return 0;
	number = interrupts ? STACK_IDS_PER_CPU - (u32)++mine->sampled_stacks
			    : (u32)++mine->stacks;
	return number | bpf_get_smp_processor_id() % STACK_CPUS_MAX << STACK_ID_BITS;
}

/* Notes and sends the stack in scratch; what was not sent is forgotten: the next one of its kind tries again. */
static __always_inline u32 stack_send(struct stack_scratch *scratch, u64 hash, u64 pid_tgid,
				      u32 depth, u32 end, u32 guessed)
{
	u64 size_bytes = sizeof(scratch->fact) + (u64)depth * sizeof(u64);
	u32 id = stack_id_new(scratch->interrupts), *known;

	/* Asked where the verifier sees it, whatever the compiler knows. */
	__asm__ volatile("" : "+r"(size_bytes));
	if (!id || size_bytes > sizeof(*scratch) ||
	    bpf_map_update_elem(&stacks, &hash, &id, BPF_NOEXIST)) {
		/* Another CPU may have been first with the same one. */
		known = bpf_map_lookup_elem(&stacks, &hash);
		if (!known)
			count_loss(VALUE_loss_reason_stacks_full);
		return known ? *known : 0;
	}
	fill_header(&scratch->fact.header, size_bytes, KIND_stack, bpf_ktime_get_ns(), 0, pid_tgid,
		    0);
	scratch->fact.id = id;
	scratch->fact.depth = depth;
	scratch->fact.end = end;
	scratch->fact.guessed = guessed;
	scratch->fact.guessed_first = guessed ? scratch->walk.guesses[0] : 0;
	scratch->fact.guessed_rest = guessed ? scratch->walk.guesses[1] : 0;
	if (try_emit(&scratch->fact.header, size_bytes))
		return id;
	bpf_map_delete_elem(&stacks, &hash);
	return 0;
}

_Static_assert((STACK_DEPTH_MAX & (STACK_DEPTH_MAX + 1)) == 0, "used as a mask");

/* ---- by tables ---- */

#define UNWIND_ASKED_BYTES 64 /* code of which one address is asked for */
/* A frame each, and words where a caller is looked for. */
#define STACK_WALK_STEPS (STACK_DEPTH_MAX + 2 + 2 * SCAN_MAX_WORDS)

struct stack_walk {
	struct stack_scratch *scratch;
	struct task_struct *task;
};

static __always_inline void stack_put(struct stack_scratch *scratch, u64 address)
{
	struct unwind_walk *walk = &scratch->walk;
	u64 depth = walk->depth;

	OPAQUE(depth);
	walk->guesses[depth >> 6 & 1] |= (u64)walk->puts_guess << (depth & 63);
	walk->puts_guess = 0;
	scratch->addresses[depth & STACK_DEPTH_MAX] = address;
	walk->depth++;
	walk->hash = stack_hash_add(walk->hash, address);
}

/* Frames of Python that belong to no call of its loop that was met come last. */
static __always_inline long stack_walk_ends(struct stack_scratch *scratch)
{
	struct python_walk *python = &scratch->python;

	if (!scratch->walk.end)
		return 0;
	if (!reads_python || python->next >= python->count)
		return 1;
	python->copying = PYTHON_COPY_ALL;
	return 0;
}

static __always_inline void stack_put_python(struct stack_scratch *scratch)
{
	u64 address;

	if (scratch->walk.depth >= STACK_DEPTH_MAX) {
		scratch->walk.end = VALUE_stack_end_deep;
		scratch->python.count = 0;
		scratch->python.copying = PYTHON_COPY_NONE;
		return;
	}
	address = python_get(&scratch->python);
	stack_put(scratch, address);
}

/* An address of code that the walk came to and went on from. That of the loop of Python's interpreter is left out: the frames of Python
 * that it ran stand there. But not where callers of a function begin, who need its caller's. */
static __always_inline void stack_put_code(struct stack_scratch *scratch, u64 address)
{
	struct unwind_walk *walk = &scratch->walk;

	if (reads_python && !walk->end && !walk->scanned &&
	    python_is_due(&scratch->python, address, walk->sp)) {
		scratch->python.copying = PYTHON_COPY_CALL;
		if (walk->depth || !walk->skipped)
			return;
	}
	stack_put(scratch, address);
}

#define STACK_QUICK_FRAMES 6 /* of a step at most: a step takes as long as several of them */

/* Frames that take no more than a look. A call of its own, for the room that it needs on the program's stack. */
static __noinline int stack_walk_quickly(struct stack_scratch *scratch)
{
	const struct unwind_cache *cache;
	u32 zero = 0;

	cache = bpf_map_lookup_elem(&unwind_cache, &zero);
	if (!scratch || !cache || !unwind_is_plain(&scratch->walk))
		return 0;
	for (u32 i = 0; i < STACK_QUICK_FRAMES; i++) {
		u64 address = scratch->walk.ip;

		if (scratch->walk.depth >= STACK_DEPTH_MAX ||
		    !unwind_quick(&scratch->walk, cache))
			return 0;
		stack_put_code(scratch, address);
		if (reads_python && scratch->python.copying)
			return 0;
	}
	return 0;
}

static long stack_walk_next(u32 index, struct stack_walk *state)
{
	struct stack_scratch *scratch = state->scratch;
	struct unwind_walk *walk = &scratch->walk;
	struct task_struct *task = state->task;
	u64 address;

	if (reads_python && scratch->python.copying) {
		for (u32 i = 0; i < STACK_QUICK_FRAMES && scratch->python.copying; i++)
			stack_put_python(scratch);
		return stack_walk_ends(scratch);
	}
	if (walk->scanned) {
		scan_for_caller(walk, task);
		return stack_walk_ends(scratch);
	}
	if (walk->to_skip) {
		walk->to_skip--;
		unwind_frame(walk, task);
		return stack_walk_ends(scratch);
	}
	stack_walk_quickly(scratch);
	if (reads_python && scratch->python.copying)
		return 0;
	if (walk->depth >= STACK_DEPTH_MAX) {
		walk->end = VALUE_stack_end_deep;
		return 1;
	}
	address = walk->ip;
	/* Where a signal struck, or the thread left its program, is no return address, but looked at like one. */
	if (walk->exact && (!walk->innermost || walk->depth))
		address++;
	walk->puts_guess = walk->is_guess;
	walk->is_guess = 0;
	unwind_frame(walk, task);
	stack_put_code(scratch, address);
	return stack_walk_ends(scratch);
}

/* It may have mapped a file since userspace looked. */
static __always_inline void ask_for_code(u32 pid)
{
	struct unwind_space *space = bpf_map_lookup_elem(&unwind_spaces, &pid);

	if (!space || space->told)
		return;
	space->told = 1;
	tell_userspace(PROCESS_UNKNOWN_CODE, pid, 0);
}

/* Addresses that are in scratch already, and their hash. */
struct stack_inner {
	u32 depth;
	u64 hash; /* begun with the process */
};

/* Its rules can be told by its instructions; until then stacks end there, or a caller is guessed. */
static __always_inline void ask_for_rules(u32 pid, u64 address)
{
	/* What was not answered is asked again, a second later. */
	u64 name = stack_hash_add(stack_hash_add(pid, bpf_ktime_get_ns() >> 30),
				  address / UNWIND_ASKED_BYTES);
	u32 place = name >> 32 & (UNWIND_ASKED_MAX - 1);
	u64 *asked = bpf_map_lookup_elem(&unwind_asked, &place);

	if (!asked || *asked == name)
		return;
	*asked = name;
	tell_userspace_address(PROCESS_UNCOVERED_CODE, pid, address);
}

/* Of one that is recorded; end: enum stack_end, 0: it was not walked by tables. */
static __always_inline void stack_count(u32 end)
{
	struct counters *mine = counters_get();

	if (!mine || !end)
		return;
	__sync_fetch_and_add(&mine->walked_stacks, 1);
	if (end != VALUE_stack_end_complete && end != VALUE_stack_end_ended)
		__sync_fetch_and_add(&mine->cut_stacks[end & (STACK_ENDS_MAX - 1)], 1);
}

/* False: the process has no tables. Else the stack is in scratch, its hash and how it ends in the walk; the to_skip innermost frames
 * are left out. */
static __always_inline bool stack_walk_of(struct task_struct *task, struct stack_scratch *scratch,
					  u32 pid, u32 to_skip, struct stack_inner inner)
{
	struct stack_walk state = {scratch, task};
	struct unwind_walk *walk;

	if (!walks_by_tables || !unwind_begin(&scratch->walk, state.task, pid, to_skip, scratch->in_user))
		return false;
	if (reads_python)
		python_take(&scratch->python, task, pid, scratch->interrupts);
	scratch->walk.skipped = to_skip;
	scratch->walk.depth = inner.depth;
	scratch->walk.hash = inner.hash;
	bpf_loop(STACK_WALK_STEPS, stack_walk_next, &state, 0);
	walk = &scratch->walk;
	if (!walk->end)
		walk->end = walk->scanned ? walk->scan_end : VALUE_stack_end_deep;
	if (walk->unmapped)
		ask_for_code(pid);
	if (walk->uncovered)
		ask_for_rules(pid, walk->uncovered);
	if (walk->end != VALUE_stack_end_complete && arch_is_ending((void *)bpf_task_pt_regs(state.task)))
		walk->end = VALUE_stack_end_ended;
	/* Later it may be known better how the same addresses end. */
	walk->hash = stack_hash_add(walk->hash, (u64)walk->guessed << 8 | walk->end);
	return true;
}

static __always_inline bool stack_walk(struct stack_scratch *scratch, u32 pid, u32 to_skip,
				       struct stack_inner inner)
{
	return stack_walk_of(bpf_get_current_task_btf(), scratch, pid, to_skip, inner);
}

/* The id of the stack that a walk has left in scratch; 0: it has no frame, or there is no room. */
static __always_inline u32 stack_walked(struct stack_scratch *scratch, u64 hash, u64 pid_tgid)
{
	u32 depth = scratch->walk.depth & STACK_DEPTH_MAX, *known;

	if (!depth)
		return 0;
	known = bpf_map_lookup_elem(&stacks, &hash);
	return known ? *known
		     : stack_send(scratch, hash, pid_tgid, depth, scratch->walk.end,
				  scratch->walk.guessed);
}

/* ---- by frame pointers ---- */

/* Into scratch; the hash. */
static __always_inline u64 stack_chain(void *context, struct stack_scratch *scratch, u32 pid,
				       u32 *ret_depth)
{
	struct stack_hash state = {.addresses = scratch->addresses, .hash = pid};
	long size = bpf_get_stack(context, scratch->addresses, sizeof(scratch->addresses),
				  BPF_F_USER_STACK);

	*ret_depth = 0;
	if (size <= 0)
		return 0;
	bpf_loop((u32)size / sizeof(u64), stack_hash_next, &state, 0);
	*ret_depth = state.depth;
	return state.hash;
}

/* A stack as a record refers to it. */
struct stack_taken {
	u32 id;	 /* 0: there is none, or no room for it */
	u32 end; /* enum stack_end; 0: it was not walked by tables */
};

/* The stack of the current thread. Behind inner, but where the process has no tables: then these are left out. Who keeps it counts it. */
static __always_inline struct stack_taken stack_take_uncounted(void *context, struct stack_scratch *scratch,
							       u64 pid_tgid, struct stack_inner inner)
{
	u32 pid = pid_tgid >> 32, depth, end = 0, guessed = 0, *known;
	u64 hash;

	if (stack_walk(scratch, pid, 0, inner)) {
		hash = scratch->walk.hash;
		depth = scratch->walk.depth;
		end = scratch->walk.end;
		guessed = scratch->walk.guessed;
	} else {
		hash = stack_chain(context, scratch, pid, &depth);
	}
	/* No larger, but the verifier does not know it. */
	depth &= STACK_DEPTH_MAX;
	if (!depth)
		return (struct stack_taken){.end = end};
	known = bpf_map_lookup_elem(&stacks, &hash);
	return (struct stack_taken){known ? *known : stack_send(scratch, hash, pid_tgid, depth, end, guessed), end};
}

/* The id of a stack that is recorded now. */
static __always_inline u32 stack_take_behind(void *context, struct stack_scratch *scratch,
					     u64 pid_tgid, struct stack_inner inner)
{
	struct stack_taken taken = stack_take_uncounted(context, scratch, pid_tgid, inner);

	stack_count(taken.end);
	return taken.id;
}

static __always_inline u32 stack_take(void *context, struct stack_scratch *scratch, u64 pid_tgid)
{
	return stack_take_behind(context, scratch, pid_tgid,
				 (struct stack_inner){.hash = pid_tgid >> 32});
}

/* The stack of who called the function at whose entry this is. */
struct caller_stack {
	u64 caller; /* the return address */
	u64 hash;
	u32 depth;   /* addresses in scratch, */
	u32 skipped; /* behind so many */
	u32 end;     /* enum stack_end */
	u32 guessed;
};

/*
 * By frame pointers: there the chain leaves out who called the function, whose frame is not linked yet; the byte before caller
 * becomes the first address. Kernels from 6.11 on know the caller too, where the function begins with `push %rbp`.
 */
static __always_inline void stack_chain_of_caller(void *context, struct stack_scratch *scratch,
						  u32 pid, struct caller_stack *stack)
{
	long size = bpf_get_stack(context, scratch->addresses + 1,
				  sizeof(scratch->addresses) - sizeof(u64), BPF_F_USER_STACK | 1);
	struct stack_hash state = {.addresses = scratch->addresses, .hash = pid};
	u32 depth = 1;

	scratch->addresses[0] = stack->caller - 1;
	if (size > 0 && size < (long)sizeof(scratch->addresses)) {
		depth += (u32)size / sizeof(u64);
		stack->skipped = scratch->addresses[1] == stack->caller;
	}
	if (stack->skipped)
		scratch->addresses[1] = stack->caller - 1;
	state.first = stack->skipped;
	bpf_loop(depth - stack->skipped, stack_hash_next, &state, 0);
	stack->depth = state.depth > state.first ? state.depth - state.first : 0;
	stack->hash = state.hash;
}

/* stack->caller is given. The function itself is left out. */
static __always_inline void stack_of_caller(void *context, struct stack_scratch *scratch, u32 pid,
					    struct caller_stack *stack)
{
	stack->skipped = stack->end = stack->guessed = 0;
	if (stack_walk(scratch, pid, 1, (struct stack_inner){.hash = pid})) {
		scratch->addresses[0]--;
		stack->hash = scratch->walk.hash;
		stack->depth = scratch->walk.depth;
		stack->end = scratch->walk.end;
		stack->guessed = scratch->walk.guessed;
		stack_count(stack->end);
	} else {
		stack_chain_of_caller(context, scratch, pid, stack);
	}
}

/* Its id, by what stack_of_caller() said; 0: there is no room for it. */
static __always_inline u32 stack_of_caller_id(void *context, struct stack_scratch *scratch,
					      u64 pid_tgid, const struct caller_stack *stack)
{
	u64 hash = stack->hash;
	u32 *known = bpf_map_lookup_elem(&stacks, &hash), depth = stack->depth;

	if (known)
		return *known;
	if (stack->skipped && bpf_get_stack(context, scratch->addresses, sizeof(scratch->addresses),
					    BPF_F_USER_STACK | 1) <= 0)
		return 0;
	scratch->addresses[0] = stack->caller - 1;
	return depth && depth <= STACK_DEPTH_MAX
		       ? stack_send(scratch, hash, pid_tgid, depth, stack->end, stack->guessed)
		       : 0;
}

#endif
