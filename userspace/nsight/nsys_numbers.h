/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The numbers in databases of Nsight Systems, for who writes them and who reads them: its enums (nsys_enums.def), how it
 * names threads, what its types of events are. Facts of docs/formats/nsys.md.
 */
#ifndef GPUPROBE_NSIGHT_NSYS_NUMBERS_H
#define GPUPROBE_NSIGHT_NSYS_NUMBERS_H

#include <stddef.h>

#include "base/types.h"

#define NSYS_NONE (-1) /* no value stands for what is not known */

/* Names in META_DATA_CAPTURE of gpuprobe's own: what of a process ended inside the window, by its sort; the value is "PID WHY AT UNTIL". */
#define NSYS_RECORDING_END "GPUPROBE_RECORDING_END:"

/* ---- threads: machine, virtual machine, pid, tid; of a process the tid is 0 ---- */

#define NSYS_GLOBAL_VID (1ULL << 48) /* this machine */

static inline u64 nsys_global_tid(u32 pid, u32 tid)
{
	return NSYS_GLOBAL_VID | (u64)(pid & 0xffffff) << 24 | (tid & 0xffffff);
}

static inline u32 nsys_pid(u64 global_tid)
{
	return global_tid >> 24 & 0xffffff;
}

static inline u32 nsys_tid(u64 global_tid)
{
	return global_tid & 0xffffff;
}

/* The same for all threads of a process, and for no other process. */
static inline u64 nsys_process(u64 global_tid)
{
	return global_tid >> 24;
}

/* ---- types of events in NVTX_EVENTS ---- */

enum nsys_nvtx_type {
	NSYS_NVTX_CATEGORY = 33,
	NSYS_NVTX_MARK = 34,
	NSYS_NVTX_THREAD = 39,
	NSYS_NVTX_PUSH_POP = 59,
	NSYS_NVTX_START_END = 60,
	NSYS_NVTX_DOMAIN = 75,
};

/* ---- enums ---- */

/* A row of a table of an enum. */
struct nsys_enum_row {
	const char *table;
	u32 number;
	const char *name, *label;
};
const struct nsys_enum_row *nsys_enum_rows(size_t *ret_count);

/* A value of an enum of record_enums.def in the numbers of Nsight Systems; NSYS_NONE: it has none for it. */
s64 nsys_enum_number(const char *enum_name, u32 number);
/* The reverse; 0, which is "not known" in all our enums, where we have none for it. */
u32 nsys_enum_value(const char *enum_name, s64 number);

#endif
