/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where in targets and their children the code is that is probed: watched from before it is probed until it no longer is. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "session/code_repair.h"
#include "session/session_parts.h"

/* Of children there may be thousands, and meanwhile the probes are there. */
#define REPAIR_CHILDREN_NS NS_PER_SECOND

/* From here on what is done to it is told. */
static int look(struct session *session, u32 pid)
{
	struct watched_process *watched;
	struct code_memory *memory = NULL;
	struct session_process process;
	int result = 0;

	if (!session_process_open(session, pid, &process))
		result = code_memory_open(process.target, &memory);
	/* What will be left out is among it. */
	if (memory)
		result = watched_code_look(&session->watched, process.target, memory, false,
					   &watched);
	code_memory_close(memory);
	target_close(&process.opened);
	return result;
}

int session_code_watch(struct session *session, struct err *err)
{
	const struct session_config *config = session->config;
	struct code_patcher patchers[CODE_PATCHERS_MAX] = {{{0}, {0}}};
	char names[CODE_PATCHERS_MAX][PLAN_PATCHER_NAME_BYTES];
	size_t count = plan_patcher_names(names, CODE_PATCHERS_MAX), pid_count = 0;
	_cleanup_free_ u32 *pids = NULL;
	int result;

	_Static_assert(sizeof(patchers[0].name) == PLAN_PATCHER_NAME_BYTES, "one and the same");
	for (size_t i = 0; i < count; i++) {
		memcpy(patchers[i].name, names[i], sizeof(names[i]));
		memset(patchers[i].mask, 0xff, strnlen(names[i], sizeof(names[i])));
	}
	result = bpf_source_watch_code(session->source, patchers, count, err);
	if (!result && bpf_source_code_fd(session->source) >= 0 &&
	    session_waits_add(session, bpf_source_code_fd(session->source), SESSION_WAIT_CODE, 0))
		return err_errno(err, -errno, "can't watch the code of the targets");
	if (result)
		return result;
	session->watched = (struct watched_code){
		.source = session->source, .plan = config->plan, .heap_plan = config->heap_plan};
	watched_code_begin(&session->watched);
	result = bpf_source_targets(session->source, &pids, &pid_count);
	for (size_t i = 0; i < pid_count && !result; i++)
		result = look(session, pids[i]);
	return result ? err_errno(err, result, "can't watch the code of the targets") : 0;
}

void session_code_tick(struct session *session)
{
	watched_code_prune(&session->watched);
	for (size_t i = 0; i < session->watched.count; i++)
		if (session->watched.items[i]->stale)
			(void)look(session, session->watched.items[i]->pid);
}

int session_code_guard(struct session *session)
{
	int result;

	bpf_source_hold_code(session->source, true);
	session_code_tick(session);
	result = session_code_look_at_all(session);
	session_code_handle(session);
	return result;
}

void session_code_hold_no_more(struct session *session)
{
	bpf_source_hold_code(session->source, false);
}

/* ---- leaving ---- */

static void repair_in(struct session *session, const struct target *target)
{
	struct watched_process *process = watched_code_find(&session->watched, target);
	struct code_memory *memory = NULL;
	int result = code_memory_open(target, &memory);

	if (!result && !process)
		result = watched_code_look(&session->watched, target, memory, false, &process);
	if (!result)
		session->repaired_count += code_repair_jumps(target, memory, &process->pieces);
	code_memory_close(memory);
}

/* Targets, and their children that live. */
static void repair_all(struct session *session)
{
	const struct session_config *config = session->config;
	_cleanup_free_ u32 *pids = NULL;
	size_t count = 0;
	u64 end_ns;

	if (!session->watched.source || bpf_source_targets(session->source, &pids, &count))
		return;
	for (size_t t = 0; t < config->target_count; t++)
		repair_in(session, &config->targets[t]);
	end_ns = clock_monotonic_ns() + REPAIR_CHILDREN_NS;
	for (size_t i = 0; i < count && clock_monotonic_ns() < end_ns; i++) {
		struct session_process process;

		if (!session_process_open(session, pids[i], &process) &&
		    process.target == &process.opened)
			repair_in(session, process.target);
		target_close(&process.opened);
	}
}

void session_code_leave(struct session *session)
{
	session_code_handle(session);
	session_join_departing(session);
	repair_all(session);
}

void session_code_left(struct session *session)
{
	repair_all(session);
	bpf_source_unwatch_code(session->source);
}

void session_code_free(struct session *session)
{
	session_join_departing(session);
	watched_code_free(&session->watched);
}
