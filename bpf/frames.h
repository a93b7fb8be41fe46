/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The open calls of one thread, paired by stack pointer. Pure logic: also compiled natively by
 * tests/unit/test_frames.c, so it calls no BPF helper; the includer provides u32 and u64.
 *
 * A call is known by the stack pointer at its first instruction (where its return address lies).
 * The stack grows down, so of the open calls of a thread an inner one has a smaller sp than an
 * outer one, and at the entry of a new call at sp every frame with a smaller sp is gone: longjmp or
 * an exception left it without a return. A frame with an equal sp is either a tail caller of the new
 * call (it returns with it, through the same hijacked slot), or was left by longjmp and its slot used
 * again: what stands in the slot tells which.
 *
 * This order holds on one stack only. Calls that are not on the thread's home stack (fibers, alternate signal
 * stacks) are kept apart, in no order, and found by their exact sp: struct away_frames.
 */
#ifndef GPUPROBE_BPF_FRAMES_H
#define GPUPROBE_BPF_FRAMES_H

/* The kernel keeps at most 64 hijacked returns a thread and drops those beyond. */
#define FRAMES_MAX 64

struct frame {
	u64 sp; /* at the first instruction */
	u64 ts;
	u32 probe;
	u32 stack; /* its id; 0: none was taken */
};

struct frames {
	u32 depth;
	/* Returns still to come from calls that were replaced by a tail call among functions in a
	 * circle: they find no frame, which is no loss. */
	u32 ghosts;
	struct frame items[FRAMES_MAX];
};

/* index is below FRAMES_MAX already; the mask, hidden from the compiler's knowledge of that, shows
 * the verifier so after the pointer arithmetic was moved about. */
static inline __attribute__((always_inline)) struct frame *frames_at(struct frames *frames,
								     u32 index)
{
	__asm__ volatile("" : "+r"(index));
	return &frames->items[index & (FRAMES_MAX - 1)];
}

/* The innermost frame, NULL when none is open. */
static inline __attribute__((always_inline)) struct frame *frames_top(struct frames *frames)
{
	u32 top = frames->depth - 1;

	return top < FRAMES_MAX ? frames_at(frames, top) : (void *)0;
}

static inline __attribute__((always_inline)) void frames_pop(struct frames *frames)
{
	if (frames->depth)
		frames->depth--;
}

/* Is the innermost frame gone, now that a call is entered (or returned from) at sp? slot_hijacked:
 * the slot at sp holds the return trampoline, so a frame with the same sp is a tail caller and
 * lives. */
static inline __attribute__((always_inline)) bool frames_top_is_dead(struct frames *frames, u64 sp,
								     bool slot_hijacked)
{
	struct frame *top = frames_top(frames);

	return top && (top->sp < sp || (top->sp == sp && !slot_hijacked));
}

/* True when the function is open already at this sp: it jumped to its own start (or to a function
 * that jumped back): one return will end both. */
static inline __attribute__((always_inline)) bool frames_is_open_at(struct frames *frames, u64 sp,
								    u32 probe)
{
	for (u32 i = 0; i < FRAMES_MAX; i++) {
		u32 index = frames->depth - 1 - i;

		if (index >= FRAMES_MAX || frames_at(frames, index)->sp != sp)
			return false;
		if (frames_at(frames, index)->probe == probe)
			return true;
	}
	return false;
}

/* False when FRAMES_MAX calls are open. */
static inline __attribute__((always_inline)) bool frames_push(struct frames *frames, u64 sp, u64 ts,
							      u32 probe, u32 stack)
{
	u32 depth = frames->depth;
	struct frame *frame;

	if (depth >= FRAMES_MAX)
		return false;
	frame = frames_at(frames, depth);
	frame->sp = sp;
	frame->ts = ts;
	frame->probe = probe;
	frame->stack = stack;
	frames->depth = depth + 1;
	return true;
}

/* What `ret n` takes off the stack at most, for a frame to be found by the sp that it leaves. */
#define FRAMES_POPPED_MAX 128

/* One step of a search from the innermost frame outwards, for that of a call of probe that is returned from with sp
 * as if it had taken nothing but its return address off the stack; start with *ret_sp = sp. If no frame has that sp,
 * the call did `ret n`: then it is the outermost of those below. False: *ret_sp is that of the frame, or nobody's. */
static inline __attribute__((always_inline)) bool frames_search_return(struct frames *frames,
								       u32 step, u64 sp, u32 probe,
								       u64 *ret_sp)
{
	u32 index = frames->depth - 1 - step;
	struct frame *frame;

	if (index >= FRAMES_MAX)
		return false;
	frame = frames_at(frames, index);
	if (frame->sp > sp)
		return false;
	if (frame->probe != probe || sp - frame->sp > FRAMES_POPPED_MAX)
		return true;
	*ret_sp = frame->sp;
	return frame->sp != sp;
}

#define AWAY_FRAMES_MAX 32

struct away_frames {
	u32 count;
	u32 pad;
	struct frame items[AWAY_FRAMES_MAX]; /* free: sp 0 */
};

static inline __attribute__((always_inline)) struct frame *away_at(struct away_frames *frames, u32 index)
{
	__asm__ volatile("" : "+r"(index));
	return &frames->items[index & (AWAY_FRAMES_MAX - 1)];
}

#define AWAY_NONE 0xffffffffu

/* One step of a search through all of them, index after index; start with best AWAY_NONE. Finds the frame at
 * sp of probe. */
static inline __attribute__((always_inline)) void away_search(struct away_frames *frames, u32 index,
							      u64 sp, u32 probe, u32 *best)
{
	struct frame *frame = away_at(frames, index);

	if (frame->sp == sp && frame->probe == probe)
		*best = index;
}

/* The same for the place of a new frame: that of the same sp (its call is gone, or it would still hold the
 * slot), else a free one, else the oldest. The caller ends what it held (sp not 0). */
static inline __attribute__((always_inline)) void away_search_place(struct away_frames *frames,
								    u32 index, u64 sp, u32 *best)
{
	struct frame *frame = away_at(frames, index), *old;

	if (*best >= AWAY_FRAMES_MAX) {
		*best = index;
		return;
	}
	old = away_at(frames, *best);
	if (old->sp == sp)
		return;
	if (frame->sp == sp || (old->sp && (!frame->sp || frame->ts < old->ts)))
		*best = index;
}

#endif
