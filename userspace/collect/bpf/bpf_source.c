/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/bpf/bpf_source_parts.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "collect/bpf/bpf_records.h"

int bpf_source_add_target(struct bpf_source *source, u32 pid, u32 watched_thread, struct err *err)
{
	if (bpf_map__update_elem(source->skeleton->maps.targets, &pid, sizeof(pid), &watched_thread,
				 sizeof(watched_thread), 0))
		return err_errno(err, -errno, "can't add process %u to the targets", pid);
	return 0;
}

void bpf_source_remove_target(struct bpf_source *source, u32 pid)
{
	bpf_map__delete_elem(source->skeleton->maps.targets, &pid, sizeof(pid), 0);
}

int bpf_source_targets(const struct bpf_source *source, u32 **ret_pids, size_t *ret_count)
{
	const struct bpf_map *map = source->skeleton->maps.targets;
	size_t capacity = bpf_map__max_entries(map), count = 0;
	u32 *pids = calloc(capacity, sizeof(*pids)), *previous = NULL;

	if (!pids)
		return -ENOMEM;
	while (count < capacity &&
	       !bpf_map__get_next_key(map, previous, &pids[count], sizeof(*pids)))
		previous = &pids[count++];
	*ret_pids = pids;
	*ret_count = count;
	return 0;
}

const struct uprobe_set *bpf_source_uprobes(const struct bpf_source *source)
{
	return &source->uprobes;
}

void bpf_source_hand_over(struct bpf_source *source, struct uprobe_set *to)
{
	uprobe_set_move(to, &source->uprobes);
}

void bpf_source_detach(struct bpf_source *source, void (*progress)(void *data, size_t links_left),
		       void *data)
{
	uprobe_detach(&source->uprobes, progress, data);
}

void bpf_source_set_window(struct bpf_source *source, bool open)
{
	__atomic_store_n(&source->skeleton->bss->window_open, open, __ATOMIC_SEQ_CST);
}

void bpf_source_sample_launches(struct bpf_source *source, u32 per_second)
{
	__atomic_store_n(&source->skeleton->bss->launch_samples_per_second, per_second,
			 __ATOMIC_SEQ_CST);
}

bool bpf_source_window_is_open(const struct bpf_source *source)
{
	return __atomic_load_n(&source->skeleton->bss->window_open, __ATOMIC_SEQ_CST);
}

int bpf_source_drain(struct bpf_source *source, bpf_source_callback callback, void *data)
{
	int total = 0;

	source->callback = callback;
	source->callback_data = data;
	for (u32 i = 0; i < source->ring_count; i++) {
		int taken = ring__consume(ring_buffer__ring(source->rings, i));

		if (taken < 0)
			return taken;
		total += taken;
	}
	return total;
}

void bpf_source_wait(struct bpf_source *source, int timeout_ms)
{
	struct pollfd poll_fd = {.fd = ring_buffer__epoll_fd(source->rings), .events = POLLIN};

	poll(&poll_fd, 1, timeout_ms);
}

int bpf_source_event_fd(const struct bpf_source *source)
{
	return ring_buffer__epoll_fd(source->events);
}

void bpf_source_take_events(struct bpf_source *source, bpf_source_event_callback callback,
			    void *data)
{
	source->event_callback = callback;
	source->event_data = data;
	ring_buffer__consume(source->events);
}

int bpf_source_open_calls(struct bpf_source *source, bpf_source_callback callback, void *data,
			  struct err *err)
{
	const struct bpf_program *iterator = source->skeleton->progs.open_calls;
	int result = 0;

	if (bpf_program__autoload(iterator))
		result = bpf_records_take(iterator, sizeof(struct record_call), callback, data);

	return result ? err_errno(err, result, "can't read the calls that are still open") : 0;
}

int bpf_source_hijacked_returns(struct bpf_source *source, u32 tid,
				void (*callback)(void *data, const void *record), void *data)
{
	const struct bpf_program *iterator = source->skeleton->progs.hijacked_returns;

	/* Without it no return was. */
	return bpf_program__autoload(iterator)
		       ? bpf_records_read(iterator, tid, sizeof(struct hijacked_return), callback,
					  data)
		       : 0;
}
