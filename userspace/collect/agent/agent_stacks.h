/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * By what an agent walks stacks (struct agent_tables of gpu/shared.h): unwind tables and mappings, filled in while it reads them. The target
 * can write there too, so nothing is ever read back. Main thread only.
 */
#ifndef GPUPROBE_COLLECT_AGENT_AGENT_STACKS_H
#define GPUPROBE_COLLECT_AGENT_AGENT_STACKS_H

#include "base/map.h"
#include "unwind/unwind_words.h"
#include "../gpu/tables.h"

/* Zero-initialise but for shared. */
struct agent_stacks {
	struct agent_tables *shared; /* NULL: it walks none; the caller's, as the next two */
	int fd;			     /* of the file, */
	u64 offset;		     /* and where in it that is */
	struct map begins; /* number of a file -> where its words begin, and the version of them */
	size_t word_count, rule_count; /* that were put there */
	u32 filled, pythons_filled;
	struct python_process python; /* that was put last */
	u64 mappings; /* hash of those that were put last */
};

/* Memory for it, in a file that the agent maps, behind its chunks. */
#define AGENT_STACKS_BYTES \
	((sizeof(struct agent_tables) + AGENT_TABLE_WORDS * sizeof(u32) + 4095) / 4096 * 4096)

/* Those that are new, of all that there are. */
void agent_stacks_put_rules(struct agent_stacks *stacks, const struct unwind_rules *rules);
/* The words of a file, if they are not there in this version (which counts up). What they name is to be there. -ENOSPC, -ENOMEM: it stays
 * without. */
int agent_stacks_put_file(struct agent_stacks *stacks, u32 file, u64 version, const struct unwind_words *words);
/* What the process maps, sorted by address, with AGENT_TABLE_OF_CUDA where it is, if it is something else than the last time; of a file that was not put the agent knows that. What is beyond UNWIND_PROCESS_MAX is left out. */
void agent_stacks_put_space(struct agent_stacks *stacks, const struct unwind_mapping *mappings, size_t count);
/* The interpreter of Python in it; NULL: there is none any more. */
void agent_stacks_put_python(struct agent_stacks *stacks, const struct python_process *process);
void agent_stacks_free(struct agent_stacks *stacks);

#endif
