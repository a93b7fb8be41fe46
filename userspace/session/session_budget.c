/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the recording costs, and switching off what costs more than it may. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/price.h"
#include "base/text.h"
#include "base/thread.h"
#include "plan/gpu_catalogue.h"
#include "session/session_parts.h"

/* Before less than that has passed, or the targets have run less than that, an estimate is worth nothing; one that is asleep
 * is looked at after the second time all the same. */
#define FUNCTIONS_TOLD	  3
#define LOOK_AFTER_NS	  (500 * NS_PER_MILLISECOND)
#define LOOK_AFTER_CPU_NS (25 * NS_PER_MILLISECOND)
#define LOOK_AT_LAST_NS	  (4 * NS_PER_SECOND)
/* At calls of CUDA that probes record, which may be a million a second. In less CPU time a share says nothing; and what costs less
 * than this in that time disturbs nobody. */
#define API_FIRST_LOOK_NS   (20 * NS_PER_MILLISECOND)
#define API_LOOK_NS	    (100 * NS_PER_MILLISECOND)
#define API_LOOK_COST_NS    (NS_PER_MILLISECOND / 2)
#define API_LOOK_CPU_NS	    (5 * NS_PER_MILLISECOND)
#define API_MARK_NS	    NS_PER_SECOND
#define API_AT_ONCE_PERCENT (4 * BUDGET_OF_API_PERCENT)

static bool goes_by_level(const struct plan_function *function)
{
	return function->by_level;
}

static bool goes(const struct plan_function *function)
{
	return true;
}

/* Ends of code objects of Python. */
static bool counts_python(const struct session_config *config)
{
	return config->settings->python && session_takes_stacks(config);
}

/* What is recorded besides calls. Waits have no option that asks for them. */
static void choose_sorts(const struct session_config *config,
			 struct overhead_sort sorts[static PRICE_SORTS])
{
	bool asked_for_memory = config->settings->memory_asked;

	sorts[PRICE_WAITS] = (struct overhead_sort){config->settings->off_cpu, true};
	sorts[PRICE_GROWTH] = (struct overhead_sort){config->settings->growth, !asked_for_memory};
	sorts[PRICE_HEAP] = (struct overhead_sort){config->heap_plan, !asked_for_memory};
	sorts[PRICE_USDT] =
		(struct overhead_sort){config->plan->usdt_count, !config->settings->usdt_asked};
	sorts[PRICE_SAMPLES] = (struct overhead_sort){config->settings->sample_period_ns,
						      !config->settings->samples_asked};
	sorts[PRICE_CALL_STACKS] = (struct overhead_sort){config->settings->call_stacks, false};
	sorts[PRICE_LAUNCH_STACKS] = (struct overhead_sort){
		plan_takes_launch_stacks(config->plan),
		config->settings->launch_stacks_by_price || config->settings->launch_stacks_first};
	sorts[PRICE_PYTHON] = (struct overhead_sort){counts_python(config), true};
	sorts[PRICE_MATMUL] = (struct overhead_sort){plan_has_matmuls(config->plan), true};
	for (size_t i = 0; i < config->plan->function_count; i++)
		if (config->plan->functions[i].allocator)
			sorts[PRICE_GPU_MEMORY] = (struct overhead_sort){true, true};
}

static void *run_calibration(void *data)
{
	struct session *session = data;
	const struct session_config *config = session->config;
	struct calibration_wishes wishes = {.returns = session_returns(config),
					    .counts = plan_counted(config->plan) != 0,
					    .traps = config->plan->usdt_count ||
						     config->heap_plan || counts_python(config) ||
						     plan_takes_launch_stacks(config->plan),
					    .ticks = config->settings->sample_period_ns};

	session->calibrate_result = calibrate(session->source, config->abilities, &wishes,
					      &session->own_links, &session->calibration, NULL);
	return NULL;
}

void session_calibrate(struct session *session)
{
	session->calibrates = !thread_start(&session->calibrator, run_calibration, session);
	if (!session->calibrates)
		run_calibration(session);
}

void session_calibrate_wait(struct session *session)
{
	if (session->calibrates)
		pthread_join(session->calibrator, NULL);
	session->calibrates = false;
}

int session_budget_open(struct session *session, struct err *err)
{
	const struct session_config *config = session->config;
	struct overhead_config overhead = {
		.source = session->source,
		.plan = config->plan,
		.calibration = &session->calibration,
		.may_go = config->settings->max_overhead_percent ? goes : goes_by_level,
		.gpu = config->agents != NULL,
		.gpu_may_go = config->settings->max_overhead_percent != 0,
	};

	if (bpf_source_split(session->source, config->plan, overhead.may_go))
		return err_errno(err, -ENOMEM, "can't plan the probes");
	/* What nobody asked for is not taken where its price is not known. */
	if (session->calibrate_result && config->settings->launch_stacks_first)
		(void)bpf_source_switch_sort_off(session->source, PRICE_LAUNCH_STACKS);
	if (session->calibrate_result)
		return 0;
	choose_sorts(config, overhead.sorts);
	session->launches_by_price =
		config->settings->launch_stacks_by_price && plan_takes_launch_stacks(config->plan);
	session->launches_first =
		config->settings->launch_stacks_first && plan_takes_launch_stacks(config->plan);
	session->api_probed =
		plan_has_api(config->plan) || session->launches_by_price || session->launches_first;
	return overhead_create(&overhead, &session->overhead, err);
}

/* ---- switching off ---- */

/* As session_put_loss(), of a sort of records that others are judged by. */
static void put_end(struct session *session, u8 sort, u64 at_ns)
{
	struct batch *batch = batch_queue_take_empty(session->queue);

	recording_facts_end(batch, 0, sort, VALUE_recording_end_why_budget, at_ns, 0);
	batch_queue_put_full(session->queue, batch);
}

/* From when on. */
static u64 switch_sort_off(struct session *session, enum price_sort sort)
{
	u64 now_ns = clock_monotonic_ns();

	if (sort == PRICE_WAITS)
		return bpf_source_end_off_cpu(session->source);
	if (sort == PRICE_GROWTH)
		bpf_source_detach_growth(session->source);
	else if (sort == PRICE_SAMPLES)
		session_end_samples(session);
	else
		session_take_sort_off(session, sort, NULL);
	return now_ns;
}

static void note_switched_off(struct session *session, const char *name, u64 since_ns)
{
	session_put_loss(session, VALUE_loss_reason_switched_off, name, since_ns, 1);
	session->result.status.switched_off_count++;
}

static void tell_switched_off(struct session *session, const char *name, bool is_plural,
			      u64 since_ns, double percent)
{
	const struct session_config *config = session->config;

	if (config->on_switched_off)
		config->on_switched_off(config->callback_data, name, is_plural,
					since_ns - session->window_start_ns, percent);
}

static void switch_gpu_off(struct session *session, double percent)
{
	u64 now_ns;
	const char *name = session_gpu_shed(session, &now_ns);

	note_switched_off(session, name, now_ns);
	tell_switched_off(session, name, false, now_ns, percent);
}

/* What goes together: of each its place among the parts, and what it costs. */
struct departure {
	size_t count;
	struct departing {
		size_t part;
		double percent;
	} * items;
	size_t *functions;
	u32 *tags;
};

static void departure_free(struct departure *departure)
{
	free(departure->items);
	free(departure->functions);
	free(departure->tags);
}

static int departure_create(size_t room, struct departure *ret_departure)
{
	*ret_departure =
		(struct departure){.items = calloc(room + 1, sizeof(*ret_departure->items)),
				   .functions = calloc(room + 1, sizeof(size_t)),
				   .tags = calloc(room + 1, sizeof(u32))};
	return ret_departure->items && ret_departure->functions && ret_departure->tags ? 0
										       : -ENOMEM;
}

/* The functions side by side: each link alone takes the kernel as long as all. */
static void switch_functions_off(struct session *session, struct overhead_part *parts,
				 const struct departure *departure)
{
	size_t count = 0;
	u64 now_ns;

	for (size_t i = 0; i < departure->count; i++)
		if (parts[departure->items[i].part].function != SIZE_MAX)
			departure->functions[count++] = parts[departure->items[i].part].function;
	if (!count)
		return;
	/* First they are silent, then that is the time. */
	for (size_t i = 0; i < count; i++)
		bpf_source_silence(session->source, departure->functions[i], clock_monotonic_ns());
	now_ns = clock_monotonic_ns();
	for (size_t i = 0; i < departure->count; i++)
		if (parts[departure->items[i].part].function != SIZE_MAX)
			parts[departure->items[i].part].switched_off_ns = now_ns;
	session_take_probes_off(session, departure->functions, count, now_ns, departure->tags,
				NULL);
}

/* Of many functions that go together the dearest are told of by name, and the ledger has all. */
struct telling {
	size_t named, others;
	u64 since_ns; /* of the others */
	double percent;
};

static int by_percent(const void *left, const void *right)
{
	const struct departing *a = left, *b = right;

	return (a->percent < b->percent) - (a->percent > b->percent);
}

static void tell_function(struct session *session, const struct overhead_part *part, double percent,
			  size_t count, struct telling *telling)
{
	if (part->function == SIZE_MAX || count <= FUNCTIONS_TOLD + 1 ||
	    telling->named++ < FUNCTIONS_TOLD) {
		tell_switched_off(session, part->name, part->is_plural, part->switched_off_ns,
				  percent);
		return;
	}
	telling->others++;
	telling->since_ns = part->switched_off_ns;
	telling->percent += percent;
}

static void tell_others(struct session *session, const struct telling *telling)
{
	char name[64];

	if (!telling->others)
		return;
	snprintf(name, sizeof(name), "what %zu more functions do (see the ledger)",
		 telling->others);
	tell_switched_off(session, name, false, telling->since_ns, telling->percent);
}

static void switch_off(struct session *session, struct overhead_part *parts,
		       const struct departure *departure)
{
	struct telling telling = {0};

	qsort(departure->items, departure->count, sizeof(*departure->items), by_percent);
	switch_functions_off(session, parts, departure);
	for (size_t i = 0; i < departure->count; i++) {
		struct overhead_part *part = &parts[departure->items[i].part];

		if (part->gpu) {
			switch_gpu_off(session, departure->items[i].percent);
			continue;
		}
		if (part->function == SIZE_MAX)
			part->switched_off_ns = switch_sort_off(session, part->sort);
		if (part->function == SIZE_MAX && part->sort == PRICE_WAITS)
			put_end(session, VALUE_recorded_sort_waits, part->switched_off_ns);
		note_switched_off(session, part->name, part->switched_off_ns);
		tell_function(session, part, departure->items[i].percent, departure->count,
			      &telling);
	}
	tell_others(session, &telling);
}

/* What the part costs. Of the GPU side the calls go first: theirs, where it is known, else that of all of it. */
static double share_of(const struct overhead_part *parts, const struct budget_part *budget,
		       size_t count, size_t part, u64 cpu_ns)
{
	u64 sum_ns = 0, calls_ns = 0;

	if (!parts[part].gpu)
		return 100.0 * (double)budget[part].cost_ns / (double)cpu_ns;
	for (size_t i = 0; i < count; i++) {
		sum_ns += parts[i].gpu ? budget[i].cost_ns : 0;
		calls_ns += gpu_cost_is_call(parts[i].gpu) ? budget[i].cost_ns : 0;
	}
	return 100.0 * (double)(calls_ns ? calls_ns : sum_ns) / (double)cpu_ns;
}

/* The GPU side goes step by step: what the next one is has to be looked at without the last. */
static void drop(struct budget_part *budget, const struct overhead_part *parts, size_t count,
		 size_t dropped)
{
	budget_drop(budget, dropped);
	for (size_t i = 0; i < count && parts[dropped].gpu; i++)
		if (parts[i].gpu)
			budget_drop(budget, i);
}

static void depart(struct departure *departure, const struct overhead_part *parts,
		   struct budget_part *budget, size_t count, size_t part, u64 cpu_ns)
{
	departure->items[departure->count++] =
		(struct departing){part, share_of(parts, budget, count, part, cpu_ns)};
	drop(budget, parts, count, part);
}

/* Until the rest is within the limits. Functions that give and take memory go together: an account without one of them would be wrong. */
static void hold(struct session *session, struct overhead_part *parts, struct budget_part *budget,
		 size_t count, u64 cpu_ns, const struct budget_limits *limits)
{
	struct departure departure;
	size_t next;

	if (!departure_create(count, &departure)) {
		while ((next = budget_choose(budget, count, cpu_ns, limits)) != BUDGET_NONE) {
			depart(&departure, parts, budget, count, next, cpu_ns);
			for (size_t i = 0; i < count && parts[next].allocator; i++)
				if (parts[i].allocator && budget[i].may_go)
					depart(&departure, parts, budget, count, i, cpu_ns);
		}
		switch_off(session, parts, &departure);
	}
	departure_free(&departure);
}

/* ---- calls of CUDA without CUPTI ---- */

/* What they cost since the mark, each and in all. */
static u64 api_costs(const struct overhead_part *parts, size_t count, struct budget_part *budget)
{
	u64 sum_ns = 0;

	for (size_t i = 0; i < count; i++) {
		if (!parts[i].api || parts[i].switched_off_ns)
			continue;
		budget[i] = (struct budget_part){parts[i].cost_ns - parts[i].api_cost_ns, true,
						 parts[i].may_go, true, false};
		sum_ns += budget[i].cost_ns;
	}
	return sum_ns;
}

static void api_mark(struct session *session, struct overhead_part *parts, size_t count, u64 cpu_ns,
		     u64 now_ns)
{
	for (size_t i = 0; i < count; i++)
		parts[i].api_cost_ns = parts[i].cost_ns;
	session->api_cpu_ns = cpu_ns;
	session->api_mark_ns = now_ns;
}

/* A moment says something of what costs far too much only, a second of the rest. */
static void api_switch_off(struct session *session, u64 cpu_ns, u64 now_ns)
{
	const struct budget_limits limits = {
		.of_api = true, .max_percent = session->config->settings->max_overhead_percent};
	size_t count;
	struct overhead_part *parts = overhead_parts(session->overhead, &count);
	_cleanup_free_ struct budget_part *budget = calloc(count + 1, sizeof(*budget));

	u64 spent_ns = cpu_ns - session->api_cpu_ns, cost_ns;
	bool is_whole = now_ns - session->api_mark_ns >= API_MARK_NS;

	if (!budget)
		return;
	session_launch_look(session, parts, count, spent_ns, is_whole);
	cost_ns = api_costs(parts, count, budget);
	if (cost_ns >= API_LOOK_COST_NS &&
	    (is_whole || cost_ns * 100 > spent_ns * API_AT_ONCE_PERCENT))
		hold(session, parts, budget, count, spent_ns, &limits);
	if (is_whole)
		api_mark(session, parts, count, cpu_ns, now_ns);
}

u64 session_api_look(struct session *session, u64 now_ns)
{
	struct counters counters;
	u64 cpu_ns;

	if (!session->api_probed || !session->budget_open)
		return UINT64_MAX;
	if (now_ns < session->api_look_ns)
		return session->api_look_ns;
	if (!session->api_mark_ns)
		session->api_mark_ns = session->window_start_ns;
	session->api_look_ns =
		now_ns + (session->launches_first || now_ns - session->window_start_ns < API_LOOK_NS
				  ? API_FIRST_LOOK_NS
				  : API_LOOK_NS);
	if (bpf_source_counters(session->source, &counters))
		return session->api_look_ns;
	cpu_ns = session_cpu_time_ns(session, counters.ended_cpu_ns);
	if (cpu_ns <= session->cpu_start_ns)
		return session->api_look_ns;
	cpu_ns -= session->cpu_start_ns;
	if (cpu_ns >= session->api_cpu_ns + API_LOOK_CPU_NS &&
	    !overhead_update(session->overhead, cpu_ns))
		api_switch_off(session, cpu_ns, now_ns);
	return session->api_look_ns;
}

/* ---- looking ---- */

static void note_price(struct session *session)
{
	struct session_status *status = &session->result.status;

	status->overhead_percent = overhead_percent(session->overhead);
	status->overhead_ns = overhead_cost_ns(session->overhead);
	status->cpu_ns = overhead_cpu_ns(session->overhead);
}

/* What levels switched on is held to its budget anyway. */
static void say_price(struct session_status *status, const struct overhead_part *parts,
		      size_t count, u64 cpu_ns, u64 passed_ns)
{
	u64 sum_ns = 0, most_ns = 0;

	for (size_t i = 0; i < count; i++) {
		u64 cost_ns = parts[i].cost_ns - parts[i].marked_cost_ns;

		if (parts[i].by_level || parts[i].gpu == GPU_COST_THREADS)
			continue;
		sum_ns += cost_ns;
		if (cost_ns <= most_ns)
			continue;
		most_ns = cost_ns;
		status->dearest_name = parts[i].name;
	}
	status->recent_percent = 100.0 * (double)sum_ns / (double)cpu_ns;
	if (price_is_of_little(status->recent_percent,
			       price_of_one_cpu_percent((double)sum_ns, (double)passed_ns)))
		status->recent_percent = 0;
	status->dearest_percent = 100.0 * (double)most_ns / (double)cpu_ns;
}

static void keep_within(struct session *session, struct overhead_part *parts, size_t count,
			u64 cpu_ns, u64 passed_ns)
{
	_cleanup_free_ struct budget_part *budget = calloc(count + 1, sizeof(*budget));
	struct budget_limits limits = {.max_percent =
					       session->config->settings->max_overhead_percent};

	if (!budget)
		return;
	/* What one that is gone cost before it went says nothing of the rest. */
	for (size_t i = 0; i < count; i++)
		if (!parts[i].switched_off_ns)
			budget[i] = (struct budget_part){.cost_ns = parts[i].cost_ns -
								    parts[i].marked_cost_ns,
							 .by_level = parts[i].by_level,
							 .may_go = parts[i].may_go,
							 .api = parts[i].api,
							 .goes_first = parts[i].goes_first};
	session_launch_forget(session, parts, budget, count);
	limits.levels_percent =
		budget_of_levels_percent(&session->streak, budget, count, cpu_ns, passed_ns);
	hold(session, parts, budget, count, cpu_ns, &limits);
}

void session_budget_look(struct session *session, u64 cpu_ns)
{
	struct session_status *status = &session->result.status;
	u64 now_ns = clock_monotonic_ns(), spent_ns, since_ns;
	struct overhead_part *parts;
	size_t count;

	session_gpu_cost_update(session);
	if (!session->overhead || overhead_update(session->overhead, cpu_ns))
		return;
	/* What follows the end of the window belongs to its last moment. */
	if (session->window_end_ns)
		now_ns = session->window_end_ns;
	note_price(session);
	if (!session->looked_ns)
		session->looked_ns = session->window_start_ns;
	since_ns = now_ns - session->looked_ns;
	spent_ns = overhead_cpu_since_mark_ns(session->overhead);
	if (since_ns < LOOK_AFTER_NS || !spent_ns ||
	    (spent_ns < LOOK_AFTER_CPU_NS && since_ns < LOOK_AT_LAST_NS))
		return;
	parts = overhead_parts(session->overhead, &count);
	say_price(status, parts, count, spent_ns, since_ns);
	if (session->budget_open)
		keep_within(session, parts, count, spent_ns, since_ns);
	overhead_mark(session->overhead, now_ns);
	session->looked_ns = now_ns;
}

/* ---- the end ---- */

u64 session_budget_end_ns(const struct session *session, enum price_sort sort)
{
	size_t count = 0;
	const struct overhead_part *parts =
		session->overhead ? overhead_parts(session->overhead, &count) : NULL;

	for (size_t i = 0; i < count; i++)
		if (parts[i].function == SIZE_MAX && parts[i].sort == sort &&
		    parts[i].switched_off_ns)
			return parts[i].switched_off_ns;
	return session->window_end_ns;
}

/* One that was open when they were switched off has no end that anybody saw. */
void session_budget_end_span(const struct session *session, enum price_sort sort,
			     struct record_header *span)
{
	u64 end_ns = session_budget_end_ns(session, sort);

	if (end_ns < session->window_end_ns && end_ns > span->ts)
		span->dur = end_ns - span->ts;
}

void session_budget_note_end(struct session *session, size_t function, enum price_sort sort,
			     u64 now_ns)
{
	size_t count = 0;
	struct overhead_part *parts =
		session->overhead ? overhead_parts(session->overhead, &count) : NULL;

	/* Before and behind the window nothing ends inside of it. */
	if (!session->result.window_opened || session->window_end_ns)
		return;
	for (size_t i = 0; i < count; i++)
		if (!parts[i].gpu && parts[i].function == function &&
		    (function != SIZE_MAX || parts[i].sort == sort) && !parts[i].switched_off_ns)
			parts[i].switched_off_ns = now_ns;
}

void session_budget_put_facts(struct session *session, struct batch *batch)
{
	const struct calibration *calibration = &session->calibration;
	const struct {
		const char *key;
		u64 value_ns;
	} prices[] = {
		{"recorded entry (ns)", calibration->entry_ns[VALUE_returns_none]},
		{"recorded return by return address (ns)",
		 calibration->exit_ns[VALUE_returns_session]},
		{"recorded return at a stepped exit (ns)",
		 calibration->exit_ns[VALUE_returns_stepped]},
		{"recorded return at an emulated exit (ns)",
		 calibration->exit_ns[VALUE_returns_emulated]},
		{"single step (ns)", calibration->stepped_ns},
		{"record (ns)", calibration->record_ns},
		{"counted call (ns)", calibration->count_ns},
		{"stack of 16 frames (ns)", calibration->stack_ns},
		{"hit of a probe that does nothing (ns)", calibration->trap_ns},
		{"the same, single-stepped (ns)", calibration->trap_stepped_ns},
		{"the same, of a return by return address (ns)", calibration->trap_return_ns},
		{"hit in a forked child that is not recorded (ns)", calibration->inherited_ns},
		{"interrupt for a sample (ns)", calibration->tick_ns},
		{"calibration took (ns)", calibration->took_ns},
	};

	if (!session->overhead)
		return;
	/* What CUPTI still had has come since. */
	session_gpu_cost_update(session);
	note_price(session);
	overhead_mark(session->overhead, clock_monotonic_ns());
	session_gpu_cost_put_facts(session, batch);
	overhead_put_facts(session->overhead, &session->facts, session->config->targets[0].pid,
			   batch);
	if (session->result.status.overhead_percent >= 0)
		recording_facts_result(&session->facts, batch,
				       "estimated overhead (% of the targets' CPU time)",
				       session->result.status.overhead_percent);
	for (size_t i = 0; i < ARRAY_SIZE(prices); i++)
		if (prices[i].value_ns)
			recording_facts_result(&session->facts, batch, prices[i].key,
					       (double)prices[i].value_ns);
}
