/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recording/kernels.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "resolve/kernel_sources.h"

struct output {
	const struct kernel_cache_process *processes;
	struct text_ids *texts;
	struct batch *batch;
	u64 now_ns;
};

static int add_source(void *data, const struct kernel_source *source)
{
	const struct output *output = data;
	struct record_kernel_source fact = {
		.header = {.size_bytes = sizeof(fact),
			   .kind = KIND_kernel_source,
			   .source = RECORD_SOURCE_TOOL,
			   .ts = output->now_ns,
			   .pid = output->processes[source->process].pid},
		.line = source->line,
		.confirmed = source->confirmed ? VALUE_yes_no_yes : 0};
	const struct {
		const char *string;
		u32 *id;
	} texts[] = {{source->name, &fact.header.name},
		     {source->file, &fact.file},
		     {source->launcher, &fact.launcher},
		     {source->nodes, &fact.nodes},
		     {source->operations, &fact.operations}};
	int result = 0;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts) && !result; i++)
		result = text_ids_get(output->texts, output->batch, texts[i].string, texts[i].id);
	return result ? result : batch_add(output->batch, &fact.header);
}

/* Those of which only their number is known have no folders. */
static struct kernel_cache_process *make_processes(const struct code_map *code)
{
	struct kernel_cache_process *processes =
		calloc(code->process_count + 1, sizeof(*processes));

	for (size_t i = 0; processes && i < code->process_count; i++)
		processes[i] = (struct kernel_cache_process){
			.pid = code->processes[i].pid,
			.uid = code->processes[i].uid,
			.root_fd = code->processes[i].root_fd,
			.triton_folder = code->processes[i].caches.triton,
			.inductor_folder = code->processes[i].caches.inductor,
			.inductor_parent = code->processes[i].caches.inductor_parent,
		};
	return processes;
}

int kernels_put(const struct kernel_texts *kernels, const struct code_map *code,
		struct text_ids *texts, struct batch *batch)
{
	_cleanup_free_ struct kernel_cache_process *processes = make_processes(code);
	struct output output = {processes, texts, batch, clock_monotonic_ns()};
	const struct record_loss cut = {.header = {.size_bytes = sizeof(cut),
						   .kind = KIND_loss,
						   .source = RECORD_SOURCE_TOOL,
						   .ts = output.now_ns},
					.reason = VALUE_loss_reason_kernel_sources_cut,
					.count = code->process_count};
	struct kernel_sources_status status;
	int result;

	if (!processes)
		return -ENOMEM;
	result = kernel_sources_find(processes, code->process_count, &kernels->table,
				     KERNELS_TIME_NS, add_source, &output, &status);
	log_debug("%llu places of kernels in the caches of Triton and inductor: %.2f s",
		  (unsigned long long)status.count, (double)status.took_ns / NS_PER_SECOND);
	return result || !status.cut ? result : batch_add(batch, &cut.header);
}
