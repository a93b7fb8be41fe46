/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables for the targets of a session. A thread of its own reads files, from before the BPF programs are loaded, and hands
 * their tables to them; until then stacks end in code of such a file, and say so. Where the files lie in a process is told at once.
 */
#ifndef GPUPROBE_SESSION_UNWINDING_H
#define GPUPROBE_SESSION_UNWINDING_H

#include "collect/agent/agent_stacks.h"
#include "collect/bpf/bpf_source.h"
#include "process/code_map.h"

struct unwinding;

/* cache_folder: of unwind/unwind_cache.h, NULL: none. not_running: the targets stand before their first instruction, so that their stacks
 * do not tell where they will run. */
int unwinding_start(const char *cache_folder, bool not_running,
		    struct unwinding **ret_unwinding, struct err *err);
/* What CUDA has of its own is waited for, too: stacks are taken below it. Before the first look. */
void unwinding_await_cuda(struct unwinding *unwinding);
/* The programs are there. source stays the caller's, and must outlive it. */
void unwinding_set_source(struct unwinding *unwinding, struct bpf_source *source);
/* What is new in the map since the last time; without a source only files. Main thread only. What fails costs stacks, not the recording: it is logged. */
void unwinding_look(struct unwinding *unwinding, const struct code_map *map);
/* What of all this the agent in a process does not have yet, for stacks of its own; what can't be had in this time is left to the next. Main
 * thread only. */
void unwinding_share(struct unwinding *unwinding, const struct code_map *map, u32 pid, struct agent_stacks *stacks, u64 timeout_ns);
/* So many pieces of code (of processes that map thousands of them) the BPF programs were not told of, for want of room. Main thread only. */
u64 unwinding_left_out(const struct unwinding *unwinding);
/* A stack led to this address, of which the table of its file says nothing. Main thread only. */
void unwinding_ask(struct unwinding *unwinding, const struct code_map *map, u32 pid, u64 address);
/* Waits until the tables are there of the files that are on stacks of the processes of the first map, as far as that is known, else of all
 * of its files; of all of them, too, where the targets have not begun to run. At most that long; false: then they are not all there. */
bool unwinding_wait(struct unwinding *unwinding, u64 timeout_ns);
struct unwinding *unwinding_stop(struct unwinding *unwinding); /* NULL allowed; returns NULL */

#endif
