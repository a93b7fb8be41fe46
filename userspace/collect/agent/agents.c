/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/agent/agents.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>

#include "process/time_namespace.h"
#include "collect/agent/agents_parts.h"

/* BPF is source 2, imports have captures of their own. */
#define FIRST_SOURCE 3

void agents_copy_string(char *to, size_t to_bytes, const char *from, size_t from_bytes)
{
	size_t length = 0;

	while (length < from_bytes && length + 1 < to_bytes && from[length]) {
		unsigned char c = from[length];

		to[length++] = c < ' ' || c == 0x7f ? '?' : c;
	}
	to[length] = 0;
}

void agents_fail(struct agent *agent, const char *why)
{
	agent->report.outcome = AGENT_FAILED;
	snprintf(agent->report.why, sizeof(agent->report.why), "%s", why);
	agent->answered = true;
}

/* Numbers of code objects of Python: the BPF programs' lie below. */
#define CODES_FIRST (1U << 30)

static u32 first_code(const struct agents *agents, const struct agent *agent)
{
	return CODES_FIRST + (u32)(agent - agents->agents) * AGENT_PYTHON_CODES;
}

/* Without what stacks are walked by. */
static size_t ring_part_bytes(const struct agents *agents)
{
	return AGENT_CONTROL_BYTES + (size_t)agents->chunk_count * AGENT_CHUNK_BYTES;
}

size_t agents_ring_bytes(const struct agents *agents)
{
	return ring_part_bytes(agents) + (agents->config.stacks ? AGENT_STACKS_BYTES : 0);
}

int agents_map_control(struct agents *agents, struct agent *agent, struct err *err)
{
	size_t bytes = agents_ring_bytes(agents);
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			    agent->injection.ring_fd, (off_t)(agent->ring_number * bytes));

	if (memory == MAP_FAILED)
		return err_errno(err, -errno, "can't map the memory shared with the agent");
	agent->control = memory;
	/* Ours, not the target's, whose memory cgroup would be charged for what it touches first. Best effort. */
	if (fallocate(agent->injection.ring_fd, 0, 0, (off_t)ring_part_bytes(agents)))
		errno = 0;
	if (agents->config.stacks && !agents->stacks_why) {
		agent->stacks.shared = (void *)((u8 *)memory + ring_part_bytes(agents));
		agent->stacks.fd = agent->injection.ring_fd;
		agent->stacks.offset = agent->ring_number * bytes + ring_part_bytes(agents);
		agent->stacks.shared->first_code = first_code(agents, agent);
	}
	return 0;
}

void agents_refuse_stacks(struct agents *agents, const char *why)
{
	agents->stacks_why = why;
}

void agents_set_python(struct agents *agents, struct python_codes *codes)
{
	agents->codes = codes;
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
					   .codes = agents->config.stacks ? agents->codes : NULL,
					   .stacks = agents->config.stacks,
					   .first_code = first_code(agents, agent),
					   .data = &agent->threads};
	struct agent_ring *ring;
	int result = agent_ring_create(&config, &ring);

	if (result)
		return result;
	agent->clock_shift_ns = config.clock_shift_ns;
	__atomic_store_n(&agent->ring, ring, __ATOMIC_RELEASE);
	return 0;
}

struct agent *agents_next(struct agents *agents, const struct target *target)
{
	struct agent *agent = &agents->agents[agents->count];

	if (agents->count == agents->capacity)
		return NULL;
	*agent = (struct agent){.target = target,
				.report.target = target,
				.source = FIRST_SOURCE + agents->count,
				.injection.ring_fd = -1};
	agent_threads_init(&agent->threads, agent->target);
	return agent;
}

void agents_count_in(struct agents *agents)
{
	__atomic_store_n(&agents->count, agents->count + 1, __ATOMIC_RELEASE);
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

bool agent_report_ended_first(const struct agent_report *report)
{
	bool once = report->outcome == AGENT_REFUSED && report->no_thread && !report->tries;

	return report->late && (report->ended_first || (once && target_is_gone(report->target)));
}

/* ---- the window ---- */

static void set_time(struct agents *agents, size_t offset, u64 now_ns)
{
	for (size_t i = 0; i < agents->count; i++) {
		struct agent *agent = &agents->agents[i];

		if (agent->control)
			__atomic_store_n((u64 *)((char *)agent->control + offset),
					 now_ns - agent->clock_shift_ns, __ATOMIC_RELEASE);
	}
}

void agents_each_stacks(struct agents *agents,
			void (*each)(void *data, u32 pid, struct agent_stacks *stacks), void *data)
{
	for (size_t i = 0; i < agents->count; i++) {
		struct agent *agent = &agents->agents[i];
		/* A ring of a command's that nobody has taken yet is nobody's. */
		bool is_met = agent->launch
				      ? __atomic_load_n(&agent->ring, __ATOMIC_ACQUIRE) != NULL
				      : agent->report.outcome == AGENT_WORKS;

		if (agent->stacks.shared && is_met)
			each(data, agents_process(agent)->pid, &agent->stacks);
	}
}

void agents_open_window(struct agents *agents, u64 now_ns)
{
	agents->window_start_ns = now_ns;
	set_time(agents, offsetof(struct agent_control, window_start_ns), now_ns);
}

void agents_close_window(struct agents *agents, u64 now_ns)
{
	agents->window_end_ns = now_ns;
	set_time(agents, offsetof(struct agent_control, window_end_ns), now_ns);
}
