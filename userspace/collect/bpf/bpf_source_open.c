/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The driver of a bpf_source: which programs and maps are loaded for these settings, in which order, and the way back. */
#include "collect/bpf/bpf_source_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/log.h"

#define STACKS_MAX	     (1 << 16) /* different ones in a recording */
#define TARGETS_MAX_CHILDREN (1 << 16) /* targets with the children that they fork */
#define COUNT_PROCESSES \
	64 /* in which each function is counted, if there are not too many of both */
#define COUNTS_MAX (1 << 18)

/* What libbpf and the verifier say is for -v. */
static int print_message(enum libbpf_print_level level, const char *format, va_list arguments)
{
	if (level <= LIBBPF_INFO)
		log_debug_lines(format, arguments);
	return 0;
}

static int on_record(void *data, void *record, size_t size_bytes)
{
	struct bpf_source *source = data;

	return source->callback(source->callback_data, record, size_bytes);
}

static int on_event(void *data, void *event, size_t size_bytes)
{
	struct bpf_source *source = data;

	if (size_bytes >= sizeof(struct process_event))
		source->event_callback(source->event_data, event);
	return 0;
}

static int make_rings(struct bpf_source *source, struct err *err)
{
	int result = bpf_source_rings_read(source, on_record, err);

	if (result)
		return result;
	source->events = ring_buffer__new(bpf_map__fd(source->skeleton->maps.process_events),
					  on_event, source, NULL);
	return source->events ? 0 : err_errno(err, -errno, "can't map a ring buffer");
}

/* Those that the kernel takes, and that are needed: of two for the same place the better one, see probe_uses. */
static void choose_programs(struct bpf_source *source, const struct bpf_source_settings *settings)
{
	const struct kernel_abilities *can = &source->abilities;
	struct gpuprobe_bpf *skeleton = source->skeleton;
	bool functions = settings->returns;
	bool hijacks = settings->returns >> VALUE_returns_session & 1;
	const struct {
		struct bpf_program *program;
		bool load;
	} choices[] = {
		{skeleton->progs.open_calls, functions},
		{skeleton->progs.loader_hit, hijacks},
		{skeleton->progs.hijacked_returns, hijacks},
		{skeleton->progs.calibrate_stack, functions && can->uprobe_multi},
		{skeleton->progs.task_switched, settings->off_cpu},
		{skeleton->progs.task_woken, settings->off_cpu},
		{skeleton->progs.timer_begins, settings->off_cpu},
		{skeleton->progs.timer_ends, settings->off_cpu},
		{skeleton->progs.threads_off_cpu, settings->off_cpu},
		{skeleton->progs.stacks_of_sleepers,
		 settings->off_cpu && settings->unwinds && can->other_memory},
		{skeleton->progs.threads_found_off_cpu, settings->off_cpu},
		{skeleton->progs.open_off_cpu, settings->off_cpu},
		{skeleton->progs.short_waits, settings->off_cpu},
		{skeleton->progs.holders_of_ends, settings->off_cpu},
	};

	for (size_t i = 0; i < ARRAY_SIZE(choices); i++)
		bpf_program__set_autoload(choices[i].program, choices[i].load);
	bpf_source_choose_functions(source, settings);
	bpf_program__set_expected_attach_type(skeleton->progs.function_session,
					      uprobe_attach_type(UPROBE_SESSION));
	bpf_program__set_expected_attach_type(skeleton->progs.function_session_emulated,
					      uprobe_attach_type(UPROBE_SESSION));
}

/* Calibration has probes of its own. */
static void size_by_functions(struct gpuprobe_bpf *skeleton,
			      const struct bpf_source_settings *settings)
{
	size_t probes = settings->function_count +
			(settings->heap_plan ? settings->heap_plan->function_count : 0);
	u32 count = (u32)(probes > CALIBRATION_PROBES ? probes : CALIBRATION_PROBES) + 1;
	u32 counts = settings->counted_count > COUNTS_MAX / COUNT_PROCESSES
			     ? COUNTS_MAX
			     : (u32)settings->counted_count * COUNT_PROCESSES;

	bpf_map__set_max_entries(skeleton->maps.entry_sites, count);
	bpf_map__set_max_entries(skeleton->maps.probe_hits, count);
	bpf_map__set_max_entries(skeleton->maps.switched_off, count);
	bpf_map__set_max_entries(skeleton->maps.function_counts, counts + CALIBRATION_PROBES);
}

static int load(struct bpf_source *source, struct err *err)
{
	int result = gpuprobe_bpf__load(source->skeleton);

	if (!result)
		return 0;
	if (result == -EMFILE || result == -ENFILE)
		return err_errno(err, result,
				 "can't load the BPF programs (gpuprobe needs about 100 "
				 "descriptors: ulimit -n)");
	source->refused = true;
	return err_errno(err, -errno,
			 "can't load the BPF programs into this kernel (%s), which should not "
			 "happen: gpuprobe -v shows what the verifier says, please report it",
			 source->abilities.release);
}

static int configure(struct bpf_source *source, const struct bpf_source_settings *settings,
		     struct err *err)
{
	struct gpuprobe_bpf *skeleton = source->skeleton;
	int result = bpf_source_rings_begin(source, settings->ring_bytes, err);

	if (result)
		return result;
	skeleton->rodata->ring_count = source->ring_count;
	skeleton->rodata->ring_wakeup_bytes = settings->ring_bytes / 2;
	skeleton->rodata->follow_children = settings->follow_children;
	skeleton->rodata->has_probes =
		settings->function_count || settings->usdt_sites || settings->heap_plan;
	skeleton->rodata->counts_calls = settings->counted_count != 0;
	skeleton->rodata->keeps_accounts = settings->allocators;
	skeleton->rodata->reads_matmuls = settings->matmuls;
	skeleton->rodata->takes_call_stacks = settings->call_stacks;
	skeleton->rodata->takes_usdt_stacks = settings->usdt_stacks;
	skeleton->rodata->takes_launch_stacks = settings->launch_stacks;
	skeleton->bss->launch_samples_per_second = settings->launch_samples_per_second;
	size_by_functions(skeleton, settings);
	bpf_source_configure_heap(source, settings);
	if (settings->allocators) {
		bpf_map__set_max_entries(skeleton->maps.allocators,
					 (u32)settings->function_count + 1);
		bpf_map__set_max_entries(skeleton->maps.allocations, ALLOCATIONS_MAX);
		skeleton->rodata->device_number = settings->device_number;
	}
	if (settings->matmuls)
		bpf_map__set_max_entries(skeleton->maps.matmuls, (u32)settings->function_count + 1);
	if (settings->follow_children)
		bpf_map__set_max_entries(skeleton->maps.targets, TARGETS_MAX_CHILDREN);
	skeleton->rodata->off_cpu_min_ns = settings->off_cpu_min_ns;
	bpf_map__set_max_entries(skeleton->maps.stacks,
				 settings->off_cpu || settings->growth || settings->heap_plan ||
						 settings->call_stacks || settings->usdt_stacks ||
						 settings->sample_period_ns ||
						 settings->launch_stacks
					 ? STACKS_MAX
					 : 1);
	if (!settings->off_cpu)
		bpf_map__set_max_entries(skeleton->maps.off_cpu_threads, 1);
	choose_programs(source, settings);
	bpf_source_configure_usdt(source, settings);
	bpf_source_choose_growth(source, settings->growth);
	bpf_source_choose_code(source, skeleton->rodata->has_probes);
	bpf_source_configure_samples(source, settings->sample_period_ns);
	bpf_source_configure_unwind(source, settings);
	bpf_source_configure_python(source, settings->python && settings->unwinds);
	bpf_source_choose_traps(source, settings->heap_plan || settings->usdt_sites ||
						settings->python || settings->launch_stacks);
	bpf_source_choose_cupti(source, settings->cupti_calls);
	return load(source, err);
}

struct task_programs {
	struct bpf_program *programs[TASK_PROGRAMS];
};

static struct task_programs task_programs_of(const struct bpf_source *source)
{
	const struct gpuprobe_bpf *skeleton = source->skeleton;

	return (struct task_programs){{skeleton->progs.task_renamed, skeleton->progs.task_exit,
				       skeleton->progs.task_exec, skeleton->progs.task_forked,
				       skeleton->progs.task_freed}};
}

static int attach_task_programs(struct bpf_source *source, struct err *err)
{
	struct task_programs task = task_programs_of(source);

	for (size_t i = 0; i < TASK_PROGRAMS; i++) {
		source->task_links[i] = bpf_program__attach(task.programs[i]);
		if (!source->task_links[i])
			return err_errno(err, -errno, "can't attach to the tracepoint of %s",
					 bpf_program__name(task.programs[i]));
	}
	return 0;
}

u64 bpf_source_missed_task_events(const struct bpf_source *source)
{
	struct task_programs task = task_programs_of(source);
	u64 missed = 0;

	for (size_t i = 0; i < TASK_PROGRAMS; i++)
		missed += bpf_program_missed(bpf_program__fd(task.programs[i]));
	return missed;
}

/* ret_refused: the kernel does not take the programs. */
static int open_source(const struct kernel_abilities *abilities,
		       const struct bpf_source_settings *settings, struct bpf_source **ret_source,
		       bool *ret_refused, struct err *err)
{
	struct bpf_source *source = calloc(1, sizeof(*source));
	int result;

	if (!source)
		return err_errno(err, -ENOMEM, "can't load the BPF programs");
	source->abilities = *abilities;
	source->unwind_ranges.max = UNWIND_MAPPINGS_MAX;
	source->skeleton = gpuprobe_bpf__open();
	result = source->skeleton ? configure(source, settings, err)
				  : err_errno(err, -errno, "can't open the BPF programs");
	if (!result)
		result = make_rings(source, err);
	if (!result)
		result = bpf_source_watch_python(source, err);
	if (!result)
		result = attach_task_programs(source, err);
	*ret_refused = source->refused;
	if (result) {
		bpf_source_free(source);
		return result;
	}
	*ret_source = source;
	return 0;
}

/* What is hardest for a verifier is to see that walks end, of frames of Python first. False: there is nothing left to leave out. */
static bool leave_out_walks(struct bpf_source_settings *settings)
{
	bool *walks = settings->python ? &settings->python : &settings->unwinds;
	bool left_out = *walks;

	*walks = false;
	return left_out;
}

int bpf_source_open(const struct kernel_abilities *abilities,
		    const struct bpf_source_settings *settings, struct bpf_source **ret_source,
		    struct err *err)
{
	struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
	struct bpf_source_settings wanted = *settings;
	struct err why = {0};
	bool refused = false;
	int result;

	/* Before 5.11 the memory of maps counted as locked; since then this changes nothing. */
	setrlimit(RLIMIT_MEMLOCK, &unlimited);
	libbpf_set_print(print_message);
	result = open_source(abilities, &wanted, ret_source, &refused, &why);
	while (result && refused && leave_out_walks(&wanted)) {
		log_debug("once more, without %s: %s",
			  wanted.unwinds ? "frames of Python" : "the walk of stacks", why.message);
		why = (struct err){0};
		result = open_source(abilities, &wanted, ret_source, &refused, &why);
	}
	if (result) {
		if (err)
			*err = why;
		return result;
	}
	(*ret_source)->walks_refused = settings->unwinds && !wanted.unwinds;
	(*ret_source)->python_refused = settings->python && !wanted.python;
	return 0;
}

bool bpf_source_walks_refused(const struct bpf_source *source)
{
	return source->walks_refused;
}

struct bpf_source *bpf_source_free(struct bpf_source *source)
{
	if (!source)
		return NULL;
	uprobe_detach(&source->uprobes, NULL, NULL);
	free(source->split.tags);
	free(source->split.off);
	bpf_source_detach_off_cpu(source);
	bpf_source_unwatch_usdt(source);
	bpf_source_detach_growth(source);
	bpf_source_unwatch_code(source);
	bpf_source_detach_samples(source);
	bpf_link__destroy(source->heap_link);
	for (size_t i = 0; i < ARRAY_SIZE(source->task_links); i++)
		bpf_link__destroy(source->task_links[i]);
	ring_buffer__free(source->rings);
	ring_buffer__free(source->events);
	bpf_source_unwatch_python(source);
	bpf_source_rings_free(source);
	unwind_ranges_free(&source->unwind_ranges);
	gpuprobe_bpf__destroy(source->skeleton);
	free(source);
	return NULL;
}
