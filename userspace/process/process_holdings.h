/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a process has, by name: threads, open files, mappings. Two of them, taken at different times, tell by name what is
 * new. A busy process changes by itself: what is new need not be anybody else's.
 */
#ifndef GPUPROBE_PROCESS_PROCESS_HOLDINGS_H
#define GPUPROBE_PROCESS_PROCESS_HOLDINGS_H

#include "base/text.h"

enum holding_sort { HOLDING_THREAD, HOLDING_DESCRIPTOR, HOLDING_MAPPINGS, HOLDING_SORTS };

struct holding {
	enum holding_sort sort;
	u64 id;	   /* of a thread: its tid; of a descriptor: its number; mappings: 0 */
	u64 count; /* mappings of a file */
	u64 bytes; /* of these together */
	char *name; /* comm; what the descriptor leads to; path, "": no file */
};

struct process_holdings {
	struct holding *items;
	size_t count, capacity;
};

/* Mappings of the same name are added up; bytes: 0 for what has none. 0 or -ENOMEM. */
int process_holdings_add(struct process_holdings *holdings, enum holding_sort sort, u64 id, u64 bytes,
			 const char *name);
/* "2 threads cupti-worker, descriptor 9 (/dev/nvidia-uvm), 5 mappings of /a/libcupti.so.13 (7 MB)"; nothing where
 * nothing is new. At most items_max of them, then how many more there are. */
void process_holdings_new(const struct process_holdings *before, const struct process_holdings *after,
			  size_t items_max, struct text *text);
void process_holdings_free(struct process_holdings *holdings);

#endif
