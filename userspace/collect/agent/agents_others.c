/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Other users of CUPTI in the processes of the agents: who watches for them, and what is said of them in the end. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "collect/agent/agents_parts.h"
#include "process/proc_file.h"

void agents_others_watch(struct agents *agents, struct agent *agent)
{
	struct err err = agents->watch_why;

	if (*agent->report.others_why)
		return;
	if (!agents->watch || cupti_watch_process(agents->watch, agents_process(agent), &err))
		agents_copy_string(agent->report.others_why, sizeof(agent->report.others_why),
				   err.message, sizeof(err.message));
}

void agents_others_tell(struct agents *agents, struct agent *agent)
{
	if (agents->watch && agent->control)
		cupti_watch_tell(agents->watch, agents_process(agent), agent->control,
				 agent->clock_shift_ns);
}

/* Is a library mapped whose profiler asks for the subscription once in its life? */
static bool has_kineto(const char *maps)
{
	static const char *const names[] = {
#define CUPTI_USER(prefix, sort, name, who, way_out) USER_##sort(prefix)
#define USER_KINETO(prefix)			     "/" prefix,
#define USER_KEEPS(prefix)
#include "../gpu/cupti/cupti_users.def"
#undef CUPTI_USER
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strstr(maps, names[i]))
			return true;
	return false;
}

void agents_others_look(struct agent *agent)
{
	const struct agent_cupti_facts *facts = &agent->control->cupti_facts;
	_cleanup_free_ char *maps = NULL;

	/* Elsewhere none is held, or it is held beside others. */
	if (agent->kineto_seen || facts->shared || facts->several ||
	    !__atomic_load_n(&facts->held_ns, __ATOMIC_ACQUIRE) ||
	    proc_file_read(agents_process(agent)->proc_fd, "maps", &maps, NULL) ||
	    !has_kineto(maps))
		return;
	agent->kineto_seen = true;
	__atomic_fetch_add(&agent->control->cupti_others.libraries, 1, __ATOMIC_RELEASE);
	__atomic_fetch_add(&agent->control->bell, 1, __ATOMIC_RELEASE);
}

/* After the recording began; < 0: before. */
static double seconds_into(const struct agents *agents, const struct agent *agent, u64 target_ns)
{
	u64 ns = target_ns + agent->clock_shift_ns;

	return ((double)ns - (double)agents->window_start_ns) / NS_PER_SECOND;
}

/* What came of them in words. */
static void say(struct agent_report *report, const struct agent_cupti_facts *facts, double seconds)
{
	static const char *const reasons[] = {
		[CUPTI_LOST_TAKEN] =
			"another user of CUPTI in the process (most likely its own profiler, as "
			"torch.profiler) took it over",
		[CUPTI_LOST_FINALIZED] = "the process took CUPTI down (cuptiFinalize)",
		[CUPTI_LOST_SILENT] =
			"CUPTI fell silent, as where another user of it takes it over",
		[CUPTI_LOST_KERNELS] = "calls that launch kernels were recorded on, their kernels "
				       "no more (somebody switched these off, or the GPU hangs)",
	};
	u32 number = facts->lost_reason;
	const char *reason = number < ARRAY_SIZE(reasons) && reasons[number] ? reasons[number]
									     : "CUPTI was lost";
	_cleanup_text_ struct text text = {0};

	text_appendf(&text,
		     "%s %.3f s after the recording began: from then on its GPU work is missing",
		     reason, seconds);
	if (facts->kept_bytes)
		text_appendf(&text,
			     "; %" PRIu64 " KiB of buffers that were out are neither read nor "
			     "freed any more",
			     facts->kept_bytes >> 10);
	agents_copy_string(report->lost_why, sizeof(report->lost_why), text_string(&text),
			   sizeof(report->lost_why));
}

static void say_refused(struct agent_report *report, double seconds)
{
	_cleanup_text_ struct text text = {0};

	text_appendf(
		&text,
		"another user of CUPTI in the process (most likely a profiler of its own) asked "
		"for it %.3f s %s, while it was held here, and was refused (CUPTI's error "
		"39)%s: it gets it now, if it asks again",
		seconds < 0 ? -seconds : seconds,
		seconds < 0 ? "before the recording began" : "after the recording began",
		report->refused > 1 ? ", and again" : "");
	agents_copy_string(report->refused_why, sizeof(report->refused_why), text_string(&text),
			   sizeof(report->refused_why));
}

void agents_others_read(const struct agents *agents, struct agent *agent)
{
	const struct agent_cupti_facts facts = agent->control->cupti_facts;
	const struct agent_cupti_others others = agent->control->cupti_others;

	if (agent->report.outcome != AGENT_WORKS)
		return;
	agent->report.lost_ns = facts.lost_ns ? facts.lost_ns + agent->clock_shift_ns : 0;
	agent->report.refused_ns = others.refused ? others.refused_ns + agent->clock_shift_ns : 0;
	if (facts.lost_ns)
		say(&agent->report, &facts, seconds_into(agents, agent, facts.lost_ns));
	agent->report.refused = others.refused;
	if (others.refused)
		say_refused(&agent->report, seconds_into(agents, agent, others.refused_ns));
}
