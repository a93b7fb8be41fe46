/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/overhead.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "plan/gpu_catalogue.h"

/* Beyond it two samples become one. */
#define SAMPLES_MAX 4096

struct sample {
	u64 ts, cost_ns, cpu_ns;
};

struct overhead {
	struct overhead_config config;
	struct overhead_part *parts;
	size_t part_count;
	struct probe_hits *hits;
	u64 cpu_ns, marked_cpu_ns, marked_ns, marked_cost_ns;
	struct sample *samples;
	size_t sample_count, sample_capacity;
	unsigned marks_a_sample, marks; /* marks since the last sample */
};

/* What is recorded besides calls. */
static const struct sort {
	const char *name;
	bool is_plural;
	bool has_probes; /* the hits of which have a price of their own */
	bool may_go;
	bool goes_first;
} sorts[] = {
	[PRICE_WAITS] = {"waits", true, false, true},
	[PRICE_GROWTH] = {"memory growth", false, false, true},
	[PRICE_HEAP] = {"allocations", true, true, true},
	[PRICE_USDT] = {"USDT probes", true, true, true},
	/* They are part of what the probes of functions do. */
	[PRICE_GPU_MEMORY] = {"accounts of GPU memory", true, false, false},
	[PRICE_MATMUL] = {"sizes of matrix products", true, false, false},
	[PRICE_CALL_STACKS] = {"stacks of calls", true, false, false},
	[PRICE_LAUNCH_STACKS] = {"stacks of launches", true, true, true, true},
	[PRICE_SAMPLES] = {"samples of running threads", true, false, true, true},
	[PRICE_PYTHON] = {"ends of code objects of Python", true, true, false},
};

/* The GPU side; without a price, and with one. */
static const struct {
	const char *not_priced, *name;
} gpu_names[] = {
	[GPU_COST_DRIVER_CALLS] = {"CUDA driver calls (not priced)", "CUDA driver calls"},
	[GPU_COST_RUNTIME_CALLS] = {"CUDA runtime calls (not priced)", "CUDA runtime calls"},
	[GPU_COST_STACKS] = {"stacks of launches, by the agent",
			     "stacks of launches, by the agent"},
	[GPU_COST_OPERATIONS] = {"kernels, copies and sets (not priced)",
				 "kernels, copies and sets"},
	[GPU_COST_THREADS] = {"threads of the agent and of CUPTI, beside the targets' own",
			      "threads of the agent and of CUPTI, beside the targets' own"},
};

_Static_assert(ARRAY_SIZE(gpu_names) == GPU_COSTS, "each has a row");
_Static_assert(ARRAY_SIZE(sorts) == PRICE_SORTS, "each has a row");

static void fill_parts(struct overhead *overhead)
{
	const struct overhead_config *config = &overhead->config;

	for (size_t i = 0; i < config->plan->function_count; i++) {
		const struct plan_function *function = &config->plan->functions[i];

		/* They are a sort. */
		if (function->launch_only)
			continue;
		overhead->parts[overhead->part_count++] = (struct overhead_part){
			.name = function->name,
			.function = i,
			.by_level = function->by_level,
			.api = plan_is_api(config->plan, function) && !function->allocator,
			.allocator = function->allocator != NULL,
			.may_go = config->may_go(function)};
	}
	for (size_t i = 0; i < PRICE_SORTS; i++)
		if (config->sorts[i].recorded)
			overhead->parts[overhead->part_count++] =
				(struct overhead_part){.name = sorts[i].name,
						       .is_plural = sorts[i].is_plural,
						       .function = SIZE_MAX,
						       .sort = i,
						       .by_level = config->sorts[i].by_level,
						       .may_go = sorts[i].may_go,
						       .goes_first = sorts[i].goes_first};
	for (enum gpu_cost i = GPU_COST_NONE + 1; i < GPU_COSTS && config->gpu; i++)
		overhead->parts[overhead->part_count++] =
			(struct overhead_part){.name = gpu_names[i].name,
					       .function = SIZE_MAX,
					       .sort = PRICE_SORTS,
					       .gpu = i,
					       .may_go = config->gpu_may_go};
}

int overhead_create(const struct overhead_config *config, struct overhead **ret_overhead,
		    struct err *err)
{
	struct overhead *overhead = calloc(1, sizeof(*overhead));
	size_t function_count = config->plan->function_count;

	if (overhead) {
		overhead->config = *config;
		overhead->marks_a_sample = 1;
		overhead->parts = calloc(function_count + ARRAY_SIZE(sorts) + GPU_COSTS,
					 sizeof(*overhead->parts));
		overhead->hits = calloc(function_count + 1, sizeof(*overhead->hits));
	}
	if (!overhead || !overhead->parts || !overhead->hits) {
		overhead_free(overhead);
		return err_errno(err, -ENOMEM, "can't estimate the price");
	}
	fill_parts(overhead);
	*ret_overhead = overhead;
	return 0;
}

struct overhead *overhead_free(struct overhead *overhead)
{
	if (!overhead)
		return NULL;
	free(overhead->parts);
	free(overhead->hits);
	free(overhead->samples);
	free(overhead);
	return NULL;
}

static void update_sort(struct overhead_part *part, const struct counters *counters,
			const struct calibration *calibration)
{
	const struct price_hits *hits = &counters->prices[part->sort];
	double run_ns = hits->timed_runs ? (double)hits->timed_ns / (double)hits->timed_runs : 0;
	u64 cost_ns;

	part->entries = hits->entries + hits->stepped_entries;
	part->exits = hits->returns + hits->exits + hits->stepped_exits;
	cost_ns = (u64)((double)hits->runs * run_ns);
	if (part->sort == PRICE_SAMPLES)
		cost_ns += hits->runs * calibration->tick_ns;
	if (sorts[part->sort].has_probes)
		cost_ns += calibration_trap_cost_ns(calibration, hits);
	/* A cheap run makes the mean less, but what was paid stays paid. */
	if (cost_ns > part->cost_ns)
		part->cost_ns = cost_ns;
}

void overhead_set_gpu(struct overhead *overhead,
		      const struct gpu_cost_value values[static GPU_COSTS])
{
	for (size_t i = 0; i < overhead->part_count; i++) {
		struct overhead_part *part = &overhead->parts[i];
		const struct gpu_cost_value *value = &values[part->gpu];

		if (!part->gpu)
			continue;
		part->not_priced = value->cost_ns == AGENTS_NOT_PRICED;
		part->name = part->not_priced ? gpu_names[part->gpu].not_priced
					      : gpu_names[part->gpu].name;
		part->entries = value->entries;
		part->exits = ~0ULL;
		/* It only grows, whatever a target writes. */
		if (!part->not_priced && value->cost_ns > part->cost_ns)
			part->cost_ns = value->cost_ns;
	}
}

int overhead_update(struct overhead *overhead, u64 cpu_ns)
{
	const struct overhead_config *config = &overhead->config;
	const struct plan *plan = config->plan;
	struct counters counters;
	int result = bpf_source_counters(config->source, &counters);

	if (!result && plan->function_count)
		result = bpf_source_hits(config->source, plan->function_count, overhead->hits);
	if (result)
		return result;
	for (size_t i = 0; i < overhead->part_count; i++) {
		struct overhead_part *part = &overhead->parts[i];
		const struct probe_hits *hits;

		if (part->gpu)
			continue;
		if (part->function == SIZE_MAX) {
			update_sort(part, &counters, config->calibration);
			continue;
		}
		hits = &overhead->hits[part->function];
		part->entries = hits->entries;
		part->exits = hits->exits + hits->stepped_exits;
		part->cost_ns = calibration_cost_ns(config->calibration,
						    &plan->functions[part->function], hits);
	}
	overhead->cpu_ns = cpu_ns;
	return 0;
}

/* Of what the targets' threads do for it, or of what threads of ours do beside them. */
static u64 cost_of(const struct overhead *overhead, bool beside)
{
	u64 sum = 0;

	for (size_t i = 0; i < overhead->part_count; i++)
		if ((overhead->parts[i].gpu == GPU_COST_THREADS) == beside)
			sum += overhead->parts[i].cost_ns;
	return sum;
}

static double percent_of(const struct overhead *overhead, bool beside)
{
	return overhead->cpu_ns
		       ? 100.0 * (double)cost_of(overhead, beside) / (double)overhead->cpu_ns
		       : -1;
}

double overhead_percent(const struct overhead *overhead)
{
	return percent_of(overhead, false);
}

u64 overhead_cost_ns(const struct overhead *overhead)
{
	return cost_of(overhead, false);
}

u64 overhead_cpu_ns(const struct overhead *overhead)
{
	return overhead->cpu_ns;
}

double overhead_beside_percent(const struct overhead *overhead)
{
	return percent_of(overhead, true);
}

struct overhead_part *overhead_parts(struct overhead *overhead, size_t *ret_count)
{
	*ret_count = overhead->part_count;
	return overhead->parts;
}

static void halve_samples(struct overhead *overhead)
{
	overhead->sample_count /= 2;
	for (size_t i = 0; i < overhead->sample_count; i++) {
		const struct sample *pair = &overhead->samples[2 * i];

		overhead->samples[i] =
			(struct sample){pair[0].ts, pair[0].cost_ns + pair[1].cost_ns,
					pair[0].cpu_ns + pair[1].cpu_ns};
	}
	overhead->marks_a_sample *= 2;
}

/* Without memory the price is known, but not how it changed. */
static void add_sample(struct overhead *overhead, u64 cost_ns, u64 cpu_ns)
{
	struct sample *last = overhead->samples + overhead->sample_count - 1;

	if (!cpu_ns && !cost_ns)
		return;
	/* Of a time without CPU time there is no percentage. */
	if (overhead->sample_count && (!cpu_ns || overhead->marks % overhead->marks_a_sample)) {
		overhead->marks++;
		last->cost_ns += cost_ns;
		last->cpu_ns += cpu_ns;
		return;
	}
	if (overhead->sample_count == SAMPLES_MAX)
		halve_samples(overhead);
	overhead->marks++;
	if (!array_reserve(&overhead->samples, &overhead->sample_capacity,
			   overhead->sample_count + 1))
		overhead->samples[overhead->sample_count++] =
			(struct sample){overhead->marked_ns, cost_ns, cpu_ns};
}

void overhead_begin(struct overhead *overhead, u64 now_ns)
{
	overhead->marked_ns = now_ns;
}

void overhead_mark(struct overhead *overhead, u64 now_ns)
{
	u64 cost_ns = cost_of(overhead, false);

	add_sample(overhead, cost_ns - overhead->marked_cost_ns,
		   overhead_cpu_since_mark_ns(overhead));
	overhead->marked_ns = now_ns;
	overhead->marked_cost_ns = cost_ns;
	overhead->marked_cpu_ns = overhead->cpu_ns;
	for (size_t i = 0; i < overhead->part_count; i++)
		overhead->parts[i].marked_cost_ns = overhead->parts[i].cost_ns;
}

/* Of a target that has ended the CPU time may be unknown for a moment. */
u64 overhead_cpu_since_mark_ns(const struct overhead *overhead)
{
	return overhead->cpu_ns > overhead->marked_cpu_ns
		       ? overhead->cpu_ns - overhead->marked_cpu_ns
		       : 0;
}

/* ---- facts ---- */

static int put_cost(const struct overhead *overhead, const struct overhead_part *part,
		    struct recording_facts *facts, struct batch *batch)
{
	bool is_function = part->function != SIZE_MAX;
	struct record_probe_cost cost = {
		.header = recording_facts_header(KIND_probe_cost, sizeof(cost), RECORD_SOURCE_BPF),
		.probe = is_function ? (u32)part->function + 1 : 0,
		.entries = part->entries,
		.exits = is_function || part->gpu || sorts[part->sort].has_probes ? part->exits
										  : ~0ULL,
		.cost_ns = part->not_priced ? ~0ULL : part->cost_ns,
		.cpu_ns = overhead->cpu_ns,
		.switched_off = part->switched_off_ns};
	int result = 0;

	cost.header.name = cost.probe;
	if (!is_function)
		result = text_ids_get(&facts->probes, batch, part->name, &cost.header.name);
	return result ? result : batch_add(batch, &cost.header);
}

static int put_samples(const struct overhead *overhead, u32 pid, struct batch *batch)
{
	int result = 0;

	for (size_t i = 0; i < overhead->sample_count && !result; i++) {
		const struct sample *sample = &overhead->samples[i];
		struct record_probing counter = {
			.header = recording_facts_header(KIND_probing, sizeof(counter),
							 RECORD_SOURCE_TOOL),
			.cost_ns = sample->cost_ns,
			.cpu_ns = sample->cpu_ns};

		counter.header.ts = sample->ts;
		counter.header.pid = pid;
		result = batch_add(batch, &counter.header);
	}
	return result;
}

int overhead_put_facts(const struct overhead *overhead, struct recording_facts *facts, u32 pid,
		       struct batch *batch)
{
	int result = 0;

	for (size_t i = 0; i < overhead->part_count && !result; i++)
		if (overhead->parts[i].entries || overhead->parts[i].switched_off_ns)
			result = put_cost(overhead, &overhead->parts[i], facts, batch);
	return result ? result : put_samples(overhead, pid, batch);
}
