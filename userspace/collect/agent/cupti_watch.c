/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/agent/cupti_watch.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "elf/elf_file.h"
#include "plan/site_check.h"
#include "process/maps.h"
#include "process/proc_file.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/path.h"

#define PROCESSES_MAX 1024
#define FILES_MAX     2		 /* of one process: a second copy is seldom */
#define PENDING_MAX   256	 /* of one process */
#define STOP	      UINT64_MAX /* what the ring's own epoll says of stop_fd */

static const struct {
	const char *name;
	u8 use;
	u8 argument;
	bool shares; /* it can be called beside other subscribers */
} watched[] = {
#define WATCHED(function, use, argument, shares) {#function, CUPTI_USE_##use, argument, shares},
#include "../gpu/cupti/cupti_watched.def"
#undef WATCHED
};

struct watched_process {
	u32 pid;
	struct watched_file {
		u64 inode, code_begin, code_end;
	} files[FILES_MAX];
	u32 file_count;		       /* released when it grows: the reader holds the other lock */
	bool probed;		       /* its calls are seen */
	struct agent_control *control; /* NULL: it is still to be told of */
	s64 clock_shift_ns;
	struct cupti_call_event pending[PENDING_MAX];
	size_t pending_count;
};

struct cupti_watch {
	const struct bpf_source *source;
	struct uprobe_set probes;
	struct ring_buffer *calls;
	int stop_fd;
	pid_t pid; /* of the process with the thread */
	pthread_t thread;
	pthread_mutex_t attach_lock; /* files of processes, and probes */
	pthread_mutex_t lock;	     /* processes, but for their files */
	struct watched_process *processes;
	size_t process_count;
};

static struct watched_process *find(struct cupti_watch *watch, u32 pid)
{
	for (size_t i = 0; i < watch->process_count; i++)
		if (watch->processes[i].pid == pid)
			return &watch->processes[i];
	return NULL;
}

/* ---- what calls mean ---- */

static u64 kind_of(const struct cupti_call_event *event)
{
	u8 argument = watched[event->function].argument;
	u64 kind = argument ? event->arguments[argument - 1] : AGENT_ACTIVITY_KINDS;

	return kind < AGENT_ACTIVITY_KINDS ? 1ULL << kind : 0;
}

/*
 * By libcupti itself, whose functions call one another: EnableAndDump calls Enable (13.0), Enable calls Enable_v2, cuptiSubscribe
 * cuptiSubscribe_v2 (disassembly of 13.0 to 13.5). Who called the first of them was told of.
 */
static bool is_inner(const struct watched_process *process, const struct cupti_call_event *event)
{
	u32 count = __atomic_load_n(&process->file_count, __ATOMIC_ACQUIRE);

	for (u32 i = 0; i < count; i++)
		if (event->caller >= process->files[i].code_begin &&
		    event->caller < process->files[i].code_end)
			return true;
	return false;
}

static void ring_bell(const struct watched_process *process)
{
	__atomic_fetch_add(&process->control->bell, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &process->control->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* While several share it that is refused to users of the older functions only. */
static void note_refusal(struct agent_control *control, const struct cupti_call_event *event,
			 u64 ts)
{
	struct agent_cupti_others *others = &control->cupti_others;
	u64 held_ns = __atomic_load_n(&control->cupti_facts.held_ns, __ATOMIC_ACQUIRE);
	u64 until_ns = __atomic_load_n(&control->cupti_facts.given_back_ns, __ATOMIC_ACQUIRE);

	if (others->uses & CUPTI_USE_FINALIZES || !held_ns || ts < held_ns ||
	    (until_ns && ts > until_ns) ||
	    (control->cupti_facts.several && watched[event->function].shares))
		return;
	others->refused++;
	if (!others->refused_ns)
		others->refused_ns = ts;
}

static void note_registration(struct agent_cupti_others *others,
			      const struct cupti_call_event *event, u64 ts)
{
	others->registered[0] = event->arguments[0];
	others->registered[1] = event->arguments[1];
	__atomic_store_n(&others->registered_ns, ts, __ATOMIC_RELEASE);
}

/* The lock is held, so that there is one writer. */
static void tell(const struct watched_process *process, const struct cupti_call_event *event)
{
	struct agent_cupti_others *others = &process->control->cupti_others;
	u8 use = watched[event->function].use;
	u64 ts = event->ts - process->clock_shift_ns;

	if (event->caller >= process->control->code_begin &&
	    event->caller < process->control->code_end) {
		__atomic_store_n(&others->own_ns, ts, __ATOMIC_RELEASE);
		return;
	}
	/* That it takes itself down is to be known, whoever made it do so. */
	if (use != CUPTI_USE_FINALIZES && is_inner(process, event))
		return;
	if (use == CUPTI_USE_ENABLES)
		__atomic_fetch_or(&others->kinds, kind_of(event), __ATOMIC_RELEASE);
	else if (use == CUPTI_USE_DISABLES)
		__atomic_fetch_and(&others->kinds, ~kind_of(event), __ATOMIC_RELEASE);
	if (!others->first_ns)
		others->first_ns = ts;
	__atomic_store_n(&others->last_ns, ts, __ATOMIC_RELEASE);
	if (use != CUPTI_USE_SUBSCRIBES && use != CUPTI_USE_ENABLES && !others->lost_ns)
		__atomic_store_n(&others->lost_ns, ts, __ATOMIC_RELEASE);
	if (use == CUPTI_USE_SUBSCRIBES)
		note_refusal(process->control, event, ts);
	if (use == CUPTI_USE_REGISTERS && !watched[event->function].shares)
		note_registration(others, event, ts);
	__atomic_fetch_or(&others->uses, use, __ATOMIC_RELEASE);
	ring_bell(process);
}

/* Where there is no room any more the calls stay that take CUPTI from us: the last place is for the last of them. */
static void keep(struct watched_process *process, const struct cupti_call_event *event)
{
	u8 use = watched[event->function].use;

	if (process->pending_count < PENDING_MAX)
		process->pending[process->pending_count++] = *event;
	else if (use == CUPTI_USE_REGISTERS || use == CUPTI_USE_FINALIZES)
		process->pending[PENDING_MAX - 1] = *event;
}

static int on_call(void *data, void *bytes, size_t size_bytes)
{
	const struct cupti_call_event *event = bytes;
	struct cupti_watch *watch = data;
	struct watched_process *process;

	if (size_bytes < sizeof(*event) || event->function >= ARRAY_SIZE(watched))
		return 0;
	pthread_mutex_lock(&watch->lock);
	process = find(watch, event->pid);
	if (process && process->control)
		tell(process, event);
	else if (process)
		keep(process, event);
	pthread_mutex_unlock(&watch->lock);
	return 0;
}

static void *watch_main(void *data)
{
	struct cupti_watch *watch = data;
	struct epoll_event event = {.data.u64 = 0};

	do {
		if (epoll_wait(ring_buffer__epoll_fd(watch->calls), &event, 1, -1) < 0 &&
		    errno != EINTR)
			break;
		ring_buffer__consume(watch->calls);
	} while (event.data.u64 != STOP);
	return NULL;
}

/* ---- probes ---- */

/* A function that is patched in the target keeps its patch: what of it is told then, the report says. */
static int check(const struct target *target, const struct maps_line *line,
		 struct cupti_functions *functions, struct site_changes *changes, struct err *err)
{
	struct site_offsets offsets = {.path = line->path,
				       .fd = functions->file_fd,
				       .maps_device = line->device,
				       .maps_inode = line->inode,
				       .offsets = functions->offsets,
				       .cookies = functions->cookies,
				       .count = functions->count};
	int result = site_check_offsets(target, &offsets, changes);

	functions->count = offsets.count;
	return result ? err_errno(err, result, "can't compare the code of %s", line->path) : 0;
}

static int attach(struct cupti_watch *watch, const struct target *target, int fd,
		  const struct maps_line *line, struct err *err)
{
	u64 offsets[ARRAY_SIZE(watched)], cookies[ARRAY_SIZE(watched)];
	struct cupti_functions functions = {
		.file_fd = fd, .thread = target->thread, .offsets = offsets, .cookies = cookies};
	struct site_changes changes = {0}, since = {0};
	struct uprobe_set probes = {0};
	struct elf_symbols symbols = {0};
	struct elf_file *file = NULL;
	int result = elf_file_open(fd, line->path, &file, err);

	if (!result)
		result = elf_symbols_load(file, target->root_path, &symbols, err);
	for (size_t i = 0; i < symbols.count && !result; i++)
		for (u32 w = 0; w < ARRAY_SIZE(watched); w++)
			if (functions.count < ARRAY_SIZE(offsets) &&
			    !strcmp(symbols.items[i].name, watched[w].name) &&
			    !elf_file_offset(file, symbols.items[i].address,
					     &offsets[functions.count]))
				cookies[functions.count++] = w;
	if (!result)
		result = check(target, line, &functions, &changes, err);
	if (!result && functions.count)
		result = bpf_source_attach_cupti(watch->source, &probes, &functions, err);
	/* Somebody may have patched one meanwhile. */
	if (!result)
		result = check(target, line, &functions, &since, err);
	if (!result && since.count)
		result = err_set(err, -ESTALE, "%s", since.first);
	if (result)
		uprobe_detach(&probes, NULL, NULL);
	else
		uprobe_set_move(&watch->probes, &probes);
	if (!result && changes.count)
		result = err_set(err, -ESTALE, "not all of them: %s", changes.first);
	elf_symbols_free(&symbols);
	elf_file_free(file);
	return result;
}

static bool is_cupti(const char *path)
{
	const char *name = path_base_name(path);

	return !strncmp(name, "libcupti.so", strlen("libcupti.so")) ||
	       !strncmp(name, "memfd:" AGENT_MEMFD_CUPTI, strlen("memfd:" AGENT_MEMFD_CUPTI));
}

/* Is it one without probes? Then it counts as one with them. */
static bool note_file(struct watched_process *process, const struct maps_line *line)
{
	for (u32 i = 0; i < process->file_count; i++)
		if (process->files[i].inode == line->inode)
			return false;
	if (process->file_count == FILES_MAX)
		return false;
	process->files[process->file_count] =
		(struct watched_file){line->inode, line->start, line->end};
	__atomic_store_n(&process->file_count, process->file_count + 1, __ATOMIC_RELEASE);
	return true;
}

static struct watched_process *note_process(struct cupti_watch *watch, u32 pid)
{
	struct watched_process *process;

	pthread_mutex_lock(&watch->lock);
	process = find(watch, pid);
	if (!process && watch->process_count < PROCESSES_MAX) {
		process = &watch->processes[watch->process_count++];
		process->pid = pid;
	}
	pthread_mutex_unlock(&watch->lock);
	return process;
}

static int watch_files(struct cupti_watch *watch, struct watched_process *process,
		       const struct target *target, struct err *err)
{
	_cleanup_free_ char *text = NULL;
	struct maps_line line;
	struct stat status;
	char *rest;
	int result = proc_file_read(target->proc_fd, "maps", &text, NULL);

	if (result)
		return err_errno(err, result, "can't read what process %u has mapped", target->pid);
	rest = text;
	while (!result && maps_next(&rest, &line)) {
		_cleanup_close_ int fd = -1;

		if (!line.executable || !is_cupti(line.path) || !note_file(process, &line))
			continue;
		fd = maps_file_open(target->proc_fd, &line, &status);
		result = fd < 0 ? err_errno(err, fd, "can't open %s of process %u", line.path,
					    target->pid)
				: attach(watch, target, fd, &line, err);
	}
	return result;
}

/* From now on the agent may wait for what is told. */
static void note_probed(struct cupti_watch *watch, struct watched_process *process)
{
	pthread_mutex_lock(&watch->lock);
	process->probed = true;
	if (process->control)
		__atomic_store_n(&process->control->cupti_others.watched, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&watch->lock);
}

int cupti_watch_process(struct cupti_watch *watch, const struct target *target, struct err *err)
{
	struct watched_process *process = note_process(watch, target->pid);
	int result;

	if (!process)
		return err_set(err, -E2BIG, "too many processes use CUPTI");
	pthread_mutex_lock(&watch->attach_lock);
	result = watch_files(watch, process, target, err);
	if (!result && process->file_count)
		note_probed(watch, process);
	pthread_mutex_unlock(&watch->attach_lock);
	return result;
}

void cupti_watch_tell(struct cupti_watch *watch, const struct target *target,
		      struct agent_control *control, s64 clock_shift_ns)
{
	struct watched_process *process = note_process(watch, target->pid);

	if (!process)
		return;
	pthread_mutex_lock(&watch->lock);
	process->control = control;
	process->clock_shift_ns = clock_shift_ns;
	for (size_t i = 0; i < process->pending_count; i++)
		tell(process, &process->pending[i]);
	process->pending_count = 0;
	if (process->probed)
		__atomic_store_n(&control->cupti_others.watched, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&watch->lock);
}

/* ---- all of it ---- */

int cupti_watch_open(const struct bpf_source *source, struct cupti_watch **ret_watch,
		     struct err *err)
{
	struct cupti_watch *watch = calloc(1, sizeof(*watch));
	struct epoll_event stop = {.events = EPOLLIN, .data.u64 = STOP};
	int result = -ENOMEM;

	if (watch) {
		pthread_mutex_init(&watch->lock, NULL);
		pthread_mutex_init(&watch->attach_lock, NULL);
		watch->source = source;
		watch->pid = getpid();
		watch->processes = calloc(PROCESSES_MAX, sizeof(*watch->processes));
		watch->stop_fd = eventfd(0, EFD_CLOEXEC);
		watch->calls =
			ring_buffer__new(bpf_source_cupti_calls(source), on_call, watch, NULL);
	}
	if (watch && watch->processes && watch->calls && watch->stop_fd >= 0 &&
	    !epoll_ctl(ring_buffer__epoll_fd(watch->calls), EPOLL_CTL_ADD, watch->stop_fd, &stop))
		result = -pthread_create(&watch->thread, NULL, watch_main, watch);
	if (!result) {
		*ret_watch = watch;
		return 0;
	}
	if (watch) {
		ring_buffer__free(watch->calls);
		cleanup_close(&watch->stop_fd);
		free(watch->processes);
	}
	free(watch);
	return err_errno(err, result, "can't watch for other users of CUPTI");
}

struct cupti_watch *cupti_watch_close(struct cupti_watch *watch, struct uprobe_set *left)
{
	if (!watch)
		return NULL;
	/* A fork of this process lets go of its copies only. */
	if (watch->pid == getpid()) {
		eventfd_write(watch->stop_fd, 1);
		pthread_join(watch->thread, NULL);
	}
	uprobe_set_move(left, &watch->probes);
	uprobe_detach(&watch->probes, NULL, NULL);
	ring_buffer__free(watch->calls);
	close(watch->stop_fd);
	free(watch->processes);
	free(watch);
	return NULL;
}
