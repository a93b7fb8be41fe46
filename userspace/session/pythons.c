/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/pythons.h"

#include <errno.h>

#include "base/log.h"

/* Of an interpreter that does not run yet, or whose frames are none: some ten seconds, at a look each tick. */
#define TRIES_MAX      40
#define PYTHON_SETTLED UINT64_MAX

/* As long as it maps no more. */
static bool is_tried_again(const struct pythons *pythons, u32 pid)
{
	const u64 *tries = map_find(&pythons->tries, pid, 0);

	return !tries || *tries < TRIES_MAX;
}

/* Whether it is to be looked at. */
static bool is_open(struct pythons *pythons, const struct code_process *process)
{
	const u64 *looked = map_find(&pythons->looked, process->pid, 0);

	if (looked && *looked == process->executable_kb)
		return is_tried_again(pythons, process->pid);
	/* It has mapped something since. */
	return !map_set(&pythons->looked, process->pid, 0, process->executable_kb) &&
	       !map_set(&pythons->tries, process->pid, 0, 0);
}

static void settle(struct pythons *pythons, u32 pid, bool for_good)
{
	const u64 *tries = map_find(&pythons->tries, pid, 0);

	(void)map_set(&pythons->tries, pid, 0,
		      for_good	      ? PYTHON_SETTLED
		      : tries == NULL ? 1
				      : *tries + 1);
}

/* Each process once: one that maps more later is looked at again. */
static void refuse(struct pythons *pythons, u32 pid, const char *version, const struct err *why)
{
	if (map_find(&pythons->refused, pid, 0) || map_set(&pythons->refused, pid, 0, 1))
		return;
	if (!pythons->refused_count++)
		err_set(&pythons->refused_first, 0, "process %u%s%s: %s", pid,
			version[0] ? ", Python " : "", version, why->message);
}

static void look_at(struct pythons *pythons, const struct bpf_source *source,
		    const struct code_map *map, u32 pid)
{
	char version[PYTHON_VERSION_BYTES];
	struct python_process process;
	struct err err = {0};
	int result = python_find(&pythons->files, map, pid, version, &process, &err);

	if (!result)
		result = bpf_source_put_python(source, pid, &process, &err);
	if (!result)
		log_debug("process %u: Python %s, its frames are in stacks", pid, version);
	else if (result != -ENOENT)
		log_debug("process %u: no frames of Python%s%s in stacks: %s", pid,
			  version[0] ? " " : "", version, err.message);
	settle(pythons, pid, result != -EAGAIN && result != -EILSEQ);
	if (result && result != -ENOENT && result != -EAGAIN && !is_tried_again(pythons, pid))
		refuse(pythons, pid, version, &err);
}

void pythons_look(struct pythons *pythons, const struct bpf_source *source,
		  const struct code_map *map)
{
	if (!bpf_source_reads_python(source))
		return;
	for (size_t i = 0; i < map->process_count; i++) {
		const struct code_process *process = &map->processes[i];

		if (is_open(pythons, process) && !bpf_source_has_python(source, process->pid))
			look_at(pythons, source, map, process->pid);
	}
}

void pythons_free(struct pythons *pythons)
{
	python_files_free(&pythons->files);
	python_codes_free(&pythons->codes);
	map_free(&pythons->looked);
	map_free(&pythons->tries);
	map_free(&pythons->refused);
}
