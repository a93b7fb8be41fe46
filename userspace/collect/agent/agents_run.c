/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The driver of all agents: put in, drained, freed. */
#include "collect/agent/agents.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inject/agent_library.h"
#include "plan/memory_room.h"
#include "process/time_namespace.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "collect/agent/agents_parts.h"

#define THREAD_DEADLINE_MS 2000
#define LOCK_DEADLINE_MS   5000
#define LATE_DEADLINE_MS   7000
#define LATE_RUNNING_MS	   300
/* Before the window nobody waits but the user, and one system call may take seconds, such as to write a large file. */
#define START_DEADLINE_MS 6000
#define START_LEAST_MS	  1000
#define START_ALL_MS	  15000 /* of many processes; none has less than the least */
#define RECLAIM_NS	  NS_PER_SECOND

struct preparation {
	const struct agents *agents;
	const struct agent *agent;
};

static void prepare_control(void *data, void *shared)
{
	const struct preparation *preparation = data;

	agents_fill_control(preparation->agents, preparation->agent, shared);
}

static int map_ring(struct agents *agents, struct agent *agent, struct err *err)
{
	int result = agents_map_control(agents, agent, err);

	if (result)
		return result;
	result = agents_create_ring(agents, agent, agent->target);
	return result ? err_errno(err, result, "can't read from the agent") : 0;
}

static u32 left_ms(u64 until_ns)
{
	u64 now_ns = clock_monotonic_ns();

	return now_ns < until_ns ? (u32)((until_ns - now_ns) / NS_PER_MILLISECOND) : 0;
}

/* How long it may take for the next one. */
static u32 start_share_ms(const struct agents *agents)
{
	u32 share_ms = left_ms(agents->start_until_ns) / (agents->expected_left ?: 1);

	return share_ms < START_LEAST_MS      ? START_LEAST_MS
	       : share_ms > START_DEADLINE_MS ? START_DEADLINE_MS
					      : share_ms;
}

static void say_share(const struct agents *agents, u32 share_ms, struct err *err)
{
	size_t length = strlen(err->message);

	if (agents->config.expected_count < 2)
		return;
	err_set(err, err->code, "%s%s It had %.1f of the %u s that %zu processes share.",
		err->message, length && err->message[length - 1] == '.' ? "" : ".", share_ms / 1e3,
		START_ALL_MS / 1000, agents->config.expected_count);
}

static int put_in(struct agents *agents, struct agent *agent, struct err *err)
{
	struct preparation preparation = {agents, agent};
	struct inject_plan plan = {0};
	bool is_late = agents->window_start_ns != 0;
	u32 all_ms = is_late ? LATE_DEADLINE_MS : start_share_ms(agents);
	struct agents_put_in asked = {agents, agent, 0};
	const struct inject_waiting waiting = {&asked, agents_put_in_goes_on};
	size_t library_bytes;
	const void *library = agent_library(&library_bytes);
	_cleanup_close_ int lock_fd = -1;
	int result = inject_lock(agent->target, LOCK_DEADLINE_MS, &waiting, &lock_fd, err);

	asked.until_ns = clock_monotonic_ns() + all_ms * NS_PER_MILLISECOND;
	if (!result)
		result = inject_plan(agent->target,
				     all_ms / 2 < THREAD_DEADLINE_MS ? all_ms / 2
								     : THREAD_DEADLINE_MS,
				     &waiting, &plan, err);
	/* Inside the window it is asked again, and the recording waits meanwhile. */
	plan.running_ms = is_late ? LATE_RUNNING_MS : all_ms / 4 * 3;
	plan.impatient = is_late;
	process_audit_free(&agent->before);
	if (!result)
		result = process_audit_take(agent->target->pid, NULL, &agent->before, err);
	if (!result)
		agents_expect_threads(agents, agent);
	if (!result)
		result = inject_run(agent->target, &plan, library, library_bytes,
				    agents_ring_bytes(agents), prepare_control, &preparation,
				    left_ms(asked.until_ns), &agent->injection, err);
	inject_plan_free(&plan);
	if (result == -EAGAIN && !is_late && all_ms < START_DEADLINE_MS)
		say_share(agents, all_ms, err);
	return result;
}

/* Without a CUPTI there is nothing to be had from an agent: the target is left alone. */
static int supply(const struct agents *agents, struct agent *agent, struct err *err)
{
	struct agent_report *report = &agent->report;
	int result = cupti_supply_choose(agent->target, &report->gpu, agents->config.cupti_named,
					 "/", &report->supply, err);

	if (!result && report->supply.place == CUPTI_PLACE_NONE)
		result = err_set(err, -ENOENT, "the target has not loaded libcupti, and %s",
				 report->supply.why);
	if (!result)
		result = cupti_supply_check(&report->supply, agent->target, err);
	return result;
}

void agents_start_one(struct agents *agents, struct agent *agent, const char *why)
{
	u32 buffer_count = agents->config.cupti.buffer_count_max;
	struct err err = {0};

	agent->answered = true;
	agent->started_ns = clock_monotonic_ns();
	if (gpu_target_read(agent->target, &agent->report.gpu, &err) || !agent->report.gpu.cuda)
		return;
	agent->report.outcome = AGENT_REFUSED;
	agent->report.ended_first = agent->report.no_thread = false;
	agent->clock_shift_ns = time_namespace_shift_ns(agent->target);
	if (!why && agents_given_up(agents))
		why = "it was given up before its turn came";
	if (why)
		err_set(&err, -ECANCELED, "%s", why);
	agents_nvtx_begin(agents, agent);
	if (!why)
		agents_others_watch(agents, agent);
	if (why ||
	    memory_room_buffers(agent->target, agents->config.cupti.buffer_bytes, &buffer_count,
				&err) ||
	    supply(agents, agent, &err) || put_in(agents, agent, &err)) {
		agents_copy_string(agent->report.why, sizeof(agent->report.why), err.message,
				   sizeof(err.message));
		agent->report.ended_first = target_is_gone(agent->target);
		agent->report.no_thread = err.code == -EAGAIN;
		return;
	}
	agent->put_in_ns = clock_monotonic_ns();
	agent->answered = false;
	agent->report.outcome = AGENT_WORKS;
	agents_tell_threads(agents, agent);
	if (map_ring(agents, agent, &err))
		agents_fail(agent, err.message);
	else
		agents_others_tell(agents, agent);
}

static void start_command(struct agents *agents, struct agent *agent)
{
	struct err err = {0};

	if (gpu_target_read(agent->target, &agent->report.gpu, &err) ||
	    agents_launched_start(agents, agent, &err))
		agents_fail(agent, err.message);
}

int agents_create(const struct agents_config *config, struct agents **ret_agents, struct err *err)
{
	struct agents *agents = calloc(1, sizeof(*agents));
	size_t capacity = config->target_count + (config->launch ? AGENT_LAUNCH_RINGS : 0) +
			  (config->follow ? AGENTS_FOLLOWED_MAX : 0);

	if (agents)
		agents->agents = calloc(capacity + 1, sizeof(*agents->agents));
	if (agents)
		*agents = (struct agents){
			.config = *config, .agents = agents->agents, .pid = getpid()};
	if (!agents || !agents->agents || agents_nvtx_search(agents)) {
		agents_free(agents);
		return err_errno(err, -ENOMEM, "can't prepare the agents");
	}
	agents->capacity = capacity;
	agents->chunk_count = config->ring_bytes / AGENT_CHUNK_BYTES;
	if (agents->chunk_count > AGENT_CHUNKS_MAX)
		agents->chunk_count = AGENT_CHUNKS_MAX;
	*ret_agents = agents;
	return 0;
}

static void start_target(struct agents *agents, struct agent *agent, const char *why)
{
	agents_start_one(agents, agent, why);
	if (!why && agent->report.outcome != AGENT_NOT_CUDA && agents->expected_left)
		agents->expected_left--;
}

void agents_start(struct agents *agents, const struct bpf_source *source,
		  const struct agents_threads *threads, const struct agents_waiting *waiting)
{
	const struct agents_config *config = &agents->config;
	struct agent *command = NULL;

	agents->config.source = source;
	agents->config.threads = threads;
	agents->waiting = waiting;
	agents->said_ns = clock_monotonic_ns();
	agents_nvtx_wait(agents);
	log_phase("users of NVTX looked for");
	/* Without it they are recorded all the same. */
	cupti_watch_open(source, &agents->watch, &agents->watch_why);
	agents->expected_left = config->expected_count;
	agents->start_until_ns = clock_monotonic_ns() + START_ALL_MS * NS_PER_MILLISECOND;
	for (size_t i = 0; i < config->target_count; i++) {
		struct agent *agent = agents_next(agents, &config->targets[i]);

		agents_nvtx_take(agents, agent, i);
		agents_count_in(agents);
		if (config->launch && agent->target->pid == config->launch_pid)
			command = agent;
		else
			start_target(agents, agent, config->refused ? config->refused[i] : NULL);
	}
	if (command)
		start_command(agents, command);
}

static int drain_all(void *data, record_callback callback, void *callback_data)
{
	struct agents *agents = data;
	u64 now = clock_monotonic_ns();
	bool reclaim = now - agents->reclaimed_ns > RECLAIM_NS;
	int count = 0;

	for (size_t i = 0; i < __atomic_load_n(&agents->count, __ATOMIC_ACQUIRE); i++) {
		struct agent *agent = &agents->agents[i];
		struct agent_ring *ring;
		int taken = 0;

		if (agent->launch || agent->report.late)
			taken = agents_late_look(agents, agent, callback, callback_data);
		ring = __atomic_load_n(&agent->ring, __ATOMIC_ACQUIRE);
		if (taken < 0)
			return taken;
		if (ring && reclaim) {
			agent_ring_reclaim(ring);
			agents_nvtx_look(agents, agent, agents_process(agent));
			agents_others_look(agent);
		}
		if (ring)
			taken = agent_ring_drain(ring, callback, callback_data);
		if (taken < 0)
			return taken;
		count += taken;
	}
	agents_late_watch(agents);
	if (reclaim)
		agents->reclaimed_ns = now;
	return count;
}

struct record_source agents_source(struct agents *agents)
{
	return (struct record_source){
		.data = agents, .drain = drain_all, .add_losses = agents_add_losses};
}

/* A child that was forked inside the window may have the file open for as long as it lives: nothing of it stays in memory. A fork of
 * ours that lets go of its copies says nothing of that: the guardian may come to it when the recording is about to be read. */
static void empty_ring(const struct agents *agents, const struct agent *agent)
{
	off_t bytes = (off_t)agents_ring_bytes(agents);

	if (agents->pid == getpid() && agents_has_left(agent) &&
	    fallocate(agent->injection.ring_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		      agent->ring_number * bytes, bytes))
		log_debug("can't empty the ring: %s", strerror(errno));
}

/* Closing the descriptor gives the lock back: an agent that is still there then leaves by itself. */
struct agents *agents_free(struct agents *agents)
{
	struct uprobe_set left = {0};

	if (agents)
		agents_watch_end(agents, &left);
	uprobe_detach(&left, NULL, NULL);
	for (size_t i = 0; agents && i < agents->count; i++) {
		struct agent *agent = &agents->agents[i];

		agent_ring_free(agent->ring);
		if (agent->control) {
			empty_ring(agents, agent);
			munmap(agent->control, agents_ring_bytes(agents));
		}
		cleanup_close(&agent->injection.ring_fd);
		agent_threads_free(&agent->threads);
		process_audit_free(&agent->before);
		map_free(&agent->tasks);
		agent_stacks_free(&agent->stacks);
		nvtx_watch_free(&agent->nvtx_watch);
		if (agent->taker.pid)
			target_close(&agent->taker);
	}
	if (agents) {
		agents_nvtx_free(agents);
		map_free(&agents->unreached);
		free(agents->agents);
	}
	free(agents);
	return NULL;
}
