/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code that the targets of a session map: for the names in their stacks, and for the tables by which these are walked. */
#include "base/clock.h"
#include "base/log.h"
#include "cuda/gpu_target.h"
#include "session/session_parts.h"
#include "unwind/unwind_cache.h"

/* Half a second is the usual time of a process with PyTorch. Who comes later finds stacks that end in code whose table is not there yet, and
 * say so. */
#define UNWIND_WAIT_NS (2 * NS_PER_SECOND)
#define UNWIND_LOOK_NS NS_PER_MILLISECOND
/* While a table is being made or mended; before the window opens nothing else waits for us. */
#define SHARE_NS       (5 * NS_PER_MILLISECOND)
#define SHARE_FIRST_NS (500 * NS_PER_MILLISECOND)
/* A program that maps one file after another is not looked at for each, and looking is never much of what the main thread does; what
 * comes too soon is left to the next tick. */
#define LOOKS_APART_NS (20 * NS_PER_MILLISECOND)
#define LOOKS_APART_TIMES \
	20 /* the CPU time that the last look took: what else runs on the machine makes none rarer */

int session_unwind(struct session *session, struct err *err)
{
	const struct session_config *config = session->config;
	int result = unwinding_start(config->keeps_unwind_tables ? UNWIND_CACHE_FOLDER : NULL,
				     config->command, &session->unwinding, err);

	if (result)
		return result;
	if (config->settings->launch_stacks_by_agent)
		unwinding_await_cuda(session->unwinding);
	/* Nobody is a target of the source yet. */
	for (size_t i = 0; i < config->target_count; i++)
		(void)code_map_look(&session->code.map, config->targets[i].pid, true);
	unwinding_look(session->unwinding, &session->code.map);
	return 0;
}

void session_unwind_by(struct session *session)
{
	session->result.status.walks_refused = bpf_source_walks_refused(session->source);
	if (session->result.status.walks_refused) {
		session->unwinding = unwinding_stop(session->unwinding);
		if (session->result.agents)
			agents_refuse_stacks(session->result.agents,
					     "the kernel refuses the programs that walk stacks, "
					     "with which the agent shares its tables");
		return;
	}
	unwinding_set_source(session->unwinding, session->source);
	unwinding_look(session->unwinding, &session->code.map);
}

struct share {
	struct session *session;
	u64 timeout_ns;
};

static void share_with(void *data, u32 pid, struct agent_stacks *stacks)
{
	const struct share *share = data;
	const struct session *session = share->session;
	struct python_process python;

	unwinding_share(session->unwinding, &session->code.map, pid, stacks, share->timeout_ns);
	if (bpf_source_reads_python(session->source))
		agent_stacks_put_python(stacks, bpf_source_get_python(session->source, pid, &python)
							? NULL
							: &python);
}

void session_unwind_agents(struct session *session, u64 timeout_ns)
{
	struct share share = {session, timeout_ns};

	if (session->unwinding && session->result.agents)
		agents_each_stacks(session->result.agents, share_with, &share);
}

void session_tell_of_python(struct session *session)
{
	const struct session_config *config = session->config;

	if (!session->pythons.refused_count || session->python_told || !config->on_python_refused)
		return;
	session->python_told = true;
	config->on_python_refused(config->callback_data, session->pythons.refused_first.message);
}

/* Who has begun to use CUDA is given its agent soon. */
static void hurry_agents(const struct session *session, size_t known)
{
	const struct code_map *map = &session->code.map;

	for (size_t i = known; session->result.agents && i < map->count; i++)
		if (gpu_target_is_driver(map->mappings[i].path) &&
		    code_map_is_own(map, &map->mappings[i]))
			agents_hurry(session->result.agents, map->mappings[i].pid);
}

void session_look_at_code(struct session *session, bool always)
{
	u64 begin_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID), apart_ns;
	size_t known = session->code.map.count;

	code_facts_look(&session->code, session->source, always);
	hurry_agents(session, known);
	if (session->unwinding)
		unwinding_look(session->unwinding, &session->code.map);
	pythons_look(&session->pythons, session->source, &session->code.map);
	session_unwind_agents(session, SHARE_NS);
	session_tell_of_python(session);
	apart_ns = LOOKS_APART_TIMES * (clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns);
	session->code_look_next_ns =
		clock_monotonic_ns() + (apart_ns > LOOKS_APART_NS ? apart_ns : LOOKS_APART_NS);
}

/* Has a process said so since it was asked last? Then all that it maps is looked at: another program may map as much as that which
 * executed it did. */
static bool is_code_unknown(struct session *session)
{
	u64 count = processes_status(session->processes).unknown_code_count;
	bool unknown = count != session->unknown_code_count;

	session->unknown_code_count = count;
	return unknown;
}

void session_look_at_unknown_code(struct session *session)
{
	if (clock_monotonic_ns() >= session->code_look_next_ns && is_code_unknown(session))
		session_look_at_code(session, true);
}

void session_look_at_any_code(struct session *session)
{
	session_look_at_code(session, is_code_unknown(session));
}

void session_on_executed(void *data, u32 pid, u64 ts)
{
	struct session *session = data;

	code_map_note_exec(&session->code.map, pid, ts);
	if (session->result.agents)
		agents_note_exec(session->result.agents, pid, ts);
}

void session_on_uncovered_code(void *data, u32 pid, u64 address)
{
	const struct session *session = data;

	if (session->unwinding)
		unwinding_ask(session->unwinding, &session->code.map, pid, address);
}

void session_unwind_wait(struct session *session)
{
	u64 end_ns = clock_monotonic_ns() + UNWIND_WAIT_NS;

	if (!session->unwinding)
		return;
	/* Threads of targets that change their code wait for us meanwhile. */
	while (!unwinding_wait(session->unwinding, UNWIND_LOOK_NS) && clock_monotonic_ns() < end_ns)
		session_code_handle(session);
	session_unwind_agents(session, SHARE_FIRST_NS);
	log_phase("unwind tables read");
}
