/* SPDX-License-Identifier: MIT */
/*
 * By what the agent walks stacks: a part of the memory of shared.h, behind the chunks, where AGENT_FEATURE_STACKS is wanted. gpuprobe fills it
 * in; the target can write there, so gpuprobe never reads it, and the agent reads nothing outside of it, whatever stands there.
 *
 * Included by the agent and by userspace; the includer provides u8..u64.
 */
#ifndef GPUPROBE_GPU_TABLES_H
#define GPUPROBE_GPU_TABLES_H

#include "../bpf/python_layout.h"
#include "../bpf/unwind_table.h"

#define AGENT_PYTHON_CODES (1U << 14)  /* code objects of Python in a process */
#define AGENT_TABLE_WORDS  (24U << 20) /* of all files; memory that nobody writes to costs nothing */

/* What the process maps of files as code, sorted by address. Of a mapping `file` is in its low 32 bits where among words[] those of its file
 * begin, which is even, UNWIND_NO_TABLE, or */
#define AGENT_TABLE_NOT_READY 0xfffffffe
/* and the bit above them says that it is CUDA's: what CUDA and CUPTI call of their own between a call and the agent is left out. */
#define AGENT_TABLE_OF_CUDA (1ULL << 32)
struct agent_space {
	u32 count;
	u32 pad;
	struct unwind_mapping mappings[UNWIND_PROCESS_MAX];
};

/* In the ring, a record_header of this kind and then struct python_code, with as many bytes of lines as it says: for gpuprobe alone. */
#define AGENT_KIND_PYTHON_CODE 0xff00

struct agent_tables {
	u32 filled; /* how often a space was, from 1 on: the last time spaces[filled % 2]. The one before is as it was until the next time */
	u32 pythons_filled; /* the same of pythons; 0: there is none */
	u32 first_code; /* numbers of code objects of Python begin there; no other process has them */
	u32 pad[13];
	struct python_process pythons[2]; /* code_type 0: there is none any more */
	struct agent_space spaces[2];
	struct unwind_rule rules[UNWIND_RULES_MAX]; /* as unwind_table.h says; what is named by words is there before */
	u32 words[]; /* of each file as unwind_table.h says, up to AGENT_TABLE_WORDS; they may be made better at any time */
};

#endif
