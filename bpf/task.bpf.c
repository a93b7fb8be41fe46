/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The life of targets: names that change, code that they map, calls that end with their thread or by execve, and
 * the calls that are still open when everything is detached. Preemption is off for what growth.bpf.c says.
 */
#include "emit.h"
#include "own_threads.h"
#include "returns.h"
#include "threads.h"
#include "unwind_maps.h"
#include "python_maps.h"
#define PREEMPTION_FLAVOUR task
#include "preemption.h"

static __always_inline void send_name(const struct task_struct *task, const void *name)
{
	struct record_task record = {};

	fill_header(&record.header, sizeof(record), KIND_task, bpf_ktime_get_ns(), 0,
		    (u64)task->tgid << 32 | (u32)task->pid, 0);
	bpf_probe_read_kernel_str(record.comm, sizeof(record.comm), name);
	emit(&record.header, sizeof(record));
}

/* Before the window too: the name that a child has from its parent was sent when it was forked. */
SEC("tp_btf/task_rename")
int task_renamed(u64 *context)
{
	struct task_struct *task = (void *)context[0];

	if (!is_target_thread(task->tgid, task->pid))
		return 0;
	preemption_off();
	send_name(task, (void *)context[1]);
	preemption_on();
	return 0;
}

/* What was known of the target when the probes were planned holds no longer. */
static __always_inline void changes_set(u32 tgid, u32 changes)
{
	if (bpf_map_update_elem(&changed_targets, &tgid, &changes, BPF_ANY))
		code_mapped = CODE_MAPPED_BY_ANY;
	else if (code_mapped == CODE_MAPPED_BY_NONE)
		code_mapped = CODE_MAPPED_BY_SOME;
}

/* On the function that the dynamic linker calls for debuggers each time it has mapped or unmapped libraries,
 * before their first instruction runs. The linker lets one thread at a time do so. */
SEC("uprobe.multi")
int loader_hit(struct pt_regs *registers)
{
	u32 tgid = bpf_get_current_pid_tgid() >> 32, *changes, *judged, before = 0;

	if (!is_target(tgid))
		return 0;
	changes = bpf_map_lookup_elem(&changed_targets, &tgid);
	if (changes) {
		before = *changes;
		__sync_fetch_and_add(changes, 1);
	} else {
		changes_set(tgid, 1);
	}
	/* Read behind the change (an atomic addition is a barrier): userspace, which writes this one first, would
	 * else miss it. */
	judged = bpf_map_lookup_elem(&judged_targets, &tgid);
	if (before == (judged ? *judged : 0))
		tell_userspace(PROCESS_MAPPED_CODE, tgid, 0);
	return 0;
}

/* Runs in the thread that ends. After the window has closed its calls count as open; nobody could
 * read them later, because their thread takes its state along. */
static __always_inline void end_calls(u8 ended, bool forget_stack)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct thread_state *state;

	/* Of waits and of memory nothing is missed by that. */
	if (has_probes && window_open && ended == VALUE_call_ended_exec)
		count_loss(VALUE_loss_reason_target_exec);
	state = thread_state_find(bpf_get_current_task_btf());
	if (!state)
		return;
	if (!window_open)
		ended = VALUE_call_ended_open;
	close_all_frames(state, pid_tgid, ended);
	state->frames.ghosts = 0;
	if (forget_stack)
		state->home_low = state->home_high = state->home_unknown = state->alternate_bytes =
			0;
}

/* The child has mapped what its parent has. */
static __always_inline void inherit_changes(u32 parent, u32 child)
{
	u32 *judged = bpf_map_lookup_elem(&judged_targets, &parent);
	u32 *changes = bpf_map_lookup_elem(&changed_targets, &parent);

	if (changes && judged)
		bpf_map_update_elem(&judged_targets, &child, judged, BPF_ANY);
	if (changes)
		changes_set(child, *changes);
}

/* What its parent's agent does for the parent, an agent of its own does for it, once it starts CUDA. */
static __always_inline void inherit_accounts(u32 parent, u32 child)
{
	u32 *by_agent = bpf_map_lookup_elem(&accounted_by_agent, &parent);

	if (by_agent)
		bpf_map_update_elem(&accounted_by_agent, &child, by_agent, BPF_ANY);
}

/* The child's code lies where its parent's does, until it executes another program. */
static __always_inline void inherit_tables(u32 parent, u32 child)
{
	struct unwind_space *space = bpf_map_lookup_elem(&unwind_spaces, &parent);

	if (space)
		bpf_map_update_elem(&unwind_spaces, &child, space, BPF_ANY);
}

/* And its interpreter is a copy of its parent's, in which nobody counts yet. */
static __always_inline void inherit_python(u32 parent, u32 child)
{
	struct python_process *process = bpf_map_lookup_elem(&python_processes, &parent);

	if (!process || bpf_map_update_elem(&python_processes, &child, process, BPF_ANY))
		return;
	process = bpf_map_lookup_elem(&python_processes, &child);
	if (process)
		process->generation = 0;
}

/* So are the breakpoints in it. */
static __always_inline void inherit_probes(u32 parent, u32 child)
{
	struct probed_code *code = bpf_map_lookup_elem(&probed_code, &parent);

	if (code)
		bpf_map_update_elem(&probed_code, &child, code, BPF_ANY);
}

static __always_inline void follow_child(u32 parent, struct task_struct *child,
					 struct counters *mine)
{
	u32 pid = child->tgid, no_thread = 0;

	if (bpf_map_update_elem(&targets, &pid, &no_thread, BPF_ANY)) {
		mine->children_refused++;
		return;
	}
	mine->children++;
	inherit_changes(parent, pid);
	inherit_accounts(parent, pid);
	inherit_tables(parent, pid);
	inherit_python(parent, pid);
	inherit_probes(parent, pid);
	send_name(child, child->comm);
	tell_userspace(PROCESS_FORKED, pid, parent);
}

/* Its stack is a copy, with the return addresses that were hijacked in the thread that forked it. */
static __always_inline void note_heir(struct task_struct *parent, struct task_struct *child)
{
	u32 pid = child->tgid, one = 1;

	if (child->mm != parent->mm && BPF_CORE_READ(parent, utask, return_instances))
		bpf_map_update_elem(&heirs, &pid, &one, BPF_ANY);
}

static __always_inline void note_child(struct task_struct *parent, struct task_struct *child)
{
	struct counters *mine = counters_get();

	if (mine && follow_children)
		follow_child(parent->tgid, child, mine);
	else if (mine && window_open && child->mm != parent->mm)
		mine->forks++;
}

static __always_inline void forget_target(u32 pid)
{
	bpf_map_delete_elem(&targets, &pid);
	bpf_map_delete_elem(&changed_targets, &pid);
	bpf_map_delete_elem(&judged_targets, &pid);
	bpf_map_delete_elem(&accounted_by_agent, &pid);
	bpf_map_delete_elem(&agent_processes, &pid);
	bpf_map_delete_elem(&unwind_spaces, &pid);
	bpf_map_delete_elem(&python_processes, &pid);
	bpf_map_delete_elem(&probed_code, &pid);
}

static __always_inline bool is_known(u32 pid)
{
	return is_target(pid) || is_heir(pid);
}

/* A new process has the number of one that is gone, but not freed yet: that takes milliseconds. Nothing that is known of that one holds
 * for this one, and nothing of this one is over when that one is freed. */
static __always_inline void forget_former(u32 pid)
{
	u32 was_target = is_target(pid);

	bpf_map_update_elem(&former_targets, &pid, &was_target, BPF_ANY);
	bpf_map_delete_elem(&heirs, &pid);
	forget_target(pid);
}

/* Is it called as its process is? Most are: facts are kept in memory, and servers make a thread for each request. */
static __always_inline bool is_called_as_process(const struct task_struct *task)
{
	u64 own[2] = {}, process[2] = {};

	bpf_probe_read_kernel(own, sizeof(own), task->comm);
	bpf_probe_read_kernel(process, sizeof(process), task->group_leader->comm);
	return own[0] == process[0] && own[1] == process[1];
}

/* By what name it begins nobody tells later: it may have ended, or never be renamed. */
static __always_inline void thread_made(struct task_struct *parent, struct task_struct *child,
					bool target)
{
	if (agents_are_about)
		own_thread_made(parent, child);
	if (target && !is_own_thread(child->pid) && !is_called_as_process(child))
		send_name(child, child->comm);
}

/*
 * A new thread, of which only who made it and its name are noted, or a new process, before it runs. Its memory is a copy of its parent's, breakpoints included: it pays for
 * them, recorded or not. One that shares the memory of its parent (vfork) carries them only for as long as that.
 */
SEC("tp_btf/sched_process_fork")
int task_forked(u64 *context)
{
	struct task_struct *parent = (void *)context[0], *child = (void *)context[1];
	bool target = is_target(parent->tgid);

	if (child->tgid != parent->tgid && is_known(child->tgid)) {
		preemption_off();
		forget_former(child->tgid);
		preemption_on();
	}
	if (child->tgid == parent->tgid) {
		if (!target && !(agents_are_about && has_agent(parent->tgid)))
			return 0;
		preemption_off();
		thread_made(parent, child, target);
		preemption_on();
		return 0;
	}
	if (!target && !is_heir(parent->tgid))
		return 0;
	preemption_off();
	note_heir(parent, child);
	if (target)
		note_child(parent, child);
	preemption_on();
	return 0;
}

static __always_inline void count_cpu_time(struct task_struct *task)
{
	struct counters *mine = counters_get();

	if (mine)
		mine->ended_cpu_ns += task->signal->sum_sched_runtime;
}

/* Its first thread goes last. The number of a process that is gone may become a stranger's. */
SEC("tp_btf/sched_process_free")
int task_freed(u64 *context)
{
	struct task_struct *task = (void *)context[0];
	u32 pid = task->tgid, *was_target;

	own_thread_freed(task->pid);
	if (task->pid != task->tgid)
		return 0;
	preemption_off();
	was_target = bpf_map_lookup_elem(&former_targets, &pid);
	if (was_target ? *was_target : is_target(pid))
		count_cpu_time(task);
	if (was_target) {
		bpf_map_delete_elem(&former_targets, &pid);
	} else if (is_known(pid)) {
		bpf_map_delete_elem(&heirs, &pid);
		forget_target(pid);
	}
	preemption_on();
	return 0;
}

#define SIGNAL_GROUP_EXIT 0x4 /* of signal_struct.flags: all threads are ending */

SEC("tp_btf/sched_process_exit")
int task_exit(void *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 pid_tgid = bpf_get_current_pid_tgid();
	u32 pid = pid_tgid >> 32, *watched = bpf_map_lookup_elem(&targets, &pid);

	if (!watched)
		return 0;
	preemption_off();
	if (*watched == (u32)pid_tgid && !(task->signal->flags & SIGNAL_GROUP_EXIT))
		tell_userspace(PROCESS_THREAD_ENDED, pid, *watched);
	end_calls(VALUE_call_ended_thread_exit, false);
	preemption_on();
	return 0;
}

SEC("tp_btf/sched_process_exec")
int task_exec(void *context)
{
	u32 tgid = bpf_get_current_pid_tgid() >> 32;

	if (!is_target(tgid))
		return 0;
	preemption_off();
	changes_set(tgid, CHANGED_FOR_GOOD);
	if (walks_by_tables) {
		bpf_map_delete_elem(&unwind_spaces, &tgid);
		bpf_map_delete_elem(&python_processes, &tgid);
	}
	tell_userspace(PROCESS_UNKNOWN_CODE, tgid, 1);
	end_calls(VALUE_call_ended_exec, true);
	preemption_on();
	return 0;
}

/* Context of the loops below. */
struct write_calls {
	struct seq_file *seq;
	struct thread_state *state;
	u64 pid_tgid;
};

static __always_inline void write_open_call(const struct write_calls *calls,
					    const struct frame *frame)
{
	u64 since = switched_off_since(frame->probe);
	bool is_off = since > frame->ts;
	struct record_call call = {};
	u32 probe = frame->probe & PROBE_ID_MASK;

	if (!frame->sp)
		return;
	fill_header(&call.header, sizeof(call), KIND_call, frame->ts,
		    is_off ? since - frame->ts : RECORD_DURATION_OPEN, calls->pid_tgid, probe);
	call.probe = probe;
	call.ended = is_off ? VALUE_call_ended_switched_off : VALUE_call_ended_open;
	bpf_seq_write(calls->seq, &call, sizeof(call));
}

static long write_open_at(u32 index, struct write_calls *calls)
{
	if (index >= calls->state->frames.depth)
		return 1;
	write_open_call(calls, frames_at(&calls->state->frames, index));
	return 0;
}

static long write_open_away_at(u32 index, struct write_calls *calls)
{
	write_open_call(calls, away_at(&calls->state->away, index));
	return 0;
}

/* Read after detaching: nothing changes the frames any more. */
SEC("iter/task")
int open_calls(struct bpf_iter__task *context)
{
	struct write_calls calls = {.seq = context->meta->seq};
	struct task_struct *task = context->task;

	if (!task || !is_target(task->tgid))
		return 0;
	calls.pid_tgid = (u64)task->tgid << 32 | (u32)task->pid;
	calls.state = thread_state_find(task);
	if (!calls.state)
		return 0;
	bpf_loop(FRAMES_MAX, write_open_at, &calls, 0);
	bpf_loop(AWAY_FRAMES_MAX, write_open_away_at, &calls, 0);
	return 0;
}
