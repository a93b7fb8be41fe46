/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A second process that undoes what was done to the targets if this one is killed. The kernel closes the links of a
 * killed process, but two things stay behind then:
 * - One that is killed while it attaches or detaches cannot take breakpoints out any more ("failed to unregister,
 *   leaking uprobe" in the kernel's log): the targets, and what they fork, go on paying for each hit. Who attaches to
 *   the same places and detaches again takes them out.
 * - Calls that are open then have hijacked return addresses: see collect/bpf/open_returns.h.
 *
 * At the end it is also who takes the links off: closing one waits for the kernel, on a machine with no time to spare for minutes,
 * in which no signal ends the process that closes. The recording goes on to its end meanwhile, and may be over before.
 */
#ifndef GPUPROBE_SESSION_GUARDIAN_H
#define GPUPROBE_SESSION_GUARDIAN_H

#include "plan/plan.h"
#include "base/types.h"
#include "collect/agent/agents.h"
#include "collect/bpf/bpf_source.h"

struct guardian_work {
	struct bpf_source *source; /* nothing attached yet */
	struct source_targets targets;
	bool has_multi;	 /* the kernel has uprobe_multi: what single ones left behind goes quickly */
	int *own_links; /* of probes in our own code: both have them, see guardian_close_own_links() */
	size_t own_link_count;
	struct agents *agents; /* NULL: none. Their locks are to end with the guarded process: the guardian lets them go */
};

struct guardian;

/* Forks: no other thread may run. NULL: it can't be started, which harms nothing. It begins as busy. */
struct guardian *guardian_start(const struct guardian_work *work);
/* busy: probes are being attached or detached. Only who is killed then leaves breakpoints behind. */
void guardian_set_busy(struct guardian *guardian, bool busy); /* NULL allowed */
/* Has it close links that were attached, while it is busy, after it has closed ours: nobody waits for the kernel here. May be called
 * again with others. 0; or -errno and they are still open. */
int guardian_close_links(struct guardian *guardian, const int *fds, size_t count); /* NULL allowed */
/* The same of work->own_links, right after it was started. */
void guardian_close_own_links(struct guardian *guardian, const int *fds, size_t count); /* NULL allowed */
/* Waits until all are closed. False: not in this time, nor before stop_fd (-1: none) had something to read. */
bool guardian_wait_closed(struct guardian *guardian, int timeout_ms, int stop_fd);
u32 guardian_pid(const struct guardian *guardian);
/* When all is undone, or what it is still to close will be when it ends by itself. */
struct guardian *guardian_stop(struct guardian *guardian); /* NULL allowed; returns NULL */

#endif
