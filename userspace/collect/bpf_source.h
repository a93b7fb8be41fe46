/*
 * The BPF programs as a source of records: load, attach what a plan says, open and close the window, drain
 * the rings, read the counters and the calls still open. One per session. Only the drain thread may call
 * bpf_source_drain and bpf_source_wait while the window is open; everything else is the main thread's.
 */
#ifndef GPUPROBE_COLLECT_BPF_SOURCE_H
#define GPUPROBE_COLLECT_BPF_SOURCE_H

#include "base/types.h"
#include "../bpf/record.h"
#include "../bpf/heap.h"
#include "../bpf/shared.h"
#include "attach/kernel.h"
#include "attach/plan.h"
#include "attach/uprobe.h"
#include "base/err.h"

struct bpf_source;

struct bpf_source_settings {
	u64 ring_bytes;	       /* a power of two, for each CPU */
	bool follow_children;  /* what a target forks becomes one from its first instruction on */
	bool guarded;	       /* a plan with guards will be attached */
	size_t function_count; /* of that plan */
	size_t usdt_sites;     /* of its USDT probes */
	bool allocators;       /* some of them allocate memory; then: */
	u32 device_number;     /* of the only GPU of this machine; ~0: there are several, or none */
	const struct plan *heap_plan; /* of allocations of host memory; must outlive the source; NULL: none */
	bool heap_events;	      /* every one of them is to be a record */
	bool off_cpu;	       /* bpf_source_attach_off_cpu() will be called */
	u64 off_cpu_min_ns;    /* shorter waits are not recorded */
	bool growth;	       /* bpf_source_attach_growth() will be called; the abilities allow it */
};

/* Loads the programs that abilities allow. */
int bpf_source_open(const struct kernel_abilities *abilities,
		    const struct bpf_source_settings *settings, struct bpf_source **ret_source,
		    struct err *err);
struct bpf_source *bpf_source_free(struct bpf_source *source); /* NULL allowed; returns NULL */

/* watched_thread: the one of which a process event tells the end; 0: none. Added again: another one is watched. */
int bpf_source_add_target(struct bpf_source *source, u32 pid, u32 watched_thread, struct err *err);
/* Numbers of all targets, children included; the caller frees. 0 or -ENOMEM. */
int bpf_source_targets(const struct bpf_source *source, u32 **ret_pids, size_t *ret_count);
void bpf_source_remove_target(struct bpf_source *source, u32 pid);

/* The id of a probe (and of its name's text) is 1 + the function's place in the plan. */
int bpf_source_attach(struct bpf_source *source, const struct plan *plan,
		      const struct target *targets, size_t target_count, bool single,
		      struct err *err);
/* The part of it that names a process, for one process. They belong to set. */
struct process_links {
	u32 thread;    /* that names the process: the first one, but for single probes */
	size_t target; /* only modules that this target maps; SIZE_MAX: all */
	bool single;
};
int bpf_source_attach_process(struct bpf_source *source, const struct plan *plan,
			      const struct process_links *links, struct uprobe_set *set,
			      struct err *err);
/* An agent records what this process does to GPU memory. */
int bpf_source_leave_memory_to_agent(struct bpf_source *source, u32 pid, struct err *err);
/* Text id, in the source of BPF, of what GPU memory is drawn as; before the window opens. */
void bpf_source_set_device_name(struct bpf_source *source, u32 name);
/* Events of the processes, until none is left. */
typedef void (*bpf_source_event_callback)(void *data, const struct process_event *event);
int bpf_source_event_fd(const struct bpf_source *source); /* polls readable when there are any */
void bpf_source_take_events(struct bpf_source *source, bpf_source_event_callback callback,
			    void *data);
/* How often a target has mapped or unmapped code since it is recorded, CHANGED_FOR_GOOD among it. 0: never, or unseen. */
u32 bpf_source_changes(const struct bpf_source *source, u32 pid);
/* What it had mapped after so many changes is harmless: its returns are taken again, until the next one. */
int bpf_source_judge(struct bpf_source *source, u32 pid, u32 changes);
/* One function of a file, for calibration. */
int bpf_source_attach_one(struct bpf_source *source, int file_fd, u64 file_offset, bool session,
			  u32 pid, struct err *err);
const struct uprobe_set *bpf_source_uprobes(const struct bpf_source *source);
void bpf_source_detach(struct bpf_source *source, void (*progress)(void *data, size_t links_left),
		       void *data);

void bpf_source_set_window(struct bpf_source *source, bool open);
bool bpf_source_window_is_open(const struct bpf_source *source); /* any thread */

/* Hands each record that is in the rings to the callback; a negative result of it ends this round (the
 * record counts as taken). Returns the number of records or that result. */
typedef int (*bpf_source_callback)(void *data, const struct record_header *record,
				   size_t size_bytes);
int bpf_source_drain(struct bpf_source *source, bpf_source_callback callback, void *data);
/* Until a ring fills up or the time is over. */
void bpf_source_wait(struct bpf_source *source, int timeout_ms);

/* Summed over all CPUs. */
int bpf_source_counters(const struct bpf_source *source, struct counters *ret_counters);
/* To zero: what calibration counted is not the target's. */
int bpf_source_reset_counters(struct bpf_source *source, struct err *err);
/* Hits that the kernel dropped before our programs ran. */
u64 bpf_source_missed(const struct bpf_source *source);
/* Only after detaching. */
int bpf_source_open_calls(struct bpf_source *source, bpf_source_callback callback, void *data,
			  struct err *err);
/* Hands over each struct hijacked_return of our probes in the thread; tid 0: in all threads of the targets and of what
 * they have forked. Only after detaching. -errno. */
int bpf_source_hijacked_returns(struct bpf_source *source, u32 tid,
				void (*callback)(void *data, const void *record), void *data);

/* Hands over the spans of USDT probes that are still open (struct record_usdt_span); only after detaching, and only where
 * there are USDT probes. */
int bpf_source_open_usdt_spans(struct bpf_source *source, bpf_source_callback callback, void *data);

/* ---- threads that are off their CPU; bpf_source_off_cpu.c ---- */

int bpf_source_attach_off_cpu(struct bpf_source *source, struct err *err);
/* Those that are so now; right after the window was opened. -errno: they will be seen from their next wait on. */
int bpf_source_note_off_cpu(struct bpf_source *source);
void bpf_source_detach_off_cpu(struct bpf_source *source);
/* Hands over the waits still open (struct record_off_cpu); only after the window was closed. */
int bpf_source_open_off_cpu(struct bpf_source *source, bpf_source_callback callback, void *data);

/* ---- how memory grows; bpf_source_growth.c ---- */

int bpf_source_attach_growth(struct bpf_source *source, struct err *err);
void bpf_source_detach_growth(struct bpf_source *source);
/* Hands over the sums (struct record_growth), of the time that is given; only after the window was closed. 0 or what the
 * callback said. */
int bpf_source_take_growth(struct bpf_source *source, u64 start_ns, u64 dur_ns,
			   bpf_source_callback callback, void *data);

/* ---- allocations of host memory; bpf_source_heap.c ---- */

/* Attached with everything else, also to children. The ids of its probes come behind those of the other plan. */

/* Each process of which anything was counted. 0 or the negative result of the callback. */
typedef int (*bpf_source_heap_process_callback)(void *data, u32 pid,
						const struct heap_process *process);
int bpf_source_heap_processes(const struct bpf_source *source,
			      bpf_source_heap_process_callback callback, void *data);
/* Each stack with what of it is live: counted by what is there, not as the programs have it. oldest_ns: 0: none. Only after the
 * window was closed; may take a second. */
typedef int (*bpf_source_heap_site_callback)(void *data, const struct heap_site *site,
					     u64 oldest_ns);
int bpf_source_heap_sites(const struct bpf_source *source, bpf_source_heap_site_callback callback,
			  void *data);

#endif
