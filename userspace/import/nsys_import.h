/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One import of a database of Nsight Systems: what its parts share. Only for import/nsys*.c. */
#ifndef GPUPROBE_IMPORT_NSYS_IMPORT_H
#define GPUPROBE_IMPORT_NSYS_IMPORT_H

#include "base/map.h"
#include "import/nsys_database.h"
#include "store/batch.h"

/* Times of the database are from its start on, and may be before it; ours are positive. */
#define NSYS_START_NS	 1000000000000000LL
#define NSYS_TIME_MAX_NS (1LL << 62)

static inline bool nsys_time_fits(s64 ns)
{
	return ns > -NSYS_START_NS && ns < NSYS_TIME_MAX_NS;
}

struct nsys_rows;

enum nsys_chains { NSYS_CHAINS_CUDA, NSYS_CHAINS_OS_RUNTIME, NSYS_CHAINS };

/* Call stacks. */
struct nsys_stacks {
	sqlite3_stmt *frames[NSYS_CHAINS]; /* of one chain; NULL: there is no such table */
	u32 last_id;
};

/* A process of the database: an id space of its own, since its correlation numbers are. */
struct nsys_process {
	u64 number; /* nsys_process() of its globalPid; 0: of what names none */
	u32 pid;
	u32 source;
	struct text_ids texts;
	struct map ids; /* (enum nsys_id_space, number in the database) -> id of ours, or 1: its fact is written */
};

enum nsys_id_space {
	NSYS_ID_STRING,
	NSYS_ID_DEVICE,
	NSYS_ID_CONTEXT,
	NSYS_ID_STREAM,
	NSYS_ID_SYMBOL,
	NSYS_ID_FUNCTION,
	NSYS_ID_DOMAIN,
	NSYS_ID_CATEGORY,
	NSYS_ID_MODULE,
	NSYS_ID_FRAME,
	NSYS_ID_INSTRUCTION,
	NSYS_ID_CUDA_STACK,
	NSYS_ID_OS_RUNTIME_STACK,
};

struct nsys_import {
	struct nsys_database database;
	struct batch *batch;
	struct text_ids tool; /* of facts of the recording as a whole */
	struct nsys_process **processes; /* in the order of their appearance */
	size_t process_count, process_capacity;
	struct map process_places; /* by number; plus 1 */
	sqlite3_stmt *find_string, *find_gpu, *find_null_stream; /* NULL: there is no such table */
	struct nsys_stacks stacks;
	struct nsys_rows *gpus; /* of TARGET_INFO_GPU; NULL: there is none */
	bool by_gpuprobe; /* who exported it */
	/* What there was. */
	s64 first_start_ns, last_start_ns, last_end_ns; /* of the database's times; first > last: no events */
	u64 missing_strings; /* that rows refer to */
	u64 backward; /* rows that end before they start */
};

/* -ENOMEM, said as for all of import/nsys*.c. */
int nsys_no_memory(struct err *err);

#endif
