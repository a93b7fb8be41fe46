/* What is to be switched off so that the rest stays within a budget. */
#ifndef GPUPROBE_COLLECT_BUDGET_H
#define GPUPROBE_COLLECT_BUDGET_H

#include "base/types.h"

/* Of the CPU time of the targets: what levels switch on by themselves may cost so much, whatever the options say. */
#define BUDGET_OF_LEVELS_PERCENT 5

#define BUDGET_NONE SIZE_MAX

struct budget_part {
	u64 cost_ns; /* in the time that is looked at */
	bool by_level;
	bool may_go; /* and is not gone yet */
};

/*
 * The part to switch off next: the one that costs most, of those of levels where these together cost more than their
 * budget, else of all where all cost more than max_percent. BUDGET_NONE: nothing, or nothing that would help.
 * cpu_ns: CPU time of the targets in that time, the cost included. max_percent 0: no budget but that of levels.
 */
size_t budget_choose(const struct budget_part *parts, size_t part_count, u64 cpu_ns, double max_percent);
/* Takes the part out. The CPU time stays: who was kept from its work by the probe may now do more of it. */
void budget_drop(struct budget_part *parts, size_t part);

#endif
