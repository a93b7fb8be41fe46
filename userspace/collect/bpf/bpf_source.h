/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The BPF programs as a source of records: load, attach what a plan says, open and close the window, drain
 * the rings, read the counters and the calls still open. One per session. Only the drain thread may call
 * bpf_source_drain and bpf_source_wait while the window is open; everything else is the main thread's.
 */
#ifndef GPUPROBE_COLLECT_BPF_BPF_SOURCE_H
#define GPUPROBE_COLLECT_BPF_BPF_SOURCE_H

#include "base/types.h"
#include "../bpf/record.h"
#include "../bpf/heap.h"
#include "../bpf/shared.h"
#include "probe/kernel.h"
#include "plan/plan.h"
#include "plan/site_check.h"
#include "unwind/unwind_words.h"
#include "../bpf/python_layout.h"
#include "probe/uprobe.h"
#include "base/err.h"

struct bpf_source;

struct bpf_source_settings {
	u64 ring_bytes;	       /* a power of two, for each CPU */
	bool follow_children;  /* what a target forks becomes one from its first instruction on */
	u32 returns;	       /* VALUE_returns_* of the functions that will be attached, a bit each; 0: there are none */
	bool single;	       /* some of them by single probes */
	size_t function_count; /* of that plan */
	size_t usdt_sites;     /* of its USDT probes */
	bool cupti_calls;      /* those of libcupti are watched, beside the plan */
	size_t counted_count;  /* of them: functions of which calls are only counted */
	bool allocators;       /* some of them allocate memory; then: */
	bool matmuls;	       /* some of them multiply matrices */
	u32 device_number;     /* of the only GPU of this machine; ~0: there are several, or none */
	const struct plan *heap_plan; /* of allocations of host memory; must outlive the source; NULL: none */
	bool heap_events;	      /* every one of them is to be a record */
	bool off_cpu;	       /* bpf_source_attach_off_cpu() will be called */
	u64 off_cpu_min_ns;    /* shorter waits are not recorded */
	bool growth;	       /* bpf_source_attach_growth() will be called; the abilities allow it */
	bool call_stacks, usdt_stacks, launch_stacks;
	u32 launch_samples_per_second; /* so many of these; 0: all */
	bool unwinds;	       /* targets will have unwind tables */
	bool python;	       /* and Python's frames in their stacks, where this kernel's verifier lets them be read */
	u64 sample_period_ns;  /* bpf_source_attach_samples() will be called; 0: it will not */
};

/* Loads the programs that the settings need and the abilities allow. A kernel that refuses them, and takes them without what walks stacks
 * by unwind tables, gets them so: bpf_source_walks_refused(). */
int bpf_source_open(const struct kernel_abilities *abilities,
		    const struct bpf_source_settings *settings, struct bpf_source **ret_source,
		    struct err *err);
bool bpf_source_walks_refused(const struct bpf_source *source);
struct bpf_source *bpf_source_free(struct bpf_source *source); /* NULL allowed; returns NULL */

/* watched_thread: the one of which a process event tells the end; 0: none. Added again: another one is watched. */
int bpf_source_add_target(struct bpf_source *source, u32 pid, u32 watched_thread, struct err *err);
/* Numbers of all targets, children included; the caller frees. 0 or -ENOMEM. */
int bpf_source_targets(const struct bpf_source *source, u32 **ret_pids, size_t *ret_count);
void bpf_source_remove_target(struct bpf_source *source, u32 pid);

struct source_targets {
	const struct plan *plan;
	const struct target *targets;
	size_t target_count;
	bool single; /* all probes are single ones */
};

/* Functions get links that can go without the others, a few functions together where there are many, those for which may_go()
 * says so apart from the rest. Before anything of the plan is attached. 0 or -ENOMEM. */
int bpf_source_split(struct bpf_source *source, const struct plan *plan,
		     bool (*may_go)(const struct plan_function *function));
/* The id of a probe (and of its name's text) is 1 + the function's place in the plan. */
int bpf_source_attach(struct bpf_source *source, const struct source_targets *targets,
		      struct err *err);
/* What of it was left out, since something else stands there by now. */
const struct site_changes *bpf_source_changed_sites(const struct bpf_source *source);
/* The part of it that names a process, for one process. They belong to set. */
struct process_links {
	u32 thread;    /* that names the process: the first one, but for single probes */
	size_t target; /* only modules that this target maps; SIZE_MAX: all */
	bool single;
	u32 tag; /* only links with this one; 0: all */
};
int bpf_source_attach_process(struct bpf_source *source, const struct plan *plan,
			      const struct process_links *links, struct uprobe_set *set,
			      struct err *err);
/* An agent records what this process does to GPU memory. */
int bpf_source_leave_memory_to_agent(struct bpf_source *source, u32 pid, struct err *err);

/* ---- threads in targets that are not theirs; bpf_source_own.c, from any thread of ours ---- */

/* An agent will be put into the process: who makes which of its threads is noted from now on. */
int bpf_source_expect_agent(struct bpf_source *source, u32 pid, struct err *err);
/* The thread is an agent's, and so is what it made, and makes: nothing of them is recorded any more. tid 0: not known. */
void bpf_source_own_thread(struct bpf_source *source, u32 pid, u32 tid);
/* The same of what a thread of the target made for the agent, in this time. */
struct own_makers {
	u32 tid;
	u64 from_ns, until_ns;
};
void bpf_source_own_made_by(struct bpf_source *source, const struct own_makers *makers);
/* Those that are there now; is_agent: one that was named. 0, what the callback said, which ends it, or -errno. */
typedef int (*own_thread_callback)(void *data, u32 pid, u32 tid, bool is_agent);
int bpf_source_own_threads(const struct bpf_source *source, own_thread_callback callback,
			   void *data);

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
/* ---- unwind tables, by which stacks are walked; bpf_source_unwind.c, from any one thread of ours at a time ---- */

/* Rules that are new: those from number `first` on. Before the words that name them. */
int bpf_source_put_unwind_rules(const struct bpf_source *source, const struct unwind_rule *rules,
				size_t first, size_t count, struct err *err);
/* A map with the table of a file: its descriptor, or -errno. ret_mapped: its words, which may be changed; the caller unmaps. */
int bpf_source_make_unwind_file(const struct unwind_words *words, u32 **ret_mapped, struct err *err);
/* The tables of files, by any numbers below UNWIND_FILES_MAX that they had not before; the maps stay the caller's. All at once: after
 * each change the kernel waits until no program can see what was there before (7 to 26 ms). */
int bpf_source_put_unwind_files(const struct bpf_source *source, const u32 *files, const int *maps,
				size_t count, struct err *err);
/* Is it known what the process maps? No longer when it has executed another program. */
bool bpf_source_has_unwind_space(const struct bpf_source *source, u32 pid);
/* What a process maps of files, tables of which may come later; sorted, UNWIND_PROCESS_MAX at most. -ENOSPC: there is no room for so
 * many any more, its stacks are taken by frame pointers. */
int bpf_source_put_unwind_space(struct bpf_source *source, u32 pid,
				const struct unwind_mapping *mappings, size_t count,
				struct err *err);

/* ---- frames of Python in stacks; bpf_source_python.c ---- */

/* They may be there. */
bool bpf_source_reads_python(const struct bpf_source *source);
/* They were to be there, but this kernel refuses the programs that read them. */
bool bpf_source_refuses_python(const struct bpf_source *source);
/* Its interpreter. Any thread. */
int bpf_source_put_python(const struct bpf_source *source, u32 pid, const struct python_process *process,
			  struct err *err);
void bpf_source_drop_python(const struct bpf_source *source, u32 pid);
/* Has it one? No longer when it has executed another program. Any thread. */
bool bpf_source_has_python(const struct bpf_source *source, u32 pid);
/* 0 or -ENOENT. */
int bpf_source_get_python(const struct bpf_source *source, u32 pid, struct python_process *ret_process);
/* In how many processes at most ends of code objects can be counted: in none where programs of a CPU may be in each other's way, so that what one of them notes
 * of a code object may be of another. */
size_t bpf_source_python_ends_max(const struct bpf_source *source);
/* In the process, at the function of this file in which code objects end. From then on, */
int bpf_source_attach_python_ends(const struct bpf_source *source, u32 pid, int file_fd, u64 offset,
				  struct uprobe_set *set, struct err *err);
/* or before they are taken off (0). -errno: the process has no interpreter any more. */
int bpf_source_set_python_generation(const struct bpf_source *source, u32 pid, u64 generation);
/* Code objects that came, whose frames may be in stacks. The drain thread's. */
void bpf_source_take_python_codes(struct bpf_source *source,
				  void (*callback)(void *data, const struct python_code *code, size_t size_bytes),
				  void *data);

/* For calibration: a plan of at most CALIBRATION_PROBES functions of our own program, in our own process. */
#define CALIBRATION_PROBES 8
int bpf_source_attach_own(struct bpf_source *source, const struct plan *plan, struct err *err);
/* The same for a program that takes a stack, and nothing else. */
int bpf_source_attach_stack(struct bpf_source *source, int file_fd, u64 file_offset, struct err *err);
/* The same for one that does nothing, at the entry or at entry and return. Loaded where there are allocators of host memory,
 * USDT probes, or frames of Python. */
int bpf_source_attach_trap(struct bpf_source *source, int file_fd, u64 file_offset, bool with_return,
			   struct err *err);

/* Functions of one file of libcupti in one process. */
struct cupti_functions {
	int file_fd;
	u32 thread; /* that names the process */
	u64 *offsets, *cookies; /* cookies: rows of gpu/cupti/cupti_watched.def */
	size_t count;
};
/* Their calls go into a ring of their own, as struct cupti_call_event. */
int bpf_source_attach_cupti(const struct bpf_source *source, struct uprobe_set *set,
			    const struct cupti_functions *functions, struct err *err);
int bpf_source_cupti_calls(const struct bpf_source *source);

/* From now_ns on no call is taken of this function, nor of those that share its links; calls that are open then end there. Its
 * links stay in. */
void bpf_source_silence(struct bpf_source *source, size_t function, u64 now_ns);
/* The same, and these links are to be taken out, inside the window, with those for its stacks of launches, which have a tag of their
 * own. How many tags it has. */
#define FUNCTION_TAGS_MAX 2
size_t bpf_source_switch_off(struct bpf_source *source, size_t function, u64 now_ns,
			     u32 ret_tags[static FUNCTION_TAGS_MAX]);
bool bpf_source_is_off(const struct bpf_source *source, size_t function); /* by the last one */
/* Moves the links with this tag, which is switched off, to another set. */
void bpf_source_take_tagged(struct bpf_source *source, u32 tag, struct uprobe_set *to);
/* Takes them out, with those of other sets that have that tag. Blocks: some 50 ms, whatever their number. */
void bpf_source_detach_taken(struct bpf_source *source, struct uprobe_set *taken);
/* Then: puts the other functions with this tag in again, which were not recorded from since_ns on. How many they are; 0 with
 * err set: nor will they be. */
size_t bpf_source_switch_others_on(struct bpf_source *source, const struct source_targets *targets,
				   u32 tag, u64 since_ns, struct err *err);
/* All probes of a sort: of allocators of host memory, for stacks of launches, or USDT probes; children get none any more. Returns the
 * tag of its links, 0: it has none. */
u32 bpf_source_switch_sort_off(struct bpf_source *source, enum price_sort sort);
bool bpf_source_sort_is_off(const struct bpf_source *source, enum price_sort sort);
const struct uprobe_set *bpf_source_uprobes(const struct bpf_source *source);
/* Moves what bpf_source_detach() would take off to another set. */
void bpf_source_hand_over(struct bpf_source *source, struct uprobe_set *to);
void bpf_source_detach(struct bpf_source *source, void (*progress)(void *data, size_t links_left),
		       void *data);

void bpf_source_set_window(struct bpf_source *source, bool open);
/* From now on only so many stacks of launches are taken, by chance. */
void bpf_source_sample_launches(struct bpf_source *source, u32 per_second);
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
/* Hits of each function of a plan, summed over all CPUs; hits has room for function_count. 0 or -errno. */
int bpf_source_hits(const struct bpf_source *source, size_t function_count, struct probe_hits *ret_hits);
/* Hands over what was counted of each function and process, summed over all CPUs; after the window was closed. */
int bpf_source_function_counts(const struct bpf_source *source,
			       int (*callback)(void *data, const struct function_count_key *key,
					       const struct function_count *count),
			       void *data);
/* To zero: what calibration counted is not the target's. */
int bpf_source_reset_counters(struct bpf_source *source, struct err *err);
/* Hits that the kernel dropped before our programs ran. */
u64 bpf_source_missed(const struct bpf_source *source);
/* The same on tracepoints, where events of all processes count, targets or not: of threads, and of memory but for faults in
 * the kernel (their program is missed where it looks at a stack that is not there). */
u64 bpf_source_missed_task_events(const struct bpf_source *source);
u64 bpf_source_missed_growth(const struct bpf_source *source);
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
/* Looks through the open files of the machine for those who have one of these open; one that has it twice comes twice. 0 or -errno: then not all
 * were found (-EAGAIN: more than OPEN_FILES_MAX are open). Blocks: milliseconds for some 10,000 open files, some 0.5 s for as many as that. */
int bpf_source_find_holders(const struct bpf_source *source, const struct pipe_end *ends, size_t count,
			    void (*callback)(void *data, const void *holder), void *data);
void bpf_source_detach_off_cpu(struct bpf_source *source);
/* The same inside the window. Returns the moment up to which the waits that begin are recorded all, and from which on none is.
 * Blocks: milliseconds. */
u64 bpf_source_end_off_cpu(struct bpf_source *source);
/* Finds out which of the waits that are open are so in truth: a kernel that hides some of its processes does not tell all ends. Right
 * before the window is closed; where it fails, all count as open. */
void bpf_source_find_off_cpu(struct bpf_source *source);
/* Hands over the waits still open (struct record_off_cpu), and those that were when waits were switched off (their end unseen); only after
 * the window was closed. */
int bpf_source_open_off_cpu(struct bpf_source *source, bpf_source_callback callback, void *data);

/* What was too short to be recorded each (struct record_short_wait), as the last one. */
int bpf_source_short_waits(struct bpf_source *source, bpf_source_callback callback, void *data);

/* ---- where threads run, and how long they do; bpf_source_samples.c ---- */

/* After the targets were added. What is attached goes again where it fails. */
int bpf_source_attach_samples(struct bpf_source *source, struct err *err);
/* Right after the window was opened; nothing where it was not attached, as the next ones. */
void bpf_source_start_samples(struct bpf_source *source);
/* Ends them, inside the window (window_end_ns: 0) or right behind it, and hands over how long each thread has run (struct record_thread_time); of those that
 * end later the rings have it. 0 or -errno. */
int bpf_source_end_samples(struct bpf_source *source, u64 window_end_ns,
			   bpf_source_callback callback, void *data);
void bpf_source_detach_samples(struct bpf_source *source);

/* ---- targets that change code in which there are probes; bpf_source_code.c ---- */

/* Before anything is attached to a target. names: how the names of libraries begin that patch others. Where the kernel can't tell, 0
 * all the same, and nothing will be told. */
int bpf_source_watch_code(struct bpf_source *source, const struct code_patcher *names, size_t count,
			  struct err *err);
/* A file with probes, by the number of its inode: who maps code of it, or executes it, waits until its place is known. */
int bpf_source_put_code_file(const struct bpf_source *source, u64 inode);
/* Where in a process probes are, or will be; a child that it forks from then on has them too, and it goes on to be watched where there
 * are none now. Fills in held_ns. */
int bpf_source_put_probed_code(const struct bpf_source *source, u32 pid, struct probed_code *code);
void bpf_source_forget_probed_code(const struct bpf_source *source, u32 pid);
/* From now on threads that change such code wait, CODE_HOLD_NS at most, until they are released; or no longer. */
void bpf_source_hold_code(const struct bpf_source *source, bool hold);
/* Has that thread waited all the time since the event, and does it still? */
bool bpf_source_is_code_held(const struct bpf_source *source, const struct code_write_event *event);
void bpf_source_release_code(const struct bpf_source *source, const struct code_write_event *event);
/* How many went on before what they did was answered; until it is, who changes any mapping waits. */
u32 bpf_source_code_late(const struct bpf_source *source);
void bpf_source_add_code_late(const struct bpf_source *source);
void bpf_source_answer_code_late(const struct bpf_source *source, u32 count);
int bpf_source_code_fd(const struct bpf_source *source); /* polls readable when there is something; -1: there never is */
typedef void (*bpf_source_code_callback)(void *data, const struct code_write_event *event);
/* true: some were lost, for which there was no room, since it was asked last. */
bool bpf_source_take_code_writes(struct bpf_source *source, bpf_source_code_callback callback,
				 void *data);
void bpf_source_unwatch_code(struct bpf_source *source);

/* ---- how memory grows; bpf_source_growth.c ---- */

int bpf_source_attach_growth(struct bpf_source *source, struct err *err);
void bpf_source_detach_growth(struct bpf_source *source);
/* Hands over the sums (struct record_growth), of the time that is given; only after the window was closed. 0, what the
 * callback said, or -errno. */
int bpf_source_take_growth(struct bpf_source *source, u64 start_ns, u64 dur_ns,
			   bpf_source_callback callback, void *data);

/* ---- allocations of host memory; bpf_source_heap.c: its probes are attached with all others, also to children, and their
 * ids come behind those of the other plan ---- */

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
