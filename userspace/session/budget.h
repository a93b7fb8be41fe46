/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is to be switched off so that the rest stays within a budget. */
#ifndef GPUPROBE_SESSION_BUDGET_H
#define GPUPROBE_SESSION_BUDGET_H

#include "base/types.h"

/* Of the CPU time of the targets: what levels switch on by themselves may cost so much, whatever the options say. */
#define BUDGET_OF_LEVELS_PERCENT 5
/* Of these, calls of CUDA that are probed where there is no CUPTI: a loop that is bound by launches makes a hundred thousand a second,
 * and is to lose less than the above in all, with the moments before they are found to be too many and with what an estimate leaves out. */
#define BUDGET_OF_API_PERCENT 2
/* What levels switch on may cost this much of one CPU at any rate: of a service that has little to do each record costs a large share of little, and
 * disturbs nobody. */
#define BUDGET_OF_ONE_CPU_PERCENT 2
/* Stacks of launches, where it is not said of how many: less than what anybody notices; beyond it they are sampled, so often. */
#define BUDGET_OF_LAUNCH_STACKS_PERCENT	 1
#define BUDGET_LAUNCH_SAMPLES_PER_SECOND 1000
/* What costs so much is not looked at twice, unless it is less than this of one CPU. Then so much goes that the rest is below it: what is near
 * the budget has to be so for long. The first half second is dear (each stack comes for the first time, and starting up took time from the targets), and
 * says nothing of the others unless it is dearer still. */
#define BUDGET_AT_ONCE_PERCENT		  20
#define BUDGET_AT_ONCE_FIRST_PERCENT	  40
#define BUDGET_AT_ONCE_OF_ONE_CPU_PERCENT 5
/* A streak is ended by a reading below this, and has lasted after so many readings with so much CPU time. */
#define BUDGET_STREAK_PERCENT  4
#define BUDGET_STREAK_READINGS 6
#define BUDGET_STREAK_CPU_NS   3000000000ULL
/* A reading in which the targets used less of one CPU is a pause, and ends no streak. */
#define BUDGET_AT_WORK_PERCENT 10

#define BUDGET_NONE SIZE_MAX

struct budget_part {
	u64 cost_ns; /* in the time that is looked at */
	bool by_level;
	bool may_go;	 /* and is not gone yet */
	bool api;	 /* by level, and a call of CUDA that CUPTI does not record */
	bool goes_first; /* before any other that costs more, where it costs enough for that: */
#define BUDGET_FIRST_PERCENT 1
};

/* How long without a break what levels switched on has cost more than its budget. */
struct budget_streak {
	unsigned readings;
	u64 cpu_ns;
	bool has_begun; /* there was a reading before */
};

/*
 * One more reading: parts, over cpu_ns of the targets' CPU time, in passed_ns. Is the budget of levels passed for so long that neither a
 * busy moment of the target nor one of the machine explains it? A reading just below the budget breaks no streak. One that is far above
 * it, and much of one CPU, is enough by itself. Returns what levels are to be held to now, in percent; 0: to nothing.
 */
double budget_of_levels_percent(struct budget_streak *streak, const struct budget_part *parts,
				size_t part_count, u64 cpu_ns, u64 passed_ns);

struct budget_limits {
	/* Hold what levels switched on to this, or to max_percent where that is more; 0: don't. */
	double levels_percent;
	double max_percent; /* hold everything to this; 0: no such budget */
	bool of_api;	    /* hold calls of CUDA to theirs, or to max_percent where that is more */
};

/*
 * The part to switch off next: one that goes first, else the one that costs most, of calls of CUDA or of all of levels where these together cost more than
 * their budget, else of all where all cost more than max_percent. BUDGET_NONE: nothing, or nothing that would help.
 * cpu_ns: CPU time of the targets in that time, the cost included.
 */
size_t budget_choose(const struct budget_part *parts, size_t part_count, u64 cpu_ns,
		     const struct budget_limits *limits);
/* Takes the part out. The CPU time stays: who was kept from its work by the probe may now do more of it. */
void budget_drop(struct budget_part *parts, size_t part);

#endif
