/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/processes.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "process/descendants.h"
#include "process/loader.h"
#include "process/process_rank.h"
#include "process/process_title.h"
#include "base/clock.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "session/mapped_code.h"
#include "../bpf/record.h"

#define THREADS_MAX_TRIES 100
#define HELD_MAX	  100 /* each takes 0.1 s to take off */

struct child {
	u32 pid;
	int pidfd;	 /* -1: it has ended */
	u64 cpu_time_ns; /* when last looked at; 0: it has ended, the BPF programs add it up */
	char *title;	 /* when last looked at; NULL: none */
	bool has_rank;
	struct process_rank rank;
	u32 ticks; /* of its life */
	struct uprobe_set links;
};

struct remover {
	pthread_t thread;
	bool running;
	atomic_bool done, stop;
	struct uprobe_set links; /* the thread's while it is running and not done */
};

struct processes {
	struct processes_config config;
	bool names_children; /* some files need links that name each child */
	struct child *children;
	size_t child_count, child_capacity;
	struct remover remover;
	struct uprobe_set renewed; /* attached again after a thread had ended */
	struct uprobe_set held;	   /* see uprobe_hold() */
	struct mapped_code *mapped;
	struct processes_status status;
};

/* ---- children ------------------------------------------------------------------------------------------ */

static bool plan_names_processes(const struct processes_config *config)
{
	const struct plan *plan = config->plan, *heap = config->heap;

	for (size_t i = 0; heap && i < heap->function_count; i++)
		if (!config->single && !heap->modules[heap->functions[i].module].reaches_all)
			return true;
	for (size_t i = 0; i < plan->function_count; i++)
		if (config->single || (!plan->modules[plan->functions[i].module].reaches_all &&
				       plan->functions[i].returns != VALUE_returns_session))
			return true;
	for (size_t i = 0; i < plan->usdt_count; i++)
		if (config->single || !plan->modules[plan->usdt[i].module].reaches_all)
			return true;
	return false;
}

static struct child *child_add(struct processes *processes, u32 pid)
{
	struct child *items;
	size_t capacity = processes->child_capacity;

	if (processes->child_count == capacity) {
		capacity = capacity ? 2 * capacity : 64;
		items = reallocarray(processes->children, capacity, sizeof(*items));
		if (!items)
			return NULL;
		processes->children = items;
		processes->child_capacity = capacity;
	}
	processes->children[processes->child_count] =
		(struct child){.pid = pid, .pidfd = syscall(SYS_pidfd_open, pid, 0)};
	return &processes->children[processes->child_count++];
}

/* It runs already: what it calls until the links are there, in files that name it, is not seen. */
static void child_attach(struct processes *processes, struct child *child, u64 forked_ns)
{
	const struct processes_config *config = &processes->config;
	struct processes_status *status = &processes->status;
	struct process_links links = {child->pid, SIZE_MAX, config->single, 0};
	u64 gap_ns;
	int result;

	if (child->pidfd < 0) {
		status->child_ended_count++;
		return;
	}
	result = bpf_source_attach_process(config->source, config->plan, &links, &child->links,
					   NULL);
	if (result == -ESRCH) {
		status->child_ended_count++;
	} else if (result) {
		status->child_failed_count++;
	} else {
		gap_ns = clock_monotonic_ns() - forked_ns;
		status->child_gap_count++;
		status->child_gap_max_ns =
			gap_ns > status->child_gap_max_ns ? gap_ns : status->child_gap_max_ns;
		bpf_source_add_target(config->source, child->pid, child->pid, NULL);
	}
}

static bool child_has_ended(const struct child *child)
{
	struct pollfd poll_fd = {.fd = child->pidfd, .events = POLLIN};

	return child->pidfd < 0 || poll(&poll_fd, 1, 0) != 0;
}

/* One that was found in /proc just when the kernel told of it. */
static bool is_known(const struct processes *processes, u32 pid)
{
	for (size_t i = processes->child_count; i > 0; i--)
		if (processes->children[i - 1].pid == pid)
			return !child_has_ended(&processes->children[i - 1]);
	return false;
}

static void on_fork(struct processes *processes, u32 pid, u64 forked_ns)
{
	struct child *child;

	if (is_known(processes, pid))
		return;
	child = child_add(processes, pid);
	processes->status.child_count++;
	if (!child)
		processes->status.child_failed_count++;
	else if (processes->names_children)
		child_attach(processes, child, forked_ns);
}

/* What it calls itself, and its rank, stay known when it has ended. */
static void child_read_title(struct child *child)
{
	struct process_rank rank;
	bool has_rank = process_rank_read(child->pid, &rank);
	char *title;

	if (process_title_read(child->pid, &title))
		return;
	/* Else it is another's by now. */
	if (child_has_ended(child)) {
		free(title);
		return;
	}
	free(child->title);
	child->title = title;
	child->has_rank = has_rank;
	if (has_rank)
		child->rank = rank;
}

/* Often while it is young, ever more seldom then: there may be thousands of them. */
static bool is_title_due(u32 ticks)
{
	return !(ticks & (ticks - 1));
}

static void child_look(struct child *child)
{
	clockid_t clock;
	u64 now_ns;

	if (child->pidfd < 0)
		return;
	now_ns = clock_getcpuclockid(child->pid, &clock) ? 0 : clock_read_ns(clock);
	if (!child_has_ended(child)) {
		child->cpu_time_ns = now_ns;
		if (is_title_due(++child->ticks))
			child_read_title(child);
		return;
	}
	/* The number may be another's already. */
	child->cpu_time_ns = 0;
	cleanup_close(&child->pidfd);
	child->pidfd = -1;
}

/* ---- taking off what was attached to children that have ended: by a thread, since it takes its time -------------- */

static void *remover_main(void *data)
{
	struct remover *remover = data;

	uprobe_detach_until(&remover->links, &remover->stop);
	atomic_store(&remover->done, true);
	return NULL;
}

static void remover_join(struct remover *remover)
{
	if (remover->running)
		pthread_join(remover->thread, NULL);
	remover->running = false;
}

/* One that cannot be started is tried again; what is left is taken off at the end. */
static void remove_links(struct processes *processes)
{
	struct remover *remover = &processes->remover;

	if (remover->running && !atomic_load(&remover->done))
		return;
	remover_join(remover);
	for (size_t i = 0; i < processes->child_count; i++)
		if (processes->children[i].pidfd < 0)
			uprobe_set_move(&remover->links, &processes->children[i].links);
	if (!remover->links.link_count)
		return;
	atomic_store(&remover->done, false);
	remover->running = !pthread_create(&remover->thread, NULL, remover_main, remover);
}

/* ---- threads that name probes -------------------------------------------------------------------------- */

static int hold_one(struct processes *processes, const struct code_module *module, u64 offset,
		    u32 thread)
{
	int result = -E2BIG;

	if (processes->held.link_count < HELD_MAX)
		result = uprobe_hold(&processes->held, module->fd, offset, thread);
	if (result == -ESRCH)
		return result;
	processes->status.unheld_count += result != 0;
	return 0;
}

/* What the links that name its process would lose if another tracer came, now that the first thread has ended;
 * the watch of the dynamic linker before all. -ESRCH: the thread that is to hold them has ended too. */
static int hold_probes(struct processes *processes, u32 thread)
{
	const struct plan *plan = processes->config.plan;
	int result = 0;
	u64 offset;

	for (size_t m = 0; m < plan->module_count && !result; m++)
		if (!loader_find(&plan->modules[m], &offset))
			result = hold_one(processes, &plan->modules[m], offset, thread);
	for (size_t i = 0; i < plan->usdt_count && !result; i++)
		for (size_t s = 0; s < plan->usdt[i].site_count && !result; s++)
			if (!plan->modules[plan->usdt[i].module].reaches_all)
				result = hold_one(processes, &plan->modules[plan->usdt[i].module],
						  plan->usdt[i].sites[s].file_offset, thread);
	for (size_t i = 0; i < plan->function_count && !result; i++) {
		const struct plan_function *function = &plan->functions[i];
		const struct code_module *module = &plan->modules[function->module];

		if (module->reaches_all || function->returns == VALUE_returns_session)
			continue;
		result = hold_one(processes, module, function->file_offset, thread);
		for (size_t s = 0; s < function->site_count && !result; s++)
			result =
				hold_one(processes, module, function->sites[s].file_offset, thread);
	}
	return result;
}

static bool is_named_by_thread(const struct processes *processes, u32 pid, size_t *ret_target)
{
	const struct processes_config *config = &processes->config;

	*ret_target = SIZE_MAX;
	for (size_t i = 0; i < config->target_count; i++)
		if (config->targets[i].pid == pid)
			*ret_target = i;
	return config->single ||
	       (*ret_target != SIZE_MAX && config->targets[*ret_target].first_thread_ended);
}

static void on_thread_end(struct processes *processes, const struct process_event *event)
{
	const struct processes_config *config = &processes->config;
	struct process_links links = {.single = true};
	bool single = is_named_by_thread(processes, event->pid, &links.target);
	u32 except = event->thread;
	int result;
	u64 gap_ns;

	for (int i = 0; i < THREADS_MAX_TRIES; i++) {
		links.thread = target_living_thread(event->pid, except);
		if (!links.thread)
			return; /* the process has ended */
		/* Watched first: if it ends from here on, there will be another event. */
		bpf_source_add_target(config->source, event->pid, links.thread, NULL);
		except = links.thread;
		if (!target_thread_lives(event->pid, links.thread))
			continue;
		result = single ? bpf_source_attach_process(config->source, config->plan, &links,
							    &processes->renewed, NULL)
				: hold_probes(processes, links.thread);
		if (!result)
			break;
	}
	if (!single)
		return;
	gap_ns = clock_monotonic_ns() - event->ts;
	processes->status.thread_end_count++;
	if (gap_ns > processes->status.thread_gap_max_ns)
		processes->status.thread_gap_max_ns = gap_ns;
}

/* ---- all -------------------------------------------------------------------------------------------------- */

static void on_event(void *data, const struct process_event *event)
{
	struct processes *processes = data;

	switch (event->kind) {
	case PROCESS_FORKED:
		on_fork(processes, event->pid, event->ts);
		code_map_note_fork(processes->config.code, event->pid, event->thread);
		/* What its parent had loaded may not be judged yet. */
		if (bpf_source_changes(processes->config.source, event->pid))
			mapped_code_note(processes->mapped, event->pid, event->ts);
		break;
	case PROCESS_THREAD_ENDED:
		on_thread_end(processes, event);
		break;
	case PROCESS_MAPPED_CODE:
		mapped_code_note(processes->mapped, event->pid, event->ts);
		break;
	case PROCESS_UNKNOWN_CODE:
		processes->status.unknown_code_count++;
		if (event->thread)
			processes->config.on_executed(processes->config.data, event->pid,
						      event->ts);
		break;
	case PROCESS_WAITED_FOR:
	case PROCESS_STRANGER:
		processes->config.on_waited(processes->config.data, event);
		break;
	case PROCESS_UNCOVERED_CODE:
		processes->config.on_uncovered(processes->config.data, event->pid, event->address);
		break;
	}
}

/* Where the parent is not known any more it is none of them. */
static void note_parent(struct code_map *map, u32 child, const u32 *targets, size_t count)
{
	u32 parent = descendants_parent(child);

	for (size_t i = 0; i < count; i++)
		if (targets[i] == parent)
			code_map_note_fork(map, child, parent);
}

/* Those that were forked between the look at /proc and the moment from which on the kernel tells; their links come with the first events. */
static int add_late_children(struct processes *processes, struct err *err)
{
	const struct processes_config *config = &processes->config;

	for (;;) {
		_cleanup_free_ u32 *known = NULL, *found = NULL;
		size_t known_count, found_count = 0;

		if (bpf_source_targets(config->source, &known, &known_count))
			return err_errno(err, -ENOMEM, "can't list the children");
		int result = descendants_list(known, known_count, &found, &found_count, err);

		for (size_t i = 0; i < found_count && !result; i++) {
			u64 now_ns = clock_monotonic_ns();

			result = bpf_source_add_target(config->source, found[i], 0, err);
			if (result)
				break;
			on_fork(processes, found[i], now_ns);
			note_parent(config->code, found[i], known, known_count);
			note_parent(config->code, found[i], found, found_count);
		}
		if (result || !found_count)
			return result;
	}
}

/* Children and, on machines with many CPUs, threads take descriptors each. */
static void allow_many_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int processes_open(const struct processes_config *config, struct processes **ret_processes,
		   struct err *err)
{
	struct processes *processes = calloc(1, sizeof(*processes));
	const struct mapped_code_config mapped = {config->source, config->targets,
						  config->target_count};
	int result = 0;

	if (!processes || !(processes->mapped = mapped_code_create(&mapped))) {
		free(processes);
		return err_errno(err, -ENOMEM, "can't follow the targets");
	}
	processes->config = *config;
	processes->names_children = config->children && plan_names_processes(config);
	for (size_t i = 0; i < config->target_count && !result; i++) {
		const struct target *target = &config->targets[i];

		result = bpf_source_add_target(config->source, target->pid, target->thread, err);
	}
	allow_many_files();
	if (config->children && !result)
		result = add_late_children(processes, err);
	if (result) {
		processes_free(processes);
		return result;
	}
	*ret_processes = processes;
	return 0;
}

int processes_put_names(const struct processes *processes, struct batch *batch)
{
	int result = 0;

	for (size_t i = 0; i < processes->child_count && !result; i++)
		if (!child_has_ended(&processes->children[i]))
			result = recording_facts_names(batch, processes->children[i].pid);
	return result;
}

int processes_event_fd(const struct processes *processes)
{
	return bpf_source_event_fd(processes->config.source);
}

void processes_handle(struct processes *processes)
{
	bpf_source_take_events(processes->config.source, on_event, processes);
	mapped_code_judge(processes->mapped, false);
}

void processes_tick(struct processes *processes)
{
	processes->status.children_alive = false;
	for (size_t i = 0; i < processes->child_count; i++) {
		child_look(&processes->children[i]);
		if (processes->children[i].pidfd >= 0)
			processes->status.children_alive = true;
	}
	remove_links(processes);
	mapped_code_judge(processes->mapped, true);
}

struct processes_status processes_status(const struct processes *processes)
{
	struct processes_status status = processes->status;

	status.mapped_code = mapped_code_status(processes->mapped);
	return status;
}

void processes_put_results(const struct processes_status *processes, u64 refused_count,
			   struct recording_facts *facts, struct batch *batch)
{
	const struct {
		const char *key;
		double value;
	} results[] = {
		{"children recorded since they were forked", processes->child_count},
		{"children that could not be followed",
		 refused_count + processes->child_failed_count},
		{"children that ended before their probes were in shared files",
		 processes->child_ended_count},
		{"children whose first calls in shared files were missed",
		 processes->child_gap_count},
		{"time missed of these children at most (ns)", processes->child_gap_max_ns},
		{"threads that named probes and ended", processes->thread_end_count},
		{"time without these probes at most (ns)", processes->thread_gap_max_ns},
		{"probes that other tracers may have taken out", processes->unheld_count},
		{"times that libraries loaded by a target were found harmless",
		 processes->mapped_code.harmless_count},
		{"time without durations until then at most (ns)",
		 processes->mapped_code.harmless_max_ns},
		{"processes that loaded code that may throw or switch stacks",
		 processes->mapped_code.harmful_count},
	};

	for (size_t i = 0; i < ARRAY_SIZE(results); i++)
		if (results[i].value)
			recording_facts_result(facts, batch, results[i].key, results[i].value);
}

int processes_put_titles(const struct processes *processes, struct recording_facts *facts,
			 struct batch *batch)
{
	struct map known = {0};
	int result = 0;

	/* A number that several had is called as the last one. */
	for (size_t i = processes->child_count; i-- > 0 && !result;) {
		struct child *child = &processes->children[i];

		if (map_find(&known, child->pid, 0))
			continue;
		if (!child_has_ended(child))
			child_read_title(child);
		result = map_set(&known, child->pid, 0, 1);
		if (!result)
			result = recording_facts_title(facts, batch, child->pid, child->title);
		if (!result && child->has_rank)
			result = recording_facts_rank(facts, batch, child->pid, &child->rank);
	}
	map_free(&known);
	return result;
}

u64 processes_cpu_time_ns(const struct processes *processes)
{
	u64 sum = 0;

	for (size_t i = 0; i < processes->child_count; i++)
		sum += processes->children[i].cpu_time_ns;
	return sum;
}

void processes_take_tagged(struct processes *processes, u32 tag, struct uprobe_set *to)
{
	for (size_t i = 0; i < processes->child_count; i++)
		uprobe_set_move_tagged(to, &processes->children[i].links, tag);
	uprobe_set_move_tagged(to, &processes->renewed, tag);
}

/* One that has ended by now has none. Those in renewed are put in again with the target's own. */
void processes_switch_on(struct processes *processes, u32 tag)
{
	const struct processes_config *config = &processes->config;

	for (size_t i = 0; i < processes->child_count; i++) {
		struct child *child = &processes->children[i];
		struct process_links links = {child->pid, SIZE_MAX, config->single, tag};

		if (processes->names_children && child->pidfd >= 0)
			(void)bpf_source_attach_process(config->source, config->plan, &links,
							&child->links, NULL);
	}
}

void processes_hand_over(struct processes *processes, struct uprobe_set *to)
{
	/* Those that it has not come to others take off. */
	atomic_store(&processes->remover.stop, true);
	remover_join(&processes->remover);
	uprobe_set_move(to, &processes->remover.links);
	for (size_t i = 0; i < processes->child_count; i++)
		uprobe_set_move(to, &processes->children[i].links);
	uprobe_set_move(to, &processes->renewed);
	uprobe_set_move(to, &processes->held);
}

void processes_detach(struct processes *processes)
{
	remover_join(&processes->remover);
	uprobe_detach(&processes->remover.links, NULL, NULL);
	for (size_t i = 0; i < processes->child_count; i++)
		uprobe_detach(&processes->children[i].links, NULL, NULL);
	uprobe_detach(&processes->renewed, NULL, NULL);
	uprobe_detach(&processes->held, NULL, NULL);
}

struct processes *processes_free(struct processes *processes)
{
	if (!processes)
		return NULL;
	processes_detach(processes);
	for (size_t i = 0; i < processes->child_count; i++) {
		cleanup_close(&processes->children[i].pidfd);
		free(processes->children[i].title);
	}
	mapped_code_free(processes->mapped);
	free(processes->children);
	free(processes);
	return NULL;
}
