/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Putting BPF programs on functions, and taking them off. A link holds many functions of one file
 * (uprobe_multi, uprobe session), or one (perf event) where the kernel has no uprobe_multi.
 */
#ifndef GPUPROBE_PROBE_UPROBE_H
#define GPUPROBE_PROBE_UPROBE_H

#include <stdatomic.h>

#include "base/err.h"
#include "base/types.h"

/* What it takes to take a single probe out: threads and idle processors do not help (measured, Linux 6.18). */
#define UPROBE_SINGLE_DETACH_SECONDS 0.1

enum uprobe_kind {
	UPROBE_SESSION, /* entry and return; its program must itself turn strangers away */
	UPROBE_MULTI,	/* entries */
	UPROBE_SINGLE,	/* entries, one perf event each: UPROBE_SINGLE_DETACH_SECONDS each to detach */
};

/* A bit of a tag: its functions go all together or not at all. */
#define UPROBE_TAG_WHOLE 0x80000000U

/* One group: functions of one file for one program. */
struct uprobe_group {
	enum uprobe_kind kind;
	int program_fd;
	int file_fd; /* the file, however it was reached */
	u32 pid;     /* 0: every process that maps the file */
	u64 *offsets;
	u64 *cookies;
	u64 *reference_counters; /* file offsets of counters that the kernel raises for as long; 0: none. NULL: none at all */
	size_t count;
	u32 tag; /* of its links: those with one may go alone, and, but with UPROBE_TAG_WHOLE, none of its functions need be
		  * attachable; 0: none */
};

struct uprobe_set {
	struct uprobe_link {
		int fd;
		u32 tag;
		bool single;
	} *links;
	size_t link_count;
	size_t function_count; /* attached */
	/* Offsets that the kernel refused though the plan thought them good. */
	struct uprobe_refused {
		int file_fd;
		u64 offset;
		int error;
	} *refused;
	size_t refused_count;
};

/* Adds the group's links to set. A function that the kernel refuses takes its whole link with it, so the
 * group is halved until the refused ones are known; they end up in set->refused. -EPERM, -ENOMEM and the
 * like, and a group of which nothing could be attached, are errors. */
int uprobe_attach(struct uprobe_set *set, const struct uprobe_group *group, struct err *err);

/* Adds an event without a program, which keeps the kernel's breakpoint at an offset in the process of a thread for
 * as long as that lives. A link of uprobe_multi that names a process does so only until the first thread of that
 * ends: from then on the breakpoint goes when anybody else takes a probe off the same function, wherever that was.
 * 0 or -errno. Takes as long to detach as single ones do. */
int uprobe_hold(struct uprobe_set *set, int file_fd, u64 offset, u32 thread);

/* Hands all links on; what does not fit into memory stays where it is. */
void uprobe_set_move(struct uprobe_set *to, struct uprobe_set *from);

/* Takes the links that are not single ones out of the set: they come off when their last descriptor is closed, which is the
 * caller's to do, as is freeing the array. 0, or -ENOMEM and all is as it was. */
int uprobe_set_take_links(struct uprobe_set *set, int **ret_fds, size_t *ret_count);
/* Closes descriptors of links side by side. Blocks as uprobe_detach() does; on a machine with no time to spare the kernel was
 * seen to take minutes. */
void uprobe_close_links(const int *fds, size_t count);

/* Moves the links with this tag: entries before exits, as they were attached the other way round. What does not fit into memory is
 * taken off at once. */
void uprobe_set_move_tagged(struct uprobe_set *to, struct uprobe_set *from, u32 tag);
/* Takes everything off. progress (may be NULL) is called before each single probe with the number still to go.
 * Blocks: a few hundred ms under load, and UPROBE_SINGLE_DETACH_SECONDS for each single probe. */
void uprobe_detach(struct uprobe_set *set, void (*progress)(void *data, size_t links_left),
		   void *data);

/* The same, until it is told to stop: what was not begun by then stays in the set. */
void uprobe_detach_until(struct uprobe_set *set, const atomic_bool *stop);

/* ---- for kernel.c ------------------------------------------------------------------------------------ */

/* enum bpf_attach_type of the kernel; newer than the headers of the distributions that we build on. */
unsigned uprobe_attach_type(enum uprobe_kind kind);
/* The bpf() call for functions [first, first + count) of the group. A link fd or -errno. Not for UPROBE_SINGLE. */
int uprobe_link_create(const struct uprobe_group *group, const char *path, size_t first, size_t count);

#endif
