/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state machine: see session.h. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "plan/plan_usdt.h"
#include "base/clock.h"
#include "base/log.h"
#include "session/memory_accounts.h"
#include "session/processes.h"
#include "session/session_parts.h"

#define BATCH_COUNT    8
#define AGENT_LEAVE_MS 10000

/* ---- beginning ---- */

/* Is there no place left of those that were planned? */
static bool is_all_changed(const struct session *session)
{
	const struct session_config *config = session->config;
	size_t planned = config->plan->function_count + plan_usdt_sites(config->plan) +
			 (config->heap_plan ? config->heap_plan->function_count : 0);

	return planned && session->result.status.changes.count == planned;
}

static int attach(struct session *session, struct err *err)
{
	const struct session_config *config = session->config;
	struct processes_config processes = {.source = session->source,
					     .plan = config->plan,
					     .targets = config->targets,
					     .target_count = config->target_count,
					     .children = config->settings->children,
					     .heap = config->heap_plan,
					     .single = config->single_probes,
					     .code = &session->code.map,
					     .on_uncovered = session_on_uncovered_code,
					     .on_executed = session_on_executed,
					     .on_waited = session_on_waited,
					     .data = session};
	struct source_targets targets = session_source_targets(session);
	struct guardian_work undo = {.source = session->source,
				     .targets = targets,
				     .has_multi = config->abilities->uprobe_multi,
				     .agents = session->result.agents};
	int result = processes_open(&processes, &session->processes, err);

	if (!result && session_waits_add(session, processes_event_fd(session->processes),
					 SESSION_WAIT_PROCESSES, 0))
		result = err_errno(err, -errno, "can't watch the targets");
	plan_libraries_await(config->plan);
	log_phase("libraries have answered");
	if (!result)
		session_guard(session, &undo);
	if (!result)
		result = session_code_watch(session, err);
	if (!result)
		result = bpf_source_attach(session->source, &targets, err);
	if (!result && config->settings->off_cpu)
		result = bpf_source_attach_off_cpu(session->source, err);
	if (!result && config->settings->growth)
		result = bpf_source_attach_growth(session->source, err);
	/* Last, since what is attached stops all CPUs for moments. */
	if (!result)
		result = session_attach_samples(session, err);
	/* Of children they are attached and detached all the time. */
	guardian_set_busy(session->guardian, result || config->settings->children);
	session->result.status.function_count = bpf_source_uprobes(session->source)->function_count;
	session->result.status.refused_count = bpf_source_uprobes(session->source)->refused_count;
	session->result.status.changes = *bpf_source_changed_sites(session->source);
	if (!result && session_code_guard(session))
		result = err_errno(err, -ENOMEM, "can't compare the code that is probed");
	if (!result && !config->agents && is_all_changed(session))
		return err_set(err, -ESTALE, "can't put any probe in: %s",
			       session->result.status.changes.first);
	return result;
}

static int start_threads(struct session *session, struct err *err)
{
	struct drain_config drain = {.wait = bpf_record_source_wait,
				     .wait_data = &session->records};
	struct batch *batch;
	int result = batch_queue_create(BATCH_COUNT, &session->queue, err);

	if (!result)
		result = capture_thread_start(session->config->capture_fd, session->queue,
					      &session->capture, err);
	if (result)
		return result;
	session_look_at_code(session, true);
	session_unwind_wait(session);
	session_throttled_look(session);
	batch = batch_queue_take_empty(session->queue);
	result = session_put_first_facts(session, batch);
	session->window_start_ns = clock_monotonic_ns();
	if (!result)
		result = recording_facts_window(batch, session->window_start_ns,
						RECORD_DURATION_OPEN);
	batch_queue_put_full(session->queue, batch);
	if (result)
		return err_errno(err, result, "can't write the facts of the recording");
	if (session_waits_add(session, capture_thread_error_fd(session->capture),
			      SESSION_WAIT_CAPTURE_ERROR, 0))
		return err_errno(err, -errno, "can't watch the writing of the capture");
	session->records = (struct bpf_drained){.source = session->source,
						.place = session->facts.bpf_place,
						.python = &session->pythons.codes};
	drain.queue = session->queue;
	drain.stacks = &session->stacks;
	drain.kernels = &session->kernels;
	drain.system_calls = &session->system_calls;
	drain.sources[drain.source_count++] = bpf_record_source(&session->records);
	session->heap.source = session->source;
	if (session->config->heap_plan)
		drain.sources[drain.source_count++] = heap_counts_source(&session->heap);
	if (session->result.agents) {
		const struct record_source agents = agents_source(session->result.agents);

		result = gpu_counters_start(&agents, &session->gpu_counters);
		if (result)
			return err_errno(err, result, "can't read the counters of the GPUs");
		drain.sources[drain.source_count++] = gpu_counters_source(session->gpu_counters);
	}
	session->memory.source = session->source;
	session->memory.place = session->facts.bpf_place;
	if (session->config->settings->growth)
		drain.sources[drain.source_count++] = process_memory_source(&session->memory);
	return drain_start(&drain, &session->drain, err);
}

/* ---- the window ---- */

static int open_window(struct session *session, struct err *err)
{
	const struct session_config *config = session->config;

	session->cpu_start_ns = session_cpu_time_ns(session, 0);
	own_threads_begin(&session->own);
	session->window_start_ns = clock_monotonic_ns();
	bpf_source_set_window(session->source, true);
	if (config->settings->off_cpu)
		bpf_source_note_off_cpu(session->source);
	bpf_source_start_samples(session->source);
	if (session->result.agents)
		agents_open_window(session->result.agents, session->window_start_ns);
	gpu_counters_set_window(session->gpu_counters, session->window_start_ns, 0);
	session->result.window_opened = true;
	log_phase("window open");
	session->budget_open = true;
	if (session->overhead)
		overhead_begin(session->overhead, session->window_start_ns);
	session->result.status.inherited_ns = session->calibration.inherited_ns;
	session_waits_start_ticks(session);
	session_status_update(session);
	if (config->on_window_open)
		config->on_window_open(config->callback_data, &session->result.status);
	return config->command ? command_release(config->command, err) : 0;
}

/* ---- the way back ---- */

/* While their rings are drained: they hand over what CUPTI still has. */
static void leave_agents(struct session *session)
{
	u64 lost_count;

	if (session->result.agents && !session->agents_left)
		agents_leave(session->result.agents, AGENT_LEAVE_MS);
	session->agents_left = true;
	lost_count = agents_lost(session->result.agents);
	session->result.status.lost_count += lost_count - session->agents_lost_count;
	session->agents_lost_count = lost_count;
}

/* Names for what stacks lead to. */
static int put_frames(struct session *session, struct batch *batch)
{
	const struct session_config *config = session->config;
	int result = code_facts_put(&session->code, &session->facts, batch);

	if (!result && session->stacks.count && config->on_stacks)
		result = config->on_stacks(config->callback_data, &session->stacks,
					   &session->code.map, &session->pythons.codes,
					   &session->facts.tool, batch);
	if (!result && session->kernels.has_kernels && config->on_kernels)
		result = config->on_kernels(config->callback_data, &session->kernels,
					    &session->code.map, &session->facts.tool, batch);
	return result;
}

static int close_window(struct session *session, struct err *err)
{
	struct batch *batch;
	u64 dropped = 0;
	int result, frames_result;

	heap_counts_close(&session->heap);
	session->budget_open = false;
	if (session->config->settings->off_cpu)
		bpf_source_find_off_cpu(session->source);
	bpf_source_set_window(session->source, false);
	session->window_end_ns = clock_monotonic_ns();
	/* What processes did up to now may not have been met yet, such as to execute another program. */
	processes_handle(session->processes);
	session_end_samples(session);
	log_phase("window closed");
	if (session->result.agents)
		agents_close_window(session->result.agents, session->window_end_ns);
	gpu_counters_set_window(session->gpu_counters, session->window_start_ns,
				session->window_end_ns);
	session_status_update(session);
	session_waited_look(session, true);
	code_facts_look(&session->code, session->source, true);
	pythons_end(&session->pythons, &session->code.map);
	session_tell_of_python(session);
	bpf_source_detach_off_cpu(session->source);
	bpf_source_detach_growth(session->source);
	bpf_source_detach_samples(session->source);
	log_phase("mappings, waits and growth ended");
	session_code_leave(session);
	session_detach_begin(session);
	leave_agents(session);
	log_phase("agents left");
	session->drain = drain_finish(session->drain, &session->result.status.event_count,
				      &session->unstored_count);
	session_detach_watch(session);
	log_phase("rings drained");
	batch = batch_queue_take_empty(session->queue);
	frames_result = put_frames(session, batch);
	log_phase("stacks named");
	session_detach_end(session);
	session_code_left(session);
	session_put_last_facts(session, batch);
	system_calls_put(&session->system_calls, batch);
	batch_queue_put_full(session->queue, batch);
	result = capture_thread_finish(&session->capture, &dropped, err);
	session->result.status.lost_count += dropped;
	if (!result && frames_result)
		result = err_errno(err, frames_result, "can't name what stacks lead to");
	return result;
}

static void session_cleanup(struct session *session)
{
	u64 dropped;

	if (session->source)
		bpf_source_set_window(session->source, false);
	uprobe_detach(&session->own_links, NULL, NULL);
	leave_agents(session);
	drain_finish(session->drain, NULL, NULL);
	if (session->capture)
		capture_thread_finish(&session->capture, &dropped, NULL);
	session_code_free(session);
	processes_free(session->processes);
	unwinding_stop(session->unwinding);
	pythons_free(&session->pythons);
	bpf_source_free(session->source);
	guardian_stop(session->guardian);
	batch_queue_free(session->queue);
	session->gpu_counters = gpu_counters_free(session->gpu_counters);
	process_memory_free(&session->memory);
	recording_facts_free(&session->facts);
	code_facts_free(&session->code);
	stack_addresses_free(&session->stacks);
	kernel_texts_free(&session->kernels);
	heap_counts_free(&session->heap);
	overhead_free(session->overhead);
	own_threads_free(&session->own);
	map_free(&session->counts.open);
	session->waited = session_waited_free(session->waited);
	free(session->target_ended);
	free(session->throttled);
	session_waits_close(session);
}

/* Only single probes reach such a target. */
static bool has_lost_first_thread(const struct session_config *config)
{
	for (size_t i = 0; i < config->target_count; i++)
		if (config->targets[i].first_thread_ended)
			return true;
	return false;
}

static int put_probes_in(struct session *session, struct err *err)
{
	int result = session_budget_open(session, err);

	log_phase("costs calibrated");
	if (!result)
		result = bpf_source_reset_counters(session->source, err);
	if (!result)
		result = memory_accounts_leave_to_agents(session->source, session->result.agents,
							 err);
	return result ? result : attach(session, err);
}

static int prepare(struct session *session, struct err *err)
{
	const struct session_config *config = session->config;
	struct bpf_source_settings settings = {
		.ring_bytes = config->settings->ring_bytes,
		.follow_children = config->settings->children,
		.returns = session_returns(config),
		.single = config->single_probes || has_lost_first_thread(config),
		.function_count = config->plan->function_count,
		.usdt_sites = plan_usdt_sites(config->plan),
		.heap_plan = config->heap_plan,
		.heap_events = config->settings->heap_events,
		.counted_count = plan_counted(config->plan),
		.cupti_calls = config->agents != NULL,
		.off_cpu = config->settings->off_cpu,
		.growth = config->settings->growth,
		.matmuls = plan_has_matmuls(config->plan),
		.off_cpu_min_ns = config->settings->off_cpu_min_ns,
		.sample_period_ns = config->settings->sample_period_ns,
		.call_stacks = config->settings->call_stacks,
		.usdt_stacks = config->settings->usdt_stacks,
		.launch_stacks = plan_takes_launch_stacks(config->plan),
		.launch_samples_per_second = config->settings->launch_samples_per_second,
		.unwinds = session_takes_stacks(config),
		.python = config->settings->python,
	};
	int result = session_waits_open(session, err);

	session->counts.plan = config->plan;
	memory_accounts_configure(config->plan, &settings);
	session->targets_alive = config->target_count;
	session->target_ended = calloc(config->target_count + 1, sizeof(bool));
	recording_facts_init(&session->facts);
	if (!result && !session->target_ended)
		result = err_errno(err, -ENOMEM, "can't begin the recording");
	if (!result && config->agents)
		result = agents_create(config->agents, &session->result.agents, err);
	if (!result && settings.unwinds)
		result = session_unwind(session, err);
	if (!result)
		result = bpf_source_open(config->abilities, &settings, &session->source, err);
	log_phase("BPF programs loaded");
	if (!result && settings.unwinds)
		session_unwind_by(session);
	own_threads_init(&session->own, session->source);
	if (!result) {
		session_calibrate(session);
		result = session_start_agents(session, err);
		log_phase("agents started");
		session_calibrate_wait(session);
	}
	/* What CUPTI takes in the target nobody can see. */
	if (!result)
		result = put_probes_in(session, err);
	log_phase("probes attached");
	return result;
}

int session_run(const struct session_config *config, struct session_result *ret_result,
		struct err *err)
{
	struct session session = {
		.config = config,
		.epoll_fd = -1,
		.signal_fd = -1,
		.timer_fd = -1,
		.result = {.end = SESSION_FAILED,
			   .status = {.overhead_percent = -1, .beside_percent = -1}}};
	int result = prepare(&session, err);

	if (!result)
		result = start_threads(&session, err);
	if (!result)
		result = open_window(&session, err);
	if (!result) {
		session_loop_run(&session);
		result = close_window(&session, err);
	}
	log_phase("capture written");
	session_cleanup(&session);
	log_phase("session ended");
	if (result)
		session.result.end = SESSION_FAILED;
	*ret_result = session.result;
	return result;
}
