/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What code threads ran while a GPU was idle: the time is exact, and is shared out by the samples of that thread in such times; of a thread without
 * samples it is told by what it launched next.
 * Where waits are not recorded (any more) it is not known when a thread ran: there it has run for as long as its samples stand for, and the rest, of the sort
 * WHY_CODE_OR_WAIT, is told by what it waited for before in times in which a GPU was idle.
 * On its way into a page fault and back the kernel takes no interrupts: a sample that is due then is taken at the instruction that faults. So samples at an
 * instruction that was found in faults WHY_CODE_FAULTS_PER_SPOT times as often count as page faults, too.
 */
#ifndef GPUPROBE_WHY_WHY_CODE_H
#define GPUPROBE_WHY_WHY_CODE_H

#include "base/map.h"
#include "why/why_doings.h"
#include "why/why_lines.h"
#include "why/why_parts.h"

#define WHY_CODE_FAULTS_PER_SPOT 8

struct why_code_sighting {
	u64 gap;
	u32 part; /* its place */
};

struct why_code {
	const struct view *view;
	struct why_tally *tally;
	u32 unknown;	   /* number of "" */
	struct why_doings doings;
	struct why_lines lines;
	struct map names;  /* (process, stack) -> number of what */
	struct map call_names; /* the same with the line at which it calls */
	struct map fault_names; /* the same of code that is found in a fault: asked for of samples at a spot alone */
	struct map stack_spots; /* (process, stack) -> place in spots, and whether it is in a fault */
	struct map spot_places; /* (process, address) -> place in spots */
	struct why_code_spot {
		u64 faults, itself; /* samples */
	} *spots; /* of place 0 is none */
	size_t spot_count, spot_capacity;
	struct map places; /* (GPU and whether of WHY_CODE_OR_WAIT, thread and who waits for it) -> place in threads */
	struct why_code_thread {
		struct why_code_pool {
			u64 ns, samples;
			u64 sampled_ns;	   /* that the samples stand for */
			u64 shared; /* samples that time was given for already, */
			u64 left_ns;	   /* and ns that a share of what no sample stands for was */
		} held, rest; /* what a call held, see why_cause, and what none did */
	} *threads;
	size_t thread_count, thread_capacity;
	struct map waited; /* (row, number of what) -> how long it waited for that while a GPU was idle; what ~0: in all */
	struct map part_places; /* (place in threads; what, spot and whether sampled) -> place in parts */
	struct why_code_part {
		struct why_cause cause; /* GPU, group and threads */
		u32 thread, what;
		u32 spot; /* its place, 0: not at an instruction that is known */
		u32 what_of_faults; /* what it is if that spot's samples are of page faults */
		bool sampled;
		u64 period_ns; /* that its sample stands for */
		u64 amount, held; /* samples, or ns; how many of them a call held */
		u64 gaps, last_gap; /* of samples: counted in the end */
		size_t into; /* the part that its samples are joined into, mostly itself */
	} *parts;
	size_t part_count, part_capacity;
	struct why_recent recent[WHY_RECENT]; /* of these */
	/* struct why_code_sighting: that a part was sampled in a gap */
	struct spool sightings;
	struct spool_store store;
	int failed; /* what went wrong with these, and why */
	struct err err;
};

/* 0 or -ENOMEM, all but those that say otherwise. */
int why_code_init(struct why_code *code, const struct view *view, struct why_tally *tally);
/* Time of gap number `gap` in which the thread of a cause ran, or, of WHY_CODE_OR_WAIT, did one or the other; what: number of what else is known of it. */
int why_code_add(struct why_code *code, const struct why_cause *cause, u32 what, u64 gap, u64 since_ns, u64 until_ns);
/* It was found at a stack; of WHY_CODE_OR_WAIT, too. period_ns: that a sample stands for. */
int why_code_sample(struct why_code *code, const struct why_cause *cause, u64 gap, u64 ts, u64 period_ns, u32 pid, u32 stack);
/* What the thread of a gap waited for, while that was recorded; what: its number. */
int why_code_waited(struct why_code *code, size_t row, u32 what, u64 ns);
/* Number of the program's own function in a stack; code->unknown: of none. */
s64 why_code_of(struct why_code *code, u32 pid, u32 stack);
/* The same, of a call or a wait: of Python with the line that it is at. */
s64 why_code_call_of(struct why_code *code, u32 pid, u32 stack);
/* All of it goes to the tally. 0 or -errno. */
int why_code_finish(struct why_code *code, struct err *err);
void why_code_free(struct why_code *code);

#endif
