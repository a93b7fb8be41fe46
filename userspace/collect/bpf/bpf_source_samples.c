/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples of threads that run, and how long they did: bpf/samples.bpf.c. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "collect/bpf/bpf_records.h"
#include "collect/bpf/bpf_source_parts.h"
#include "probe/cpu_clock.h"

#define CLOCK_FILES 2 /* descriptors of a clock and its link */
/* One in so many of all descriptors that we may have are those of clocks of threads at most: libraries, probes and rings need some too. */
#define CLOCK_FILES_SHARE 4

void bpf_source_configure_samples(const struct bpf_source *source, u64 period_ns)
{
	const struct gpuprobe_bpf *skeleton = source->skeleton;
	struct bpf_program *programs[] = {
		skeleton->progs.cpu_sampled,	   skeleton->progs.thread_born,
		skeleton->progs.thread_left,	   skeleton->progs.begin_thread_times,
		skeleton->progs.take_thread_times, skeleton->progs.take_ending_thread_times};

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		bpf_program__set_autoload(programs[i], period_ns);
	skeleton->rodata->sample_period_ns = period_ns;
	bpf_map__set_max_entries(skeleton->maps.thread_starts, period_ns ? THREAD_STARTS_MAX : 1);
}

/* Takes the clock over. */
static int add_clock(struct bpf_source *source, int fd, struct err *err)
{
	struct bpf_samples *samples = &source->samples;
	struct bpf_link *link = NULL;

	if (array_reserve(&samples->links, &samples->capacity, samples->count + 1)) {
		close(fd);
		return err_errno(err, -ENOMEM, "can't take samples");
	}
	/* The link closes it. */
	link = bpf_program__attach_perf_event(source->skeleton->progs.cpu_sampled, fd);
	if (!link) {
		int result = -errno;

		close(fd);
		return err_errno(err, result, "can't take samples");
	}
	samples->links[samples->count++] = (struct sample_link){link, fd};
	return 0;
}

static int add_cpus(struct bpf_source *source, const struct cpu_clock_cpus *cpus, struct err *err)
{
	struct cpu_clock clock = {.period_ns = source->skeleton->rodata->sample_period_ns};
	int result = 0;

	for (size_t i = 0; i < cpus->count && !result; i++) {
		clock.cpu = (int)cpus->numbers[i];
		result = cpu_clock_open(&clock, err);
		if (result >= 0)
			result = add_clock(source, result, err);
		/* It was taken offline meanwhile, or the list is a container's idea of them. */
		if (result == -ENODEV || (result == -EINVAL && source->samples.count))
			result = 0;
	}
	return result;
}

static size_t thread_clocks_max(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) ? 0
						: limit.rlim_cur / CLOCK_FILES_SHARE / CLOCK_FILES;
}

/* Threads that they make have the same clocks from their first moment, and need no descriptors. One that has ended meanwhile needs none.
 * -EMFILE: there are more. */
static int add_threads(struct bpf_source *source, u32 pid, struct err *err)
{
	struct cpu_clock clock = {.period_ns = source->skeleton->rodata->sample_period_ns,
				  .cpu = -1,
				  .children = source->skeleton->rodata->follow_children};
	_cleanup_closedir_ DIR *tasks = NULL;
	const struct dirent *entry;
	char path[64];
	int result = 0;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	tasks = opendir(path);
	while (tasks && !result && (entry = readdir(tasks))) {
		clock.tid = (u32)strtoul(entry->d_name, NULL, 10);
		if (!clock.tid)
			continue;
		if (source->samples.count >= thread_clocks_max())
			return err_errno(err, -EMFILE, "can't take samples");
		result = cpu_clock_open(&clock, err);
		if (result >= 0)
			result = add_clock(source, result, err);
		if (result == -ESRCH)
			result = 0;
	}
	return result;
}

/* Taking the programs off the tracepoints would take milliseconds, and who ends is still counted. */
static void stop_clocks(struct bpf_source *source)
{
	struct bpf_samples *samples = &source->samples;

	for (size_t i = 0; i < samples->count; i++)
		bpf_link__destroy(samples->links[i].link);
	free(samples->links);
	samples->links = NULL;
	samples->count = samples->capacity = 0;
}

/* CPUs are left alone where there are many, and each thread of a target has a clock; but no more threads than there are descriptors for. */
static int add_clocks(struct bpf_source *source, struct err *err)
{
	_cleanup_(cpu_clock_cpus_free) struct cpu_clock_cpus cpus = {0};
	_cleanup_free_ u32 *pids = NULL;
	size_t count = 0;
	int result = cpu_clock_cpus_read(&cpus, err);

	if (!result && cpus.many)
		result = bpf_source_targets(source, &pids, &count);
	for (size_t i = 0; i < count && !result; i++)
		result = add_threads(source, pids[i], err);
	if (result == -EMFILE) {
		log_debug("samples: more threads than %zu, the CPUs have the clocks",
			  thread_clocks_max());
		stop_clocks(source);
		cpus.many = false;
		result = 0;
	}
	if (!result && !cpus.many)
		result = add_cpus(source, &cpus, err);
	return result;
}

int bpf_source_attach_samples(struct bpf_source *source, struct err *err)
{
	struct gpuprobe_bpf *skeleton = source->skeleton;
	struct bpf_program *programs[] = {skeleton->progs.thread_born, skeleton->progs.thread_left};
	int result = 0;

	_Static_assert(ARRAY_SIZE(programs) == SAMPLE_PROGRAMS, "a link for each");
	for (size_t i = 0; i < ARRAY_SIZE(programs) && !result; i++) {
		source->samples.programs[i] = bpf_program__attach(programs[i]);
		if (!source->samples.programs[i])
			result = err_errno(err, -errno, "can't attach to the tracepoint of %s",
					   bpf_program__name(programs[i]));
	}
	if (!result)
		result = add_clocks(source, err);
	if (result)
		bpf_source_detach_samples(source);
	return result;
}

static void nothing(void *data, const void *record)
{
}

void bpf_source_start_samples(struct bpf_source *source)
{
	if (!source->samples.programs[0])
		return;
	bpf_records_read(source->skeleton->progs.begin_thread_times, 0,
			 sizeof(struct record_thread_time), nothing, NULL);
	for (size_t i = 0; i < source->samples.count; i++)
		cpu_clock_start(source->samples.links[i].fd);
}

int bpf_source_end_samples(struct bpf_source *source, u64 window_end_ns,
			   bpf_source_callback callback, void *data)
{
	int result;

	if (!source->samples.programs[0])
		return 0;
	/* Behind the window nothing is sampled, and each moment is one in which threads run on. */
	if (window_end_ns)
		source->skeleton->bss->thread_times_end_ns = window_end_ns;
	else
		stop_clocks(source);
	result = bpf_records_take(source->skeleton->progs.take_thread_times,
				  sizeof(struct record_thread_time), callback, data);
	if (window_end_ns && !result) {
		source->skeleton->bss->thread_times_over = 1;
		result = bpf_records_take_map(source->skeleton->progs.take_ending_thread_times,
					      source->skeleton->maps.thread_starts, callback, data);
	}
	source->skeleton->bss->samples_over = 1;
	stop_clocks(source);
	return result;
}

void bpf_source_detach_samples(struct bpf_source *source)
{
	stop_clocks(source);
	for (size_t i = 0; i < SAMPLE_PROGRAMS; i++) {
		bpf_link__destroy(source->samples.programs[i]);
		source->samples.programs[i] = NULL;
	}
}
