/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/uprobe.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/thread.h"

/* The part of union bpf_attr that BPF_LINK_CREATE reads for uprobe_multi and perf events (kernel
 * ABI, <linux/bpf.h>); the installed header may be older than the kernel. */
struct link_create_attr {
	u32 program_fd;
	u32 target_fd;
	u32 attach_type;
	u32 flags;
	union {
		struct {
			u64 path;
			u64 offsets;
			u64 reference_counter_offsets;
			u64 cookies;
			u32 count;
			u32 flags;
			u32 pid;
			u32 pad;
		} uprobe_multi;
		struct {
			u64 cookie;
		} perf_event;
	};
};

#define LINK_CREATE 28

#define ATTACH_UPROBE_MULTI   48
#define ATTACH_UPROBE_SESSION 57

unsigned uprobe_attach_type(enum uprobe_kind kind)
{
	static const unsigned types[] = {
		[UPROBE_SESSION] = ATTACH_UPROBE_SESSION,
		[UPROBE_MULTI] = ATTACH_UPROBE_MULTI,
		[UPROBE_SINGLE] = 0,
	};

	return types[kind];
}

static int link_create(const struct link_create_attr *attr)
{
	int fd = syscall(__NR_bpf, LINK_CREATE, attr, sizeof(*attr));

	return fd < 0 ? -errno : fd;
}

/* Arrays that are not there stay NULL. */
static u64 array_from(const u64 *array, size_t first)
{
	return array ? (uintptr_t)(array + first) : 0;
}

int uprobe_link_create(const struct uprobe_group *group, const char *path, size_t first,
		       size_t count)
{
	struct link_create_attr attr = {
		.program_fd = group->program_fd,
		.attach_type = uprobe_attach_type(group->kind),
		.uprobe_multi = {.path = (uintptr_t)path,
				 .offsets = array_from(group->offsets, first),
				 .reference_counter_offsets =
					 array_from(group->reference_counters, first),
				 .cookies = array_from(group->cookies, first),
				 .count = count,
				 .pid = group->pid},
	};

	return link_create(&attr);
}

/* Number of the kernel's perf event source for uprobes. */
static int uprobe_event_type(void)
{
	_cleanup_fclose_ FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	int type;

	if (!file)
		return -errno;
	return fscanf(file, "%d", &type) == 1 ? type : -EINVAL;
}

/* pid: 0 for all processes. A disabled one counts nothing, but has its breakpoint. */
static int event_open(const char *path, u64 offset, u64 reference_counter, u32 pid, bool disabled)
{
	struct perf_event_attr event = {.size = sizeof(event), .disabled = disabled};
	int type = uprobe_event_type(), fd;

	if (type < 0)
		return type;
	event.type = type;
	if (reference_counter > UINT32_MAX)
		return -EFBIG;
	event.config = reference_counter << 32;
	event.config1 = (uintptr_t)path;
	event.config2 = offset;
	fd = syscall(__NR_perf_event_open, &event, pid ? (int)pid : -1, pid ? -1 : 0, -1,
		     PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The link keeps the event alive. */
static int single_link_create(const struct uprobe_group *group, const char *path, size_t index)
{
	struct link_create_attr attr = {.program_fd = group->program_fd,
					.attach_type = BPF_PERF_EVENT};
	u64 counter = group->reference_counters ? group->reference_counters[index] : 0;
	_cleanup_close_ int fd =
		event_open(path, group->offsets[index], counter, group->pid, false);

	if (fd < 0)
		return fd;
	attr.target_fd = fd;
	attr.perf_event.cookie = group->cookies[index];
	return link_create(&attr);
}

static int set_add_link(struct uprobe_set *set, struct uprobe_link link, size_t function_count)
{
	struct uprobe_link *links = realloc(set->links, (set->link_count + 1) * sizeof(*links));

	if (!links) {
		close(link.fd);
		return -ENOMEM;
	}
	set->links = links;
	set->links[set->link_count++] = link;
	set->function_count += function_count;
	return 0;
}

static int set_add_refused(struct uprobe_set *set, int file_fd, u64 offset, int error)
{
	struct uprobe_refused *refused =
		realloc(set->refused, (set->refused_count + 1) * sizeof(*refused));

	if (!refused)
		return -ENOMEM;
	set->refused = refused;
	set->refused[set->refused_count++] =
		(struct uprobe_refused){.file_fd = file_fd, .offset = offset, .error = error};
	return 0;
}

/* An error that says nothing about one function. */
static bool is_general(int error)
{
	return error == -EPERM || error == -EACCES || error == -ENOMEM || error == -ESRCH ||
	       error == -EMFILE || error == -ENFILE || error == -EINTR || error == -ENOSYS;
}

/* Functions [first, first + count) of the group. */
static int attach_range(struct uprobe_set *set, const struct uprobe_group *group, const char *path,
			size_t first, size_t count)
{
	int link, result;

	if (group->kind == UPROBE_SINGLE && count == 1)
		link = single_link_create(group, path, first);
	else if (group->kind == UPROBE_SINGLE)
		link = -E2BIG;
	else
		link = uprobe_link_create(group, path, first, count);
	if (link >= 0)
		return set_add_link(set,
				    (struct uprobe_link){.fd = link,
							 .tag = group->tag,
							 .single = group->kind == UPROBE_SINGLE},
				    count);
	if (is_general(link))
		return link;
	if (count == 1)
		return set_add_refused(set, group->file_fd, group->offsets[first], link);
	result = attach_range(set, group, path, first, count / 2);
	if (result)
		return result;
	return attach_range(set, group, path, first + count / 2, count - count / 2);
}

int uprobe_attach(struct uprobe_set *set, const struct uprobe_group *group, struct err *err)
{
	size_t attached_before = set->function_count;
	char path[64];
	int result;

	if (!group->count)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", group->file_fd);
	result = attach_range(set, group, path, 0, group->count);
	if (!result && set->function_count == attached_before &&
	    (!group->tag || group->tag & UPROBE_TAG_WHOLE))
		result = set->refused[set->refused_count - 1].error;
	if (result == -ESRCH)
		return err_set(err, result, "can't put probes in: process %u has ended",
			       group->pid);
	if (result == -ENOMEM)
		return err_set(
			err, result,
			"can't put %zu probes in: no memory. Each probed page is copied into the "
			"target's memory (4 KB a page, charged to its cgroup); probe fewer "
			"functions",
			group->count);
	if (result)
		return err_errno(err, result, "can't put %zu probes in", group->count);
	return 0;
}

int uprobe_hold(struct uprobe_set *set, int file_fd, u64 offset, u32 thread)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file_fd);
	fd = event_open(path, offset, 0, thread, true);
	return fd < 0 ? fd : set_add_link(set, (struct uprobe_link){.fd = fd, .single = true}, 0);
}

void uprobe_set_move(struct uprobe_set *to, struct uprobe_set *from)
{
	struct uprobe_link *links;

	if (!from->link_count)
		return;
	links = reallocarray(to->links, to->link_count + from->link_count, sizeof(*links));
	if (!links)
		return;
	to->links = links;
	for (size_t i = 0; i < from->link_count; i++)
		links[to->link_count++] = from->links[i];
	free(from->links);
	free(from->refused);
	*from = (struct uprobe_set){0};
}

void uprobe_set_move_tagged(struct uprobe_set *to, struct uprobe_set *from, u32 tag)
{
	size_t kept = 0;

	for (size_t i = from->link_count; i-- > 0;) {
		if (from->links[i].tag != tag)
			continue;
		(void)set_add_link(to, from->links[i], 0);
		from->links[i].fd = -1;
	}
	for (size_t i = 0; i < from->link_count; i++)
		if (from->links[i].fd >= 0)
			from->links[kept++] = from->links[i];
	from->link_count = kept;
}

/* ---- many links at once: what the kernel waits for when it takes one off, it waits for once, whatever their number ---- */

struct closing {
	const int *fds;
	size_t count;
	const atomic_bool *stop; /* NULL: to the end */
	atomic_size_t next;
};

static bool is_told(const atomic_bool *stop)
{
	return stop && atomic_load(stop);
}

static void *close_links(void *data)
{
	struct closing *closing = data;
	size_t i;

	while (!is_told(closing->stop) &&
	       (i = atomic_fetch_add(&closing->next, 1)) < closing->count)
		close(closing->fds[i]);
	return NULL;
}

/* How many of them, the first ones. */
static size_t close_links_until(const int *fds, size_t count, const atomic_bool *stop)
{
	struct closing closing = {.fds = fds, .count = count, .stop = stop};

	thread_run_together(count, close_links, &closing);
	return closing.next < count ? closing.next : count;
}

void uprobe_close_links(const int *fds, size_t count)
{
	close_links_until(fds, count, NULL);
}

int uprobe_set_take_links(struct uprobe_set *set, int **ret_fds, size_t *ret_count)
{
	int *fds = calloc(set->link_count + 1, sizeof(*fds));
	size_t count = 0, kept = 0;

	if (!fds)
		return -ENOMEM;
	for (size_t i = 0; i < set->link_count; i++)
		if (set->links[i].single)
			set->links[kept++] = set->links[i];
		else
			fds[count++] = set->links[i].fd;
	set->link_count = kept;
	*ret_fds = fds;
	*ret_count = count;
	return 0;
}

/* All but single ones, which do not get faster by it. There is room in the set for those that are left. */
static void detach_multi(struct uprobe_set *set, const atomic_bool *stop)
{
	_cleanup_free_ int *fds = NULL;
	size_t count = 0, closed;

	if (uprobe_set_take_links(set, &fds, &count))
		return;
	closed = close_links_until(fds, count, stop);
	for (size_t i = closed; i < count; i++)
		set->links[set->link_count++] = (struct uprobe_link){.fd = fds[i]};
}

void uprobe_detach(struct uprobe_set *set, void (*progress)(void *data, size_t links_left),
		   void *data)
{
	detach_multi(set, NULL);
	while (set->link_count) {
		const struct uprobe_link *link = &set->links[--set->link_count];

		if (progress && link->single)
			progress(data, set->link_count + 1);
		close(link->fd);
	}
	free(set->links);
	free(set->refused);
	*set = (struct uprobe_set){0};
}

void uprobe_detach_until(struct uprobe_set *set, const atomic_bool *stop)
{
	detach_multi(set, stop);
	while (set->link_count && !is_told(stop))
		close(set->links[--set->link_count].fd);
	if (!set->link_count)
		uprobe_detach(set, NULL, NULL);
}
