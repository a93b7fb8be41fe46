/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files that make a bpf_source share among themselves. */
#ifndef GPUPROBE_COLLECT_BPF_BPF_SOURCE_PARTS_H
#define GPUPROBE_COLLECT_BPF_BPF_SOURCE_PARTS_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <pthread.h>

#include "collect/bpf/bpf_records.h"
#include "collect/bpf/bpf_source.h"
#include "gpuprobe.skel.h"
#include "unwind/unwind_ranges.h"

#define TASK_PROGRAMS	 5 /* of task.bpf.c, on tracepoints */
#define OFF_CPU_PROGRAMS 4 /* of scheduling.bpf.c, the same */
#define USDT_PROGRAMS	 2 /* of usdt.bpf.c, the same */
#define GROWTH_PROGRAMS	 5 /* of growth.bpf.c, the same */
#define SAMPLE_PROGRAMS	 2 /* of samples.bpf.c, the same */

/* How the functions of a plan share links. */
struct probe_split {
	const struct plan *plan; /* NULL: those of all plans go together */
	u32 *tags;		 /* of each function; 0: it stays to the end */
	u32 tag_count;
	u32 launch_tag; /* of the probes for stacks of launches, also on functions that are recorded too; 0: there are none */
	bool *off;	/* of each function */
};

/* Of links that go together, and with none of a split. */
#define TAG_OF_SORT(sort) (UPROBE_TAG_WHOLE | (u32)(sort))

/* Of bpf_source_rings.c. */
struct bpf_rings {
	u64 ring_bytes;
	u32 count; /* 0: nothing to free */
	int array_fd, fds[RINGS_MAX];
	pthread_t filler;
	bool fills; /* it runs, and has the rest */
	int result;
};

/* Of bpf_source_samples.c. */
struct bpf_samples {
	struct bpf_link *programs[SAMPLE_PROGRAMS]; /* NULL: none are taken */
	struct sample_link {
		struct bpf_link *link;
		int fd; /* the link's */
	} *links; /* of the clocks; NULL: they have ended */
	size_t count, capacity;
};

struct bpf_source {
	struct gpuprobe_bpf *skeleton;
	struct bpf_rings made_rings;
	struct ring_buffer *rings, *events, *code_writes;
	struct ring_buffer *python; /* NULL: frames of Python are not read */
	void (*python_callback)(void *data, const struct python_code *code, size_t size_bytes);
	void *python_data; /* of the running bpf_source_take_python_codes */
	u32 ring_count;
	struct uprobe_set uprobes;
	struct probe_split split;
	struct bpf_link *task_links[TASK_PROGRAMS];
	struct bpf_link *off_cpu_links[OFF_CPU_PROGRAMS];
	struct bpf_link *usdt_links[USDT_PROGRAMS]; /* NULL: no USDT probes */
	struct bpf_link *growth_links[GROWTH_PROGRAMS];
	struct bpf_link *code_link; /* NULL: nobody looks whether targets change their code, */
	struct bpf_link *code_exec_link; /* nor execute another program */
	struct bpf_samples samples;
	const struct plan *heap_plan; /* NULL: allocations of host memory are not recorded */
	size_t heap_first;	      /* probes of the other plan, which come before its own */
	struct bpf_link *heap_link;
	bool sorts_off[PRICE_SORTS]; /* of probes */
	struct site_changes changes; /* where probes were not put in for that */
	struct kernel_abilities abilities;
	struct unwind_ranges unwind_ranges; /* of what processes map */
	u32 unwind_spaces;		    /* so many were put */
	bool refused;			    /* the kernel did not take the programs, */
	bool walks_refused; /* and took them when they walked no stacks by tables */
	bool python_refused; /* and what reads frames of Python */
	bpf_source_callback callback; /* of the running bpf_source_drain */
	void *callback_data;
	bpf_source_event_callback event_callback; /* of the running bpf_source_take_events */
	void *event_data;
	bpf_source_code_callback code_callback; /* of the running bpf_source_take_code_writes */
	void *code_data;
};

/* Which program goes where, for each way in which returns are seen. */
struct probe_use {
	u8 returns; /* VALUE_returns_* */
	bool exits; /* at the exits of the functions, else at the entries */
	bool launches; /* for the stacks of launches, of whatever returns, else for all others */
	enum uprobe_kind kind;
	bool all_processes; /* its program turns strangers away; else a link for each target */
	size_t program;	    /* offset in the skeleton's programs */
	size_t emulating; /* the same for kernels where a program may set registers; 0: as elsewhere */
};

/* Where the links of a use go. */
struct probe_reach {
	const struct plan *plan;
	size_t first; /* added to the ids of its probes */
	u32 thread;   /* that names the process; 0: every process that maps the file */
	struct uprobe_set *set;
	u32 tag; /* only links with this one; 0: all */
};

/* Of the programs of such a table only those are loaded that functions with these returns (VALUE_returns_*, a bit each) need:
 * the verifier takes up to 0.2 s of CPU time for one, in which nothing else of this process goes on. single: some go by single
 * probes; multi ones are loaded all the same, they take off what single ones left behind (guardian.c). */
void bpf_source_choose_uses(const struct bpf_source *source, const struct probe_use *uses, size_t count,
			    u32 returns, bool launches, bool single);
/* The same, of the functions of the plan. */
void bpf_source_choose_functions(const struct bpf_source *source,
				 const struct bpf_source_settings *settings);
int bpf_source_program_fd(const struct bpf_source *source, const struct probe_use *use);
int bpf_source_attach_use(struct bpf_source *source, const struct probe_reach *reach, size_t module,
			  const struct probe_use *use, struct err *err);

/* ---- bpf_source_rings.c ---- */

/* Before the programs are loaded; begins to make the rings. */
int bpf_source_rings_begin(struct bpf_source *source, u64 ring_bytes, struct err *err);
/* Waits until the programs have them, and reads them from now on. */
int bpf_source_rings_read(struct bpf_source *source, ring_buffer_sample_fn on_record, struct err *err);
void bpf_source_rings_free(struct bpf_source *source); /* also what was never begun */

/* ---- bpf_source_heap.c ---- */

/* Before the programs are loaded. */
void bpf_source_configure_heap(struct bpf_source *source, const struct bpf_source_settings *settings);
/* What names no process. Nothing without a plan, as the next one. */
int bpf_source_attach_heap(struct bpf_source *source, struct err *err);
/* What names a process, as bpf_source_attach_process(). Never by single probes. */
int bpf_source_attach_heap_process(struct bpf_source *source, const struct process_links *links,
				   struct uprobe_set *set, struct err *err);
u64 bpf_source_heap_missed(const struct bpf_source *source);

/* Tells the programs what is in the plan; before anything is attached. bpf_source_memory.c */
int bpf_source_put_allocators(struct bpf_source *source, const struct plan *plan, struct err *err);
/* The same of functions that multiply matrices. bpf_source_matmul.c */
int bpf_source_put_matmuls(struct bpf_source *source, const struct plan *plan, struct err *err);

/* ---- bpf_source_usdt.c ---- */

/* Before loading. */
void bpf_source_configure_usdt(struct bpf_source *source, const struct bpf_source_settings *settings);
/* Tells the programs what the probes mean; before they are attached. */
int bpf_source_put_usdt(struct bpf_source *source, const struct plan *plan, struct err *err);
/* Their ends that are no probe's. */
int bpf_source_watch_usdt(struct bpf_source *source, struct err *err);
void bpf_source_unwatch_usdt(struct bpf_source *source);

/* Hits that the kernel dropped before the programs ran. */
u64 bpf_source_missed_usdt(const struct bpf_source *source);

/* Where the links of a file go. */
struct usdt_reach {
	u32 thread; /* that names the process; 0: every process that maps the file */
	bool single;
	struct uprobe_set *set;
};
int bpf_source_attach_usdt(struct bpf_source *source, const struct plan *plan, size_t module,
			   const struct usdt_reach *reach, struct err *err);

/* Which programs are loaded; before they are. bpf_source_cupti.c */
void bpf_source_choose_cupti(const struct bpf_source *source, bool wanted);

/* Which programs are loaded, and how large their maps are; before they are. wanted: there will be probes. bpf_source_code.c */
void bpf_source_choose_code(const struct bpf_source *source, bool wanted);

/* Which programs are loaded; before they are. bpf_source_traps.c */
void bpf_source_choose_traps(const struct bpf_source *source, bool wanted);

/* Whether stacks are walked by tables, and how large these are; before the programs are loaded. bpf_source_unwind.c */
void bpf_source_configure_unwind(const struct bpf_source *source,
				 const struct bpf_source_settings *settings);

/* Whether frames of Python are read; before the programs are loaded. bpf_source_python.c */
void bpf_source_configure_python(const struct bpf_source *source, bool wanted);
/* When they are. */
int bpf_source_watch_python(struct bpf_source *source, struct err *err);
void bpf_source_unwatch_python(struct bpf_source *source);

/* Which programs are loaded, and how large their maps are; before they are. period_ns: how often samples are taken; 0: never.
 * bpf_source_samples.c */
void bpf_source_configure_samples(const struct bpf_source *source, u64 period_ns);

/* Which programs are loaded, and how large their maps are; before they are. bpf_source_growth.c */
void bpf_source_choose_growth(const struct bpf_source *source, bool wanted);

/* Before any return address is overwritten. bpf_source_hijack.c */
int bpf_source_prepare_hijacking(struct bpf_source *source, const struct plan *plan,
				 const struct target *targets, struct err *err);

#endif
