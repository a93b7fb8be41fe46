/* SPDX-License-Identifier: MIT */
/*
 * The frames of Python of the calling thread, with the lock of the interpreter or without it: its own chain of frames and the code objects in
 * it stay as they are while it is here. What bpf/python.h does from outside. Where a word misleads they end, and the last one says so.
 */
#ifndef GPUPROBE_GPU_PYTHON_FRAMES_H
#define GPUPROBE_GPU_PYTHON_FRAMES_H

#include "code_objects.h"

#define PYTHON_FRAMES_MAX 127U

/* Innermost first. */
struct python_frames {
	u32 count;
	u32 next; /* the first that is not in the stack yet */
	struct python_extent loop,
		loop_cold; /* of the process; empty where that is not what tells of calls */
	u64 words[PYTHON_FRAMES_MAX]; /* PYTHON_FRAME_OF() */
	u64 places
		[PYTHON_FRAMES_MAX]; /* of the first one of each call of the interpreter's loop: where that is on the C stack; of others 0 */
};

/* past: of the thread, with the frames that were read along it the last time; NULL: none. Are they the same? Then they were left as they are. */
bool python_frames_read(struct python_frames *frames, const struct python_reader *reader,
			struct python_past *past);

static inline bool python_frames_is_within(const struct python_extent *extent, u64 address)
{
	return address - extent->start < extent->end - extent->start;
}

/* Do the next ones belong to the call that is left at this return address, so that the C stack goes on at sp? */
static inline bool python_frames_are_due(const struct python_frames *frames, u64 address, u64 sp)
{
	if (frames->next >= frames->count)
		return false;
	/* A return address may be where the next function begins. */
	if (frames->loop.end)
		return python_frames_is_within(&frames->loop, address - 1) ||
		       python_frames_is_within(&frames->loop_cold, address - 1);
	return frames->places[frames->next] < sp;
}

/* Is the next one the last of those? */
static inline bool python_frames_end_call(const struct python_frames *frames)
{
	return frames->next + 1 >= frames->count || frames->places[frames->next + 1];
}

#endif
