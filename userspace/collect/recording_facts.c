/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/recording_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "process/proc_file.h"
#include "process/process_rank.h"
#include "process/process_title.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "store/schema.h"
#include "../bpf/shared.h"

struct record_header recording_facts_header(u32 kind, size_t size_bytes, u32 source)
{
	return (struct record_header){.size_bytes = size_bytes,
				      .kind = kind,
				      .source = source,
				      .ts = clock_monotonic_ns()};
}

void recording_facts_init(struct recording_facts *facts)
{
	*facts = (struct recording_facts){.tool = {.source = RECORD_SOURCE_TOOL},
					  .probes = {.source = RECORD_SOURCE_BPF}};
}

void recording_facts_free(struct recording_facts *facts)
{
	text_ids_free(&facts->tool);
	text_ids_free(&facts->probes);
}

int recording_facts_attribute(struct recording_facts *facts, struct batch *batch, u8 group,
			      const char *key, const char *value)
{
	struct record_attribute fact = {
		.header = recording_facts_header(KIND_attribute, sizeof(fact), RECORD_SOURCE_TOOL),
		.group = group};
	int result;

	if (!value || !*value)
		return 0;
	result = text_ids_get(&facts->tool, batch, key, &fact.header.name);
	if (!result)
		result = text_ids_get(&facts->tool, batch, value, &fact.value);
	return result ? result : batch_add(batch, &fact.header);
}

static int add_clock(struct batch *batch)
{
	struct record_clock fact = {
		.header = recording_facts_header(KIND_clock, sizeof(fact), RECORD_SOURCE_TOOL)};

	fact.realtime_ns = clock_read_ns(CLOCK_REALTIME);
	fact.boottime_ns = clock_read_ns(CLOCK_BOOTTIME);
	/* Between two readings of the same clock: as near as one can get. */
	fact.header.ts += (clock_monotonic_ns() - fact.header.ts) / 2;
	return batch_add(batch, &fact.header);
}

int recording_facts_host(struct recording_facts *facts, struct batch *batch)
{
	struct utsname name;
	char cpus[32];
	int result;

	uname(&name);
	snprintf(cpus, sizeof(cpus), "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	result = recording_facts_attribute(facts, batch, VALUE_attribute_group_host, "hostname",
					   name.nodename);
	if (!result)
		result = recording_facts_attribute(facts, batch, VALUE_attribute_group_host,
						   "kernel", name.release);
	if (!result)
		result = recording_facts_attribute(facts, batch, VALUE_attribute_group_host,
						   "machine", name.machine);
	if (!result)
		result = recording_facts_attribute(facts, batch, VALUE_attribute_group_host, "cpus",
						   cpus);
	return result ? result : add_clock(batch);
}

/* Best effort: what is in the capture already stays readable without it. */
void recording_facts_result(struct recording_facts *facts, struct batch *batch, const char *key,
			    double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.6g", value);
	recording_facts_attribute(facts, batch, VALUE_attribute_group_result, key, text);
}

/* false: it has ended since. */
static bool read_thread(const struct target *target, u32 tid, struct record_task *ret_fact)
{
	struct record_task fact = {
		.header = recording_facts_header(KIND_task, sizeof(fact), RECORD_SOURCE_TOOL)};
	_cleanup_free_ char *status = NULL;
	_cleanup_fclose_ FILE *comm = NULL;
	char path[64];
	size_t length;

	fact.header.pid = target->pid;
	fact.header.tid = tid;
	/* From the start on: the name is older than the recording. */
	fact.header.ts = 0;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", target->pid, tid);
	comm = fopen(path, "re");
	if (!comm)
		return false;
	length = fread(fact.comm, 1, sizeof(fact.comm) - 1, comm);
	if (length && fact.comm[length - 1] == '\n')
		fact.comm[length - 1] = 0;
	if (target->other_pid_namespace) {
		snprintf(path, sizeof(path), "/proc/%u/task/%u/status", target->pid, tid);
		if (!proc_file_read(AT_FDCWD, path, &status, NULL))
			fact.tid_in_namespace = proc_status_id_in_namespace(status);
		fact.pid_in_namespace = target->pid_in_namespace;
	}
	*ret_fact = fact;
	return true;
}

int recording_facts_threads(const struct target *target, struct map *known,
			    record_callback callback, void *data)
{
	_cleanup_closedir_ DIR *tasks = NULL;
	struct record_task fact;
	struct dirent *entry;
	char path[64];
	int result = 0;

	snprintf(path, sizeof(path), "/proc/%u/task", target->pid);
	tasks = opendir(path);
	while (result >= 0 && tasks && (entry = readdir(tasks))) {
		u32 tid = strtoul(entry->d_name, NULL, 10);

		if (!tid || map_find(known, tid, 0) || !read_thread(target, tid, &fact))
			continue;
		map_set(known, tid, 0, 1);
		result = callback(data, &fact.header, sizeof(fact));
	}
	return result < 0 ? result : 0;
}

static int add_to_batch(void *data, const struct record_header *record, size_t size_bytes)
{
	return batch_add(data, record);
}

int recording_facts_names(struct batch *batch, u32 pid)
{
	const struct target process = {.pid = pid};
	struct map known = {0};
	int result = recording_facts_threads(&process, &known, add_to_batch, batch);

	map_free(&known);
	return result;
}

int recording_facts_title(struct recording_facts *facts, struct batch *batch, u32 pid,
			  const char *title)
{
	struct record_thread fact = {
		.header = recording_facts_header(KIND_thread, sizeof(fact), RECORD_SOURCE_TOOL),
		.priority = (s32)0x80000000};
	int result;

	if (!title)
		return 0;
	fact.header.pid = pid;
	result = text_ids_get(&facts->tool, batch, title, &fact.header.name);
	return result ? result : batch_add(batch, &fact.header);
}

int recording_facts_rank(struct recording_facts *facts, struct batch *batch, u32 pid,
			 const struct process_rank *rank)
{
	_cleanup_text_ struct text value = {0};
	char key[64];

	if (!rank)
		return 0;
	snprintf(key, sizeof(key), "rank of %u", pid);
	text_appendf(&value, "%u of %u", rank->rank, rank->world_size);
	if (rank->local_rank != PROCESS_RANK_UNKNOWN)
		text_appendf(&value, ", local %u", rank->local_rank);
	return value.failed ? -ENOMEM
			    : recording_facts_attribute(facts, batch, VALUE_attribute_group_target,
							key, text_string(&value));
}

int recording_facts_target(struct recording_facts *facts, struct batch *batch,
			   const struct target *target)
{
	_cleanup_free_ char *title = NULL;
	struct process_rank rank;
	struct map known = {0};
	char key[64];
	int result;

	snprintf(key, sizeof(key), "executable of %u", target->pid);
	result = recording_facts_attribute(facts, batch, VALUE_attribute_group_target, key,
					   target->executable);
	if (!result && process_rank_read(target->pid, &rank))
		result = recording_facts_rank(facts, batch, target->pid, &rank);
	if (!result)
		result = recording_facts_threads(target, &known, add_to_batch, batch);
	map_free(&known);
	(void)process_title_read(target->pid, &title);
	return result ? result : recording_facts_title(facts, batch, target->pid, title);
}

int recording_facts_mapping(struct recording_facts *facts, struct batch *batch,
			    const struct code_map *map, const struct code_mapping *mapping)
{
	struct record_module fact = {
		.header = recording_facts_header(KIND_module, sizeof(fact), RECORD_SOURCE_TOOL),
		.id = mapping->id,
		.start = mapping->start,
		.end = mapping->end,
		.file_offset = mapping->file_offset};
	const char *path = mapping->path[0] ? mapping->path : "[anonymous]";
	int result = text_ids_get(&facts->tool, batch, path, &fact.header.name);

	fact.header.pid = mapping->pid;
	fact.header.ts = mapping->first_seen_ns;
	if (mapping->file != SIZE_MAX)
		memcpy(fact.build_id, map->files[mapping->file].build_id, sizeof(fact.build_id));
	return result ? result : batch_add(batch, &fact.header);
}

static int add_probe(struct recording_facts *facts, struct batch *batch,
		     const struct plan_function *function, const char *binary, u32 id)
{
	struct record_probe fact = {
		.header = recording_facts_header(KIND_probe, sizeof(fact), RECORD_SOURCE_BPF),
		.id = id,
		.returns = function->returns,
		.cost = function->cost == COST_STEPPED ? VALUE_probe_cost_stepped
						       : VALUE_probe_cost_cheap,
		.entry_only_reason = function->entry_only_reason,
		.address = function->address,
		.file_offset = function->file_offset};
	int result = text_ids_get(&facts->probes, batch, function->mangled, &fact.mangled);

	fact.header.name = id;
	if (!result)
		result = text_ids_get(&facts->probes, batch, binary, &fact.binary);
	return result ? result : batch_add(batch, &fact.header);
}

int recording_facts_plan(struct recording_facts *facts, struct batch *batch,
			 const struct plan *plan)
{
	int result = 0;

	/* The BPF programs use a probe's id as the text id of its name. */
	for (size_t i = 0; i < plan->function_count && !result; i++) {
		const char *name = plan->functions[i].name;

		result = batch_add_text(batch, RECORD_SOURCE_BPF, i + 1, name, strlen(name));
	}
	facts->probes.base = plan->function_count + USDT_TEXTS_PER_PROBE * plan->usdt_count;
	if (!result)
		result = text_ids_get(&facts->probes, batch, "BPF programs", &facts->bpf_place);
	for (size_t i = 0; i < plan->function_count && !result; i++) {
		const struct plan_function *function = &plan->functions[i];

		result = add_probe(facts, batch, function, plan->modules[function->module].path,
				   i + 1);
	}
	return result;
}

int recording_facts_bpf_names(struct batch *batch)
{
	static const char *const names[] = {
		[VALUE_off_cpu_reason_sleeping] = "asleep",
		[VALUE_off_cpu_reason_uninterruptible] = "page fault",
		[VALUE_off_cpu_reason_preempted] = "preempted",
		[VALUE_off_cpu_reason_stopped] = "stopped",
	};
	static const struct {
		u32 id;
		const char *name;
	} others[] = {
		{TEXT_PAGE_FAULT, "page fault"},
		{TEXT_NOBODY, "nobody"}, /* ran instead */
		{TEXT_IO_URING_WORKER, "io_uring worker"},
		{TEXT_KERNEL_WORKER, "kernel worker"},
		{TEXT_IO_URING, "io_uring"},
	};
	int result = 0;

	for (u32 i = 0; i < ARRAY_SIZE(names) && !result; i++)
		if (names[i])
			result = batch_add_text(batch, RECORD_SOURCE_BPF, TEXT_OFF_CPU + i,
						names[i], strlen(names[i]));
	for (u32 i = 0; i < STACK_ENDS_MAX && !result; i++) {
		const struct schema_enum_value *end = schema_enum("stack_end", i);

		if (end)
			result = batch_add_text(batch, RECORD_SOURCE_BPF, TEXT_STACK_END + i,
						end->meaning, strlen(end->meaning));
	}
	for (size_t i = 0; i < ARRAY_SIZE(others) && !result; i++)
		result = batch_add_text(batch, RECORD_SOURCE_BPF, others[i].id, others[i].name,
					strlen(others[i].name));
	return result;
}

int recording_facts_window(struct batch *batch, u64 start_ns, u64 dur_ns)
{
	struct record_window fact = {
		.header = recording_facts_header(KIND_window, sizeof(fact), RECORD_SOURCE_TOOL)};

	fact.header.ts = start_ns;
	fact.header.dur = dur_ns;
	return batch_add(batch, &fact.header);
}

int recording_facts_loss(struct batch *batch, u32 source, u32 reason, u32 place, u64 count)
{
	return recording_facts_loss_at(batch, source, reason, place, count, 0);
}

int recording_facts_loss_at(struct batch *batch, u32 source, u32 reason, u32 place, u64 count,
			    u64 at_ns)
{
	struct record_loss fact = {.header =
					   recording_facts_header(KIND_loss, sizeof(fact), source),
				   .reason = reason,
				   .place = place,
				   .count = count,
				   .at = at_ns};

	return count ? batch_add(batch, &fact.header) : 0;
}

int recording_facts_end(struct batch *batch, u32 pid, u8 sort, u8 why, u64 at_ns, u64 complete_ns)
{
	struct record_recording_end fact = {.header = recording_facts_header(KIND_recording_end,
									     sizeof(fact),
									     RECORD_SOURCE_TOOL),
					    .sort = sort,
					    .why = why,
					    .complete = complete_ns < at_ns ? complete_ns : 0};

	fact.header.ts = at_ns;
	fact.header.pid = pid;
	return batch_add(batch, &fact.header);
}
