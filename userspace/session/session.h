/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording from attach to end: the state machine over one epoll. It owns attaching, the threads, the
 * window and the way back; it prints nothing (the verb does, in the callbacks).
 *
 *	load -> calibrate, and agents in meanwhile -> attach -> [window opens] -> record -> [window closes] -> detach, and
 *	meanwhile agents out -> drain -> names -> end
 *
 * Everything after the first error or signal goes the same way back, and what was recorded is kept.
 */
#ifndef GPUPROBE_SESSION_SESSION_H
#define GPUPROBE_SESSION_SESSION_H

#include <signal.h>

#include "process/code_map.h"
#include "process/command.h"
#include "probe/kernel.h"
#include "plan/plan.h"
#include "base/err.h"
#include "collect/agent/agents.h"
#include "collect/bpf/open_returns.h"
#include "session/processes.h"
#include "collect/recording_settings.h"
#include "store/kernel_texts.h"
#include "store/stack_addresses.h"
#include "python/python_codes.h"

struct session_status {
	u64 elapsed_ns;	 /* of the window */
	u64 duration_ns; /* 0: until the targets end or a signal comes */
	u64 event_count;
	u64 lost_count;	       /* records that did not make it */
	u64 no_duration_count; /* calls of which only the entry could be taken */
	u64 open_wait_count;   /* at the end: threads that are off their CPU since */
	u64 unseen_children; /* forked by the targets: they carry the probes too, and are not recorded */
	u64 refused_children; /* forked by the targets, but there was no room for them among the targets */
	struct processes_status processes;
	struct open_returns open_returns; /* after the end */
	size_t links_left; /* after the end: of probes that the kernel had not taken off in time, */
	u32 guardian_pid;  /* and the process that waits for it */
	double overhead_percent;	  /* of the targets' CPU time, estimated; < 0: unknown */
	u64 overhead_ns;		  /* the same in CPU time, */
	u64 cpu_ns;			  /* of so much of theirs */
	double recent_percent;		  /* the same of the last second or so, of what no level switched on, 0 where it is little of one CPU, */
	const char *dearest_name;	  /* and what of it costs most; NULL: nothing does */
	double dearest_percent;
	/* What threads of the agents and of CUPTI do beside the targets' own, percent of the targets' CPU time; < 0: none are
	 * there, or it is not known. */
	double beside_percent;
	bool kernels_not_priced, calls_not_priced; /* overhead_percent is without what these of the GPU side cost */
	u64 inherited_ns; /* what a hit costs a forked child that is not recorded; 0: not known */
	size_t switched_off_count;
	size_t function_count;		  /* attached */
	size_t refused_count;		  /* that the kernel refused */
	bool walks_refused; /* the kernel refused what walks stacks by unwind tables */
	struct site_changes changes;	  /* that were left out, since the code there has changed */
};

enum session_end { SESSION_TIME_OVER, SESSION_SIGNAL, SESSION_TARGETS_ENDED, SESSION_FAILED };

struct session_config {
	const struct recording_settings *settings;
	const struct kernel_abilities *abilities;
	const struct target *targets;
	size_t target_count;
	const struct plan *plan;
	struct command *command; /* released when the window is open; NULL: none */
	const struct plan *heap_plan; /* of allocations of host memory; NULL: they are not recorded */
	bool single_probes;
	const struct agents_config *agents; /* NULL: none are put in */
	bool agents_needed; /* end before anything is attached when one that was put in does not work */
	int capture_fd;	 /* an empty file */
	bool keeps_unwind_tables; /* for the next time, see unwind/unwind_cache.h */
	/* Callbacks, each of which may be NULL. on_slow_agent: to put one in takes long: what is waited for, and for how long at most. on_agents:
	 * they have given their answers; ends: by agents_needed the session ends here. */
	void (*on_slow_agent)(void *data, const struct target *target, const char *what, u64 left_ns);
	void (*on_agents)(void *data, const struct agents *agents, bool ends);
	void (*on_window_open)(void *data, const struct session_status *status);
	void (*on_tick)(void *data, const struct session_status *status); /* some times a second */
	void (*on_detach)(void *data, size_t links_left);
	/* Stacks were recorded: adds what is known of their addresses to batch, texts by texts. Detached is everything,
	 * and the targets live on as a rule. -ENOMEM ends the recording. */
	int (*on_stacks)(void *data, const struct stack_addresses *stacks, const struct code_map *code,
			 const struct python_codes *python, struct text_ids *texts, struct batch *batch);
	/* Kernels were recorded: the same for where they are written. */
	int (*on_kernels)(void *data, const struct kernel_texts *kernels, const struct code_map *code,
			  struct text_ids *texts, struct batch *batch);
	/* It (they, where the name is a plural) cost so much in the last second or so, and is not recorded from elapsed_ns of the window on. */
	void (*on_switched_off)(void *data, const char *name, bool is_plural, u64 elapsed_ns, double percent);
	/* The same, and from there on only so many a second are taken of it, by chance. */
	void (*on_sampled)(void *data, const char *name, u32 per_second, u64 elapsed_ns, double percent);
	/* A process changes its code there, or does what is a reason to expect that (why; else NULL): it is not recorded from elapsed_ns of
	 * the window on, nor are so many others. */
	/* Frames of Python are not read: of the first process of which they are not. In the window or before it. */
	void (*on_python_refused)(void *data, const char *why);
	void (*on_code_changed)(void *data, const char *name, size_t others, u32 pid,
				const char *why, u64 elapsed_ns);
	void *callback_data;
};

struct session_result {
	enum session_end end;
	bool window_opened;    /* there is something in the capture */
	bool agents_failed;    /* agents_needed, and one does not work: nothing was recorded */
	struct agents *agents; /* for agents_report(); the caller frees; NULL: there were none */
	struct session_status status;
};

/* Those that end one: blocked while it goes on. One that comes when agents_failed is found stays, for the next one, if the caller
 * has them blocked. */
void session_signals(sigset_t *ret_signals);

/* ret_result is set also on failure. */
int session_run(const struct session_config *config, struct session_result *ret_result,
		struct err *err);

#endif
