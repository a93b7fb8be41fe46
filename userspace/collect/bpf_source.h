/*
 * The BPF programs as a source of records: load, attach what a plan says, open and close the window, drain
 * the rings, read the counters and the calls still open. One per session. Only the drain thread may call
 * bpf_source_drain and bpf_source_wait while the window is open; everything else is the main thread's.
 */
#ifndef GPUPROBE_COLLECT_BPF_SOURCE_H
#define GPUPROBE_COLLECT_BPF_SOURCE_H

#include "base/types.h"
#include "../bpf/record.h"
#include "../bpf/shared.h"
#include "attach/kernel.h"
#include "attach/plan.h"
#include "attach/uprobe.h"
#include "base/err.h"

struct bpf_source;

/* Loads the programs that abilities allow. ring_bytes: a power of two, for each CPU. */
int bpf_source_open(const struct kernel_abilities *abilities, u64 ring_bytes,
		    struct bpf_source **ret_source, struct err *err);
struct bpf_source *bpf_source_free(struct bpf_source *source); /* NULL allowed; returns NULL */

int bpf_source_add_target(struct bpf_source *source, u32 pid, struct err *err);
void bpf_source_remove_target(struct bpf_source *source, u32 pid);

/* The id of a probe (and of its name's text) is 1 + the function's place in the plan. */
int bpf_source_attach(struct bpf_source *source, const struct plan *plan,
		      const struct target *targets, bool single, struct err *err);
/* One function of a file, for calibration. */
int bpf_source_attach_one(struct bpf_source *source, int file_fd, u64 file_offset, bool session,
			  u32 pid, struct err *err);
const struct uprobe_set *bpf_source_uprobes(const struct bpf_source *source);
void bpf_source_detach(struct bpf_source *source, void (*progress)(void *data, size_t links_left),
		       void *data);

void bpf_source_set_window(struct bpf_source *source, bool open);

/* Hands each record that is in the rings to the callback; a negative result of it ends this round (the
 * record counts as taken). Returns the number of records or that result. */
typedef int (*bpf_source_callback)(void *data, const struct record_header *record, size_t size_bytes);
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

#endif
