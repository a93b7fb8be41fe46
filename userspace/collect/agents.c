#include "collect/agents.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/agent_library.h"
#include "attach/time_namespace.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/agent_handover.h"
#include "collect/agents_internal.h"
#include "../bpf/shared.h"

/* BPF is source 2, imports have captures of their own. */
#define FIRST_SOURCE	   3
#define THREAD_DEADLINE_MS 2000
#define INJECT_DEADLINE_MS 5000
#define RECLAIM_NS	   NS_PER_SECOND

/* ---- reading what the target wrote ---- */

void agents_copy_string(char *to, size_t to_bytes, const char *from, size_t from_bytes)
{
	size_t length = 0;

	while (length < from_bytes && length + 1 < to_bytes && from[length]) {
		unsigned char c = from[length];

		to[length++] = c < ' ' || c == 0x7f ? '?' : c;
	}
	to[length] = 0;
}

static void fail(struct agent *agent, const char *why)
{
	agent->report.outcome = AGENT_FAILED;
	snprintf(agent->report.why, sizeof(agent->report.why), "%s", why);
	agent->answered = true;
}

static void fail_by_hint(struct agent *agent, const char *hint, size_t hint_bytes)
{
	char words[AGENT_HINT_BYTES + 1];

	agents_copy_string(words, sizeof(words), hint, hint_bytes);
	fail(agent, *words ? words : "the agent ended without a reason");
}

/* ---- putting in ---- */

void agents_fill_control(const struct agents *agents, const struct agent *agent,
			 struct agent_control *control)
{
	const struct cupti_supply *supply = &agent->report.supply;

	*control = (struct agent_control){
		.fixed = {.magic = AGENT_MAGIC,
			  .fixed_bytes = sizeof(control->fixed),
			  .total_bytes =
				  AGENT_CONTROL_BYTES + agents->chunk_count * AGENT_CHUNK_BYTES,
			  .schema_hash = schema_hash(),
			  .tool_pid = getpid()},
		.features[AGENT_FEATURE_CUPTI] = {.wanted = 1, .state = AGENT_FEATURE_PENDING},
		.cupti = agents->config.cupti,
		.chunk_count = agents->chunk_count,
	};
	if (supply->place != CUPTI_PLACE_MAPPED)
		agents_copy_string(control->cupti.path, sizeof(control->cupti.path), supply->path,
				   sizeof(supply->path));
	control->cupti.handover = supply->by_memfd;
}

struct preparation {
	const struct agents *agents;
	const struct agent *agent;
};

static void prepare_control(void *data, void *shared)
{
	const struct preparation *preparation = data;

	agents_fill_control(preparation->agents, preparation->agent, shared);
}

int agents_map_control(struct agents *agents, struct agent *agent, struct err *err)
{
	size_t bytes = AGENT_CONTROL_BYTES + (size_t)agents->chunk_count * AGENT_CHUNK_BYTES;
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, agent->injection.ring_fd, 0);

	if (memory == MAP_FAILED)
		return err_errno(err, -errno, "can't map the memory shared with the agent");
	agent->control = memory;
	return 0;
}

int agents_create_ring(struct agents *agents, struct agent *agent, const struct target *process)
{
	struct agent_ring_config config = {.control = agent->control,
					   .chunk_count = agents->chunk_count,
					   .source = agent->source,
					   .pid = process->pid,
					   .clock_shift_ns = time_namespace_shift_ns(process),
					   .host_thread = agent_threads_host,
					   .thread_lives = agent_threads_live,
					   .data = &agent->threads};

	agent->clock_shift_ns = config.clock_shift_ns;
	return agent_ring_create(&config, &agent->ring);
}

static int map_ring(struct agents *agents, struct agent *agent, struct err *err)
{
	int result = agents_map_control(agents, agent, err);

	if (result)
		return result;
	result = agents_create_ring(agents, agent, agent->target);
	return result ? err_errno(err, result, "can't read from the agent") : 0;
}

static int put_in(struct agents *agents, struct agent *agent, struct err *err)
{
	struct preparation preparation = {agents, agent};
	struct inject_plan plan = {0};
	size_t library_bytes;
	const void *library = agent_library(&library_bytes);
	int result = inject_plan(agent->target, THREAD_DEADLINE_MS, &plan, err);

	if (!result)
		result = process_audit_take(agent->target->pid, NULL, &agent->before, err);
	if (!result)
		result = inject_run(
			agent->target, &plan, library, library_bytes,
			AGENT_CONTROL_BYTES + (size_t)agents->chunk_count * AGENT_CHUNK_BYTES,
			prepare_control, &preparation, INJECT_DEADLINE_MS, &agent->injection, err);
	inject_plan_free(&plan);
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
	return result;
}

static void start_one(struct agents *agents, struct agent *agent)
{
	const struct agents_config *config = &agents->config;
	const char *const *refused = config->refused;
	const char *why = refused ? refused[agent - agents->agents] : NULL;
	struct err err = {0};

	agent->answered = true;
	agent->started_ns = clock_monotonic_ns();
	if (config->launch && agent->target->pid == config->launch_pid) {
		if (gpu_target_read(agent->target, &agent->report.gpu, &err) ||
		    agents_launched_start(agents, agent, &err))
			fail(agent, err.message);
		return;
	}
	if (gpu_target_read(agent->target, &agent->report.gpu, &err) || !agent->report.gpu.cuda)
		return;
	agent->report.outcome = AGENT_REFUSED;
	agent->clock_shift_ns = time_namespace_shift_ns(agent->target);
	if (why)
		err_set(&err, -ECANCELED, "%s", why);
	if (why || supply(agents, agent, &err) || put_in(agents, agent, &err)) {
		agents_copy_string(agent->report.why, sizeof(agent->report.why), err.message,
				   sizeof(err.message));
		return;
	}
	agent->answered = false;
	agent->report.outcome = AGENT_WORKS;
	if (map_ring(agents, agent, &err))
		fail(agent, err.message);
}

int agents_start(const struct agents_config *config, struct agents **ret_agents, struct err *err)
{
	struct agents *agents = calloc(1, sizeof(*agents));

	if (agents)
		agents->agents = calloc(config->target_count + 1, sizeof(*agents->agents));
	if (!agents || !agents->agents) {
		free(agents);
		return err_errno(err, -ENOMEM, "can't prepare the agents");
	}
	agents->config = *config;
	agents->count = config->target_count;
	agents->chunk_count = config->ring_bytes / AGENT_CHUNK_BYTES;
	if (agents->chunk_count > AGENT_CHUNKS_MAX)
		agents->chunk_count = AGENT_CHUNKS_MAX;
	for (size_t i = 0; i < agents->count; i++) {
		struct agent *agent = &agents->agents[i];

		agent->target = agent->report.target = &config->targets[i];
		agent->source = FIRST_SOURCE + i;
		agent->injection.ring_fd = -1;
		agent_threads_init(&agent->threads, agent->target);
		start_one(agents, agent);
	}
	*ret_agents = agents;
	return 0;
}

/* ---- getting ready ---- */

void agents_look_for_answer(struct agent *agent)
{
	const struct agent_feature *cupti = &agent->control->features[AGENT_FEATURE_CUPTI];
	u32 feature = __atomic_load_n(&cupti->state, __ATOMIC_ACQUIRE), state = agents_state(agent);

	if (!agent->launch && target_is_gone(agent->target)) {
		fail(agent, "the target ended");
	} else if (state == AGENT_STATE_FAILED) {
		fail_by_hint(agent, agent->control->hint, AGENT_HINT_BYTES);
	} else if (feature == AGENT_FEATURE_FAILED || feature == AGENT_FEATURE_IGNORED) {
		fail_by_hint(agent, cupti->hint, AGENT_HINT_BYTES);
	} else if (feature == AGENT_FEATURE_READY && state >= AGENT_STATE_READY) {
		agents_copy_string(agent->report.why, sizeof(agent->report.why), cupti->hint,
				   AGENT_HINT_BYTES);
		agent->report.cupti = agent->control->cupti_facts;
		agents_copy_string(agent->report.cupti.path, AGENT_PATH_BYTES,
				   agent->control->cupti_facts.path, AGENT_PATH_BYTES);
		agents_copy_string(agent->report.cupti.other_client,
				   sizeof(agent->report.cupti.other_client),
				   agent->control->cupti_facts.other_client,
				   sizeof(agent->report.cupti.other_client));
		agent->answered = true;
	}
}

bool agents_all_answered(struct agents *agents)
{
	bool all = true;

	for (size_t i = 0; i < agents->count; i++) {
		struct agent *agent = &agents->agents[i];

		if (!agent->answered)
			agents_look_for_answer(agent);
		if (!agent->answered)
			agent_handover_serve(agent->target, agent->control, &agent->report.supply);
		all &= agent->answered;
	}
	return all;
}

void agents_give_up(struct agents *agents)
{
	for (size_t i = 0; i < agents->count; i++)
		if (!agents->agents[i].answered)
			fail(&agents->agents[i],
			     "the agent gave no answer in time: CUPTI takes long to start");
}

size_t agents_count(const struct agents *agents)
{
	return agents->count;
}

const struct agent_report *agents_report(const struct agents *agents, size_t index)
{
	return &agents->agents[index].report;
}

bool agent_report_failed(const struct agent_report *report)
{
	return (report->outcome == AGENT_REFUSED || report->outcome == AGENT_FAILED) &&
	       !target_is_gone(report->target);
}

size_t agents_working(const struct agents *agents)
{
	size_t count = 0;

	for (size_t i = 0; i < agents->count; i++)
		count += agents->agents[i].report.outcome == AGENT_WORKS;
	return count;
}

/* ---- the window ---- */

static int put_version(struct recording_facts *facts, struct batch *batch, const char *what,
		       const struct agent *agent, const char *value)
{
	char key[64];

	snprintf(key, sizeof(key), "%s of %u", what, agent->target->pid);
	return recording_facts_attribute(facts, batch, VALUE_attribute_group_gpu, key, value);
}

static int put_agent_facts(struct agent *agent, struct recording_facts *facts, struct batch *batch)
{
	const struct agent_cupti_facts *cupti = &agent->report.cupti;
	char version[32], driver[32], place[64];
	int result;

	snprintf(place, sizeof(place), "%s (%u)", agent->target->comm, agent->target->pid);
	result = text_ids_get(&facts->tool, batch, place, &agent->place);
	if (result || agent->report.outcome != AGENT_WORKS)
		return result;
	snprintf(version, sizeof(version), "%u", cupti->cupti_version);
	snprintf(driver, sizeof(driver), "%u.%u", cupti->driver_version / 1000,
		 cupti->driver_version % 1000 / 10);
	result = put_version(facts, batch, "CUPTI version", agent, version);
	if (!result)
		result = put_version(facts, batch, "CUPTI library", agent, cupti->path);
	if (!result)
		result = put_version(facts, batch, "CUDA version of the driver", agent, driver);
	if (!result)
		result = put_version(facts, batch, "driver", agent,
				     agent->report.gpu.driver_version);
	if (!result && agent->report.gpu.cupti_count > 1) {
		snprintf(version, sizeof(version), "%u", agent->report.gpu.cupti_count);
		result = put_version(facts, batch, "copies of CUPTI", agent, version);
	}
	return result;
}

int agents_put_facts(struct agents *agents, struct recording_facts *facts, struct batch *batch)
{
	int result = 0;

	for (size_t i = 0; i < agents->count && !result; i++)
		if (agents->agents[i].report.outcome != AGENT_NOT_CUDA)
			result = put_agent_facts(&agents->agents[i], facts, batch);
	return result;
}

int agents_put_launched_facts(struct agents *agents, struct recording_facts *facts,
			      struct batch *batch)
{
	int result = 0;

	for (size_t i = 0; i < agents->count && !result; i++) {
		struct agent *agent = &agents->agents[i];

		if (!agent->launch || agent->report.outcome == AGENT_NOT_CUDA)
			continue;
		if (agent->taker.pid) {
			agent->target = agent->report.target = &agent->taker;
			result = recording_facts_target(facts, batch, agent->target);
		}
		if (!result)
			result = put_agent_facts(agent, facts, batch);
	}
	return result;
}

static void set_time(struct agents *agents, size_t offset, u64 now_ns)
{
	for (size_t i = 0; i < agents->count; i++) {
		struct agent *agent = &agents->agents[i];

		if (agent->control)
			__atomic_store_n((u64 *)((char *)agent->control + offset),
					 now_ns - agent->clock_shift_ns, __ATOMIC_RELEASE);
	}
}

void agents_open_window(struct agents *agents, u64 now_ns)
{
	set_time(agents, offsetof(struct agent_control, window_start_ns), now_ns);
}

void agents_close_window(struct agents *agents, u64 now_ns)
{
	set_time(agents, offsetof(struct agent_control, window_end_ns), now_ns);
}

/* ---- draining ---- */

static int drain_all(void *data, record_callback callback, void *callback_data)
{
	struct agents *agents = data;
	u64 now = clock_monotonic_ns();
	bool reclaim = now - agents->reclaimed_ns > RECLAIM_NS;
	int count = 0;

	for (size_t i = 0; i < agents->count; i++) {
		struct agent *agent = &agents->agents[i];
		int taken = 0;

		if (agent->launch)
			taken = agents_launched_look(agents, agent, callback, callback_data);
		if (taken < 0)
			return taken;
		if (agent->ring && reclaim)
			agent_ring_reclaim(agent->ring);
		if (agent->ring)
			taken = agent_ring_drain(agent->ring, callback, callback_data);
		if (taken < 0)
			return taken;
		count += taken;
	}
	if (reclaim)
		agents->reclaimed_ns = now;
	return count;
}

struct record_source agents_source(struct agents *agents)
{
	return (struct record_source){
		.data = agents, .drain = drain_all, .add_losses = agents_add_losses};
}

/* Closing the descriptor gives the lock back: an agent that is still there then leaves by itself. */
struct agents *agents_free(struct agents *agents)
{
	for (size_t i = 0; agents && i < agents->count; i++) {
		struct agent *agent = &agents->agents[i];

		agent_ring_free(agent->ring);
		if (agent->control)
			munmap(agent->control, AGENT_CONTROL_BYTES + (size_t)agents->chunk_count *
									     AGENT_CHUNK_BYTES);
		cleanup_close(&agent->injection.ring_fd);
		agent_threads_free(&agent->threads);
		map_free(&agent->tasks);
		if (agent->taker.pid)
			target_close(&agent->taker);
	}
	if (agents)
		free(agents->agents);
	free(agents);
	return NULL;
}
