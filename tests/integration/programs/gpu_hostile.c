/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preloaded into a process that uses CUDA: as soon as an agent's ring is in the process, attacks gpuprobe through it,
 * as HOSTILE says. What is left undone is the agent's to do.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gpu/base/types.h"
#include "bpf/record.h"
#include "gpu/shared.h"

#ifndef OPEN_TREE_CLONE
#define OPEN_TREE_CLONE 1
#endif

static u32 seed = 1;

static u32 number(void)
{
	seed = seed * 1664525 + 1013904223;
	return seed >> 8;
}

static int find_file(const char *wanted)
{
	DIR *directory = opendir("/proc/self/fd");
	struct dirent *entry;
	int found = -1;

	while ((entry = readdir(directory))) {
		char link[PATH_MAX];
		ssize_t length =
			readlinkat(dirfd(directory), entry->d_name, link, sizeof(link) - 1);

		if (length > 0 && !strncmp(link, wanted, strlen(wanted)))
			found = atoi(entry->d_name);
	}
	closedir(directory);
	return found;
}

static struct agent_chunk *chunk_at(struct agent_control *control, u32 index)
{
	return (void *)((u8 *)control + AGENT_CONTROL_BYTES + (size_t)index * AGENT_CHUNK_BYTES);
}

/* ---- what is done to the ring ---- */

static void scribble(struct agent_control *control, u32 chunk_count)
{
	static const char words[] = "\033[2J\033]0;owned\007\x9b"
				    "31m\"},\"x\":[\n\xff\xc3\xe2\x80\xae";
	char *strings[] = {control->hint, control->features[0].hint, control->cupti_facts.path,
			   control->cupti_facts.other_client, control->cupti.path};
	static const size_t sizes[] = {AGENT_HINT_BYTES, AGENT_HINT_BYTES, AGENT_PATH_BYTES, 64,
				       AGENT_PATH_BYTES};

	for (u32 i = 0; i < 5; i++)
		for (size_t at = 0; at < sizes[i]; at++)
			strings[i][at] = words[at % (sizeof(words) - 1)];
	for (u32 i = 0; i < AGENT_COUNTERS; i++)
		control->counters[i] = ~0ULL - number();
	control->fixed.agent_tid = number();
	control->fixed.tool_pid = 1;
	control->fixed.total_bytes = number();
	control->chunk_count = ~0U;
	control->features[0].state = AGENT_FEATURE_READY;
	control->fixed.state = AGENT_STATE_READY + number() % 2;
	(void)chunk_count;
}

static void flood(struct agent_control *control, u32 chunk_count)
{
	for (u32 i = 0; i < chunk_count; i++) {
		struct agent_chunk *chunk = chunk_at(control, i);
		u32 offset = 0;

		if (__atomic_load_n(&chunk->fill_bytes, __ATOMIC_ACQUIRE))
			continue;
		/* It is still there since the last round. */
		if (((struct record_header *)chunk->records)->ts >> 63)
			offset = sizeof(chunk->records) / sizeof(struct record_kernel) *
				 sizeof(struct record_kernel);
		while (offset + sizeof(struct record_kernel) <= sizeof(chunk->records)) {
			struct record_kernel kernel = {.header = {.size_bytes = sizeof(kernel),
								  .kind = KIND_kernel,
								  .ts = ~0ULL - number(),
								  .dur = ~0ULL - number() % 3,
								  .tid = number(),
								  .name = number()}};

			memcpy(chunk->records + offset, &kernel, sizeof(kernel));
			offset += sizeof(kernel);
		}
		__atomic_store_n(&chunk->fill_bytes, offset, __ATOMIC_RELEASE);
		__atomic_store_n(&chunk->state, AGENT_CHUNK_FULL, __ATOMIC_RELEASE);
	}
}

static void garbage(struct agent_control *control, u32 chunk_count)
{
	for (u32 round = 0; round < 1000; round++) {
		struct agent_chunk *chunk = chunk_at(control, number() % chunk_count);
		struct record_header *header = (void *)(chunk->records + number() % 64 * 8);

		for (u32 i = 0; i < 4096; i++)
			chunk->records[i] = number();
		*header = (struct record_header){
			.size_bytes = number() % 3 ? number() : 48 + number() % 32 * 8,
			.kind = number() % 64,
			.ts = number(),
			.tid = number()};
		chunk->fill_bytes = number() % 2 ? number() : AGENT_CHUNK_RECORDS_BYTES;
		chunk->holder = number();
		chunk->state = number() % 7;
	}
}

/* The agent has never left, and what it lost is beyond all counting. */
static void forge(struct agent_control *control, u32 chunk_count)
{
	for (u32 i = 0; i < AGENT_COUNTERS; i++)
		__atomic_store_n(&control->counters[i], ~0ULL - i, __ATOMIC_RELAXED);
	__atomic_store_n(&control->features[0].state, AGENT_FEATURE_READY, __ATOMIC_RELEASE);
	__atomic_store_n(&control->fixed.state, AGENT_STATE_READY, __ATOMIC_RELEASE);
	(void)chunk_count;
}

/* Files and a thread that are called as ours. */
static void imitate(void)
{
	static const char *const names[] = {AGENT_MEMFD_RING, AGENT_MEMFD_LIBRARY,
					    AGENT_MEMFD_RESIDENT};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int fd = memfd_create(names[i], 0);

		if (fd < 0 || ftruncate(fd, AGENT_CONTROL_BYTES) ||
		    mmap(NULL, AGENT_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) ==
			    MAP_FAILED)
			_exit(1);
	}
}

static void attack_ring(void (*step)(struct agent_control *control, u32 chunk_count))
{
	struct agent_control *control;
	struct stat status;
	int fd;

	while ((fd = find_file("/memfd:" AGENT_MEMFD_RING)) < 0 || fstat(fd, &status) ||
	       status.st_size <= (off_t)AGENT_CONTROL_BYTES)
		usleep(200);
	/* Longer than the agent has it. */
	control = mmap(NULL, status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (control == MAP_FAILED)
		return;
	prctl(PR_SET_NAME, AGENT_THREAD_NAME);
	while (__atomic_load_n(&control->features[0].state, __ATOMIC_ACQUIRE) <=
	       AGENT_FEATURE_PENDING)
		usleep(200);
	for (;;)
		step(control, (status.st_size - AGENT_CONTROL_BYTES) / AGENT_CHUNK_BYTES);
}

/* ---- a file of somebody else in the place of the one that was made for the agent ---- */

/* HOSTILE_FOLDER has a file that is called as a memfd is shown, and below a mount of its own its path is that. */
static void attack_files(void)
{
	int tree = syscall(SYS_open_tree, AT_FDCWD, getenv("HOSTILE_FOLDER"),
			   OPEN_TREE_CLONE | O_CLOEXEC);
	int decoy = openat(tree, "memfd:" AGENT_MEMFD_LIBRARY " (deleted)", O_RDONLY | O_CLOEXEC),
	    next;

	if (decoy < 0)
		return;
	/* The numbers that come next, once the process has all files of its own. */
	sleep(1);
	next = dup(decoy);
	close(next);
	for (;;) {
		for (int made = next; made < next + 3; made++) {
			char link[64] = "";
			char path[32];

			snprintf(path, sizeof(path), "/proc/self/fd/%d", made);
			if (readlink(path, link, sizeof(link) - 1) > 0 &&
			    !strcmp(link, "/memfd:" AGENT_MEMFD_LIBRARY " (deleted)"))
				dup3(decoy, made, O_CLOEXEC);
		}
	}
}

static void *attack(void *data)
{
	const char *how = getenv("HOSTILE");

	(void)data;
	if (!strcmp(how, "scribble"))
		attack_ring(scribble);
	else if (!strcmp(how, "flood"))
		attack_ring(flood);
	else if (!strcmp(how, "garbage"))
		attack_ring(garbage);
	else if (!strcmp(how, "forge"))
		attack_ring(forge);
	else if (!strcmp(how, "files"))
		attack_files();
	return NULL;
}

__attribute__((constructor)) static void begin(void)
{
	pthread_t thread;
	sigset_t all, before;

	if (!getenv("HOSTILE"))
		return;
	if (!strcmp(getenv("HOSTILE"), "forge"))
		imitate();
	/* Signals are for the program. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_create(&thread, NULL, attack, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
