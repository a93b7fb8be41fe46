/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that are off their CPU: one place each, made beforehand, since the scheduler calls with its lock held. */
#ifndef GPUPROBE_BPF_OFF_CPU_H
#define GPUPROBE_BPF_OFF_CPU_H

#include "types.h"

#define OFF_CPU_THREADS_MAX 65536

struct waking {
	u64 ts; /* 0: none */
	u32 pid, tid;
	u32 by;	  /* VALUE_woken_by_* */
	u32 name; /* text id; 0: it is a thread of a target, or not known */
};

/* What a thread waits for, as its system call says it. */
struct waited {
	u64 address; /* of a futex */
	u32 text;    /* text id of a descriptor: userspace says what it is */
	u32 fd;	     /* ~0: none */
	u32 holder;  /* the thread that has the lock; 0: not known */
	u32 pad;
};

/* Changed as a whole. */
union waiting_stack {
	struct {
		u32 id, end; /* struct stack_taken */
	};
	u64 both;
};

/* A file that a thread waits for, or a thread of no target. */
struct waited_key {
	u64 file, inode; /* of several: of all of them */
	u32 pid, fd;
};

/* Most threads wait for the same file again. */
struct waited_last {
	struct waited_key key;
	u32 text, pad;
};

struct off_cpu {
	u64 since_ns; /* 0: it is on a CPU */
	u64 switches; /* how often it had left a CPU by then */
	struct waking woken;
	struct waking early; /* while it was still on its CPU, on its way to sleep */
	struct waited waited;
	struct waited_last waited_last; /* written by the thread itself alone */
	u32 instead_pid, instead_tid; /* who had its CPU, where it was preempted, */
	u32 instead;		      /* and the text id of its name */
	u32 name;
	u64 ran_before; /* how many had left that CPU then, see ran.h */
	union waiting_stack stack; /* it counts when the wait is recorded: most are too short */
	u8 reason, before;
	u16 cpu; /* that it left, unless it was off before */
	u32 pid; /* whose thread it is; set with since_ns */
	/* What was too short to be recorded. */
	u64 short_waits, short_ns, short_ready_ns;
	u64 short_first_ns, short_last_ns; /* when the first began and the last ended */
	u8 throttled;
	u8 seen;      /* it was seen to leave its CPU */
	u64 found_ns; /* since_ns of a wait in which it was found right before the window was closed */
};

#ifdef MAPS_DEFINE
#define MAP
#else
#define MAP extern
#endif

MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, OFF_CPU_THREADS_MAX);
	__type(key, u32); /* tid as the host sees it */
	__type(value, struct off_cpu);
} off_cpu_threads SEC(".maps");

MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WAITED_MAX);
	__type(key, struct waited_key);
	__type(value, u32);
} waited_files SEC(".maps");

#undef MAP

/* How often the thread has left a CPU. */
static __always_inline u64 switches_of(const struct task_struct *task)
{
	return task->nvcsw + task->nivcsw;
}

#endif
