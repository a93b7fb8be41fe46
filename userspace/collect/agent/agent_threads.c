/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/agent/agent_threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/proc_file.h"
#include "base/cleanup.h"
#include "base/clock.h"

#define LOOK_AGAIN_NS (100 * NS_PER_MILLISECOND)

void agent_threads_init(struct agent_threads *threads, const struct target *target)
{
	*threads = (struct agent_threads){.target = target};
}

void agent_threads_free(struct agent_threads *threads)
{
	map_free(&threads->hosts);
}

static void look(struct agent_threads *threads)
{
	_cleanup_closedir_ DIR *tasks = NULL;
	struct dirent *entry;
	int fd = openat(threads->target->proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	threads->looked_ns = clock_monotonic_ns();
	tasks = fd < 0 ? NULL : fdopendir(fd);
	while (tasks && (entry = readdir(tasks))) {
		_cleanup_free_ char *status = NULL;
		char path[64];
		size_t size;

		snprintf(path, sizeof(path), "%.32s/status", entry->d_name);
		if (entry->d_name[0] == '.' || proc_file_read(fd, path, &status, &size))
			continue;
		map_set(&threads->hosts, proc_status_id_in_namespace(status), 0,
			strtoul(entry->d_name, NULL, 10));
	}
}

u32 agent_threads_host(void *data, u32 tid)
{
	struct agent_threads *threads = data;
	u64 *host;

	if (!threads->target->other_pid_namespace)
		return tid;
	host = map_find(&threads->hosts, tid, 0);
	if (!host && clock_monotonic_ns() - threads->looked_ns > LOOK_AGAIN_NS) {
		look(threads);
		host = map_find(&threads->hosts, tid, 0);
	}
	return host ? *host : 0;
}

bool agent_threads_live(void *data, u32 tid)
{
	struct agent_threads *threads = data;
	u32 host = agent_threads_host(data, tid);

	/* It may have begun since then. */
	if (!host) {
		look(threads);
		host = agent_threads_host(data, tid);
	}
	return host && target_thread_lives(threads->target->pid, host);
}
