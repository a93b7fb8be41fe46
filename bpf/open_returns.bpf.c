/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The return addresses on the stacks of targets that still lead to the kernel's return trampoline, for userspace to
 * put back once nothing is probed any more: a frame stays hijacked for the rest of its life otherwise, and an exception
 * through it ends the target.
 */
#include "returns.h"

struct find_frame {
	struct frames *frames;
	u64 sp;
	bool found;
};

static long compare_frame(u32 index, struct find_frame *query)
{
	query->found = frames_at(query->frames, index)->sp == query->sp;
	return query->found;
}

struct write_returns {
	struct return_walk walk;
	struct seq_file *seq;
	u32 pid, tid;
	struct frames *frames; /* NULL: all that the kernel knows are to be put back */
};

static long write_return(u32 index, struct write_returns *context)
{
	struct find_frame query = {.frames = context->frames};
	struct hijacked_return record = {.pid = context->pid, .tid = context->tid};

	if (!returns_next(&context->walk))
		return 1;
	query.sp = context->walk.slot;
	/* Another tool's are its own business. */
	if (query.frames) {
		bpf_loop(FRAMES_MAX, compare_frame, &query, 0);
		if (!query.found)
			return 0;
	}
	record.slot = context->walk.slot;
	record.address = context->walk.address;
	record.trampoline = context->walk.trampoline;
	bpf_seq_write(context->seq, &record, sizeof(record));
	return 0;
}

/* Read after detaching. A thread that runs while it is read may change the list: its slots hold only while it is
 * stopped. */
SEC("iter/task")
int hijacked_returns(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct write_returns returns = {.seq = context->meta->seq};
	struct thread_state *state;

	if (!task)
		return 0;
	returns.pid = task->tgid;
	returns.tid = task->pid;
	/* What a child inherited from the thread that forked it is in no state of its own. */
	if (!is_heir(task->tgid)) {
		if (!is_target(task->tgid))
			return 0;
		state = thread_state_find(task);
		if (!state || !state->frames.depth)
			return 0;
		returns.frames = &state->frames;
	}
	returns_begin(&returns.walk, task);
	bpf_loop(RETURNS_MAX, write_return, &returns, 0);
	return 0;
}
