/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/process_memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "process/proc_file.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/recording_facts.h"

#define READ_EVERY_NS (100 * NS_PER_MILLISECOND)
#define PROCESSES_MAX 64

/* /proc/PID/statm: pages that are mapped, pages that are in memory, ... False: the process has ended. */
static bool read_pages(u32 pid, u64 *ret_mapped, u64 *ret_resident)
{
	_cleanup_free_ char *content = NULL;
	unsigned long long mapped, resident;
	char path[64];
	size_t size;

	snprintf(path, sizeof(path), "/proc/%u/statm", pid);
	if (proc_file_read(AT_FDCWD, path, &content, &size) ||
	    sscanf(content, "%llu %llu", &mapped, &resident) != 2 || !mapped)
		return false;
	*ret_mapped = mapped;
	*ret_resident = resident;
	return true;
}

/* Is it what was told last? */
static bool is_known(struct process_memory *memory, u32 pid, u64 mapped, u64 resident)
{
	const u64 *known_mapped = map_find(&memory->known, pid, 0);
	const u64 *known_resident = map_find(&memory->known, pid, 1);

	if (known_mapped && *known_mapped == mapped && known_resident &&
	    *known_resident == resident)
		return true;
	map_set(&memory->known, pid, 0, mapped);
	map_set(&memory->known, pid, 1, resident);
	return false;
}

static int read_process(struct process_memory *memory, u32 pid, u64 ts, record_callback callback,
			void *data)
{
	const u64 page_bytes = sysconf(_SC_PAGESIZE);
	struct record_process_memory record = {.header = {.size_bytes = sizeof(record),
							  .kind = KIND_process_memory,
							  .source = RECORD_SOURCE_BPF,
							  .ts = ts,
							  .pid = pid}};
	u64 mapped, resident;

	if (!read_pages(pid, &mapped, &resident) || is_known(memory, pid, mapped, resident))
		return 0;
	record.mapped_bytes = mapped * page_bytes;
	record.resident_bytes = resident * page_bytes;
	return callback(data, &record.header, sizeof(record));
}

int process_memory_read(struct process_memory *memory, u64 ts, record_callback callback, void *data)
{
	_cleanup_free_ u32 *pids = NULL;
	size_t count;
	int result = bpf_source_targets(memory->source, &pids, &count);

	if (result)
		return result;
	if (count > PROCESSES_MAX + memory->unread_count)
		memory->unread_count = count - PROCESSES_MAX;
	for (size_t i = 0; i < count && i < PROCESSES_MAX && result >= 0; i++)
		result = read_process(memory, pids[i], ts, callback, data);
	return result;
}

static int drain(void *data, record_callback callback, void *callback_data)
{
	struct process_memory *memory = data;
	/* Asked before the clock and behind it: then that moment lies in the window. */
	bool was_open = bpf_source_window_is_open(memory->source);
	u64 now = clock_monotonic_ns();

	if (now - memory->read_ns < READ_EVERY_NS || !was_open ||
	    !bpf_source_window_is_open(memory->source))
		return 0;
	memory->read_ns = now;
	return process_memory_read(memory, now, callback, callback_data);
}

static int add_losses(void *data, struct batch *batch)
{
	const struct process_memory *memory = data;

	return recording_facts_loss(batch, RECORD_SOURCE_BPF, VALUE_loss_reason_memory_unread,
				    memory->place, memory->unread_count);
}

struct record_source process_memory_source(struct process_memory *memory)
{
	return (struct record_source){.data = memory, .drain = drain, .add_losses = add_losses};
}

void process_memory_free(struct process_memory *memory)
{
	map_free(&memory->known);
}
