/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the numbers in a database of Nsight Systems stand for, as ids and facts of ours: strings, GPUs, contexts, streams,
 * functions, domains of NVTX, each in the id space of its process. A fact is written where its id is first used. All return
 * 0 or -errno. Only for import/nsys*.c.
 */
#ifndef GPUPROBE_IMPORT_NSYS_IDS_H
#define GPUPROBE_IMPORT_NSYS_IDS_H

#include "import/nsys_import.h"

/* Statements; sqlite3_finalize()d by nsys_ids_close(), which also frees the processes. */
int nsys_ids_open(struct nsys_import *import, struct err *err);
void nsys_ids_close(struct nsys_import *import);

/* number: nsys_process() of a globalTid. */
int nsys_process_get(struct nsys_import *import, u64 number, struct nsys_process **ret_process,
		     struct err *err);
/* A fact of a process; what an id of it stands for in ours, 0: nothing yet. */
int nsys_fact_add(struct nsys_import *import, const struct nsys_process *process,
		  struct record_header *fact, struct err *err);
int nsys_id_set(struct nsys_process *process, enum nsys_id_space space, u64 number, u64 id,
		struct err *err);
u32 nsys_id_find(const struct nsys_process *process, enum nsys_id_space space, u64 number);
int nsys_text_get(struct nsys_import *import, struct nsys_process *process, const char *string,
		  u32 *ret_id, struct err *err);
/* Of StringIds; one that is not there has a name that says so, and is counted. */
int nsys_string_get(struct nsys_import *import, struct nsys_process *process, s64 number,
		    u32 *ret_id, struct err *err);

/* Our ids of contexts are their numbers, as those of GPUs are. */
int nsys_context_note(struct nsys_import *import, struct nsys_process *process, u32 device,
		      u32 context, struct err *err);
int nsys_stream_get(struct nsys_import *import, struct nsys_process *process, u32 device,
		    u32 context, u32 stream, u32 *ret_id, struct err *err);

/* How a kernel is called: its symbol (0: not known), the name in full and the short one, as texts of ours. ret_name: what
 * records of it have as their name. */
int nsys_symbol_get(struct nsys_import *import, struct nsys_process *process, u32 symbol, u32 full,
		    u32 short_name, u32 *ret_name, struct err *err);
/* A probe of this function of the C library; name: a text. */
int nsys_function_get(struct nsys_import *import, struct nsys_process *process, u32 name,
		      u32 *ret_id, struct err *err);

/* Domains and categories of NVTX have their names before any event. */
int nsys_domain_set(struct nsys_import *import, struct nsys_process *process, s64 domain,
		    const char *name, struct err *err);
int nsys_category_set(struct nsys_import *import, struct nsys_process *process, s64 domain,
		      s64 category, const char *name, struct err *err);
/* Texts; 0: it has no name. */
u32 nsys_domain_name(const struct nsys_process *process, s64 domain);
u32 nsys_category_name(const struct nsys_process *process, s64 domain, s64 category);

#endif
