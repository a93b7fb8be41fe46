/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verbs/announce_gpu.h"

#include "base/log.h"
#include "cuda/gpu_target.h"
#include "recording/gpu_config.h"

void announce_gpu_append_failure(const struct agent_report *report, struct text *text)
{
	text_append(text, report->why);
	if (report->outcome == AGENT_FAILED && *report->supply.path)
		text_appendf(text, "; CUPTI: %s", report->supply.path);
}

void announce_gpu_waits(const struct target *target, const char *what, u64 left_ns)
{
	log_info("%s (%u): still waiting for %s, up to %.0f s more; Ctrl-C gives up", target->comm,
		 target->pid, what, left_ns / 1e9);
}

/* Whose ranges are recorded, and whose another tool has. */
static void say_nvtx(const struct agent_report *report)
{
	const struct nvtx_users *users = &report->nvtx_users;
	const char *comm = report->target->comm;
	u32 pid = report->target->pid;

	if (report->nvtx.taken)
		log_info("%s (%u): NVTX is recorded in %u programs and libraries", comm, pid,
			 report->nvtx.taken);
	if (*report->nvtx_why)
		log_warning("%s (%u): NVTX is not recorded: %s", comm, pid, report->nvtx_why);
	if (*report->stacks_why)
		log_warning("%s (%u): no stacks of launches: %s", comm, pid, report->stacks_why);
	for (size_t i = 0; i < users->count; i++)
		if (users->items[i].state == NVTX_USER_TOOL)
			log_warning("%s (%u): NVTX of %s is not recorded: another tool holds it: "
				    "%s",
				    comm, pid, users->items[i].module, users->items[i].tool);
		else if (users->items[i].state == NVTX_USER_FRESH && users->tool_named)
			log_warning("%s (%u): NVTX of %s is not recorded: it is left to the tool "
				    "that NVTX_INJECTION64_PATH names",
				    comm, pid, users->items[i].module);
	if (*users->old_library)
		log_warning("%s (%u): %s is NVTX 2, which is not recorded", comm, pid,
			    users->old_library);
}

void announce_gpu_agents(const struct agents *agents)
{
	for (size_t i = 0; i < agents_count(agents); i++) {
		const struct agent_report *report = agents_report(agents, i);
		const char *comm = report->target->comm;
		u32 pid = report->target->pid;
		_cleanup_text_ struct text failure = {0};

		if (report->outcome == AGENT_WORKS)
			log_info("%s (%u): CUPTI %u (%s) records its GPU work%s%s", comm, pid,
				 report->cupti.cupti_version, report->cupti.path,
				 *report->why ? "; " : "", report->why);
		else if (report->outcome == AGENT_AWAITED)
			log_info("%s (%u): its GPU work is recorded from its first use of CUDA on",
				 comm, pid);
		say_nvtx(report);
		if (report->outcome != AGENT_REFUSED && report->outcome != AGENT_FAILED)
			continue;
		announce_gpu_append_failure(report, &failure);
		log_warning("%s (%u): GPU times are missing: %s", comm, pid, text_string(&failure));
	}
}

/* CUPTI's file, where the process had it not mapped before: nothing takes it out again. */
static bool cupti_stays(const struct agent_report *report)
{
	return *report->cupti.path && strstr(report->audit, report->cupti.path);
}

static void say_audit(const struct agent_report *report)
{
	const char *comm = report->target->comm, *why = report->why;
	u32 pid = report->target->pid;

	if (*report->lost_why)
		log_warning("%s (%u): %s", comm, pid, report->lost_why);
	if (*report->refused_why)
		log_warning("%s (%u): %s", comm, pid, report->refused_why);
	if (report->audit_is_plain) {
		log_info("%s (%u): gpuprobe has left%s%s%s%s", comm, pid, *why ? "; " : "", why,
			 cupti_stays(report) ? "; still mapped: " : "",
			 cupti_stays(report) ? report->cupti.path : "");
		log_debug("%s (%u) after detach: %s", comm, pid, report->audit);
	} else if (report->left_behind) {
		log_warning("%s (%u) after detach: %s%s%s", comm, pid, report->audit,
			    *why ? ": " : "", why);
	} else {
		log_info("%s (%u) after detach: %s%s%s", comm, pid, report->audit, *why ? ": " : "",
			 why);
	}
}

static void say_late(const struct agent_report *report)
{
	const char *comm = report->target->comm;
	u32 pid = report->target->pid;

	if (report->outcome == AGENT_WORKS)
		log_info("%s (%u): CUPTI %u (%s) recorded its GPU work%s%s", comm, pid,
			 report->cupti.cupti_version, report->cupti.path, *report->why ? "; " : "",
			 report->why);
	else if (report->outcome != AGENT_NOT_CUDA && !agent_report_ended_first(report))
		log_warning("%s (%u): GPU times are missing: %s", comm, pid, report->why);
}

static bool has_met_cuda(const struct agents *agents)
{
	for (size_t i = 0; i < agents_count(agents); i++)
		if (agents_report(agents, i)->outcome != AGENT_NOT_CUDA)
			return true;
	return false;
}

/* What started CUDA in vain. */
static void say_descendants(const struct agents *agents)
{
	u64 turned_away = agents_turned_away(agents);
	u32 example = 0, unmet_example = 0;
	size_t unreached = agents_unreached(agents, &example);
	size_t unmet = agents_unmet(agents, &unmet_example);

	if (turned_away)
		log_warning("GPU times of %llu more processes are missing: too many start CUDA in "
			    "this recording",
			    (unsigned long long)turned_away);
	if (unmet)
		log_warning(
			"GPU times of %zu child process%s (%s%u), if any, are missing: %s mapped "
			"the CUDA driver, and %s there too short for an agent to be put in",
			unmet, unmet == 1 ? "" : "es", unmet == 1 ? "" : "e.g. ", unmet_example,
			unmet == 1 ? "it" : "they", unmet == 1 ? "was" : "were");
	if (unreached)
		log_warning("%zu process%s (%s%u) mapped the CUDA driver, but the driver loaded no "
			    "agent there: CUDA was not started, or the command's files below "
			    "/proc can't be seen from there (gpuprobe -p PID can do without)",
			    unreached, unreached == 1 ? "" : "es", unreached == 1 ? "" : "e.g. ",
			    example);
	else if (!unmet && !has_met_cuda(agents) && agents_follows(agents))
		log_info("no process started CUDA");
}

void announce_gpu_result(const struct agents *agents)
{
	if (agents)
		say_descendants(agents);
	for (size_t i = 0; agents && i < agents_count(agents); i++) {
		const struct agent_report *report = agents_report(agents, i);
		const char *comm = report->target->comm;
		u32 pid = report->target->pid;

		if (report->silent)
			log_warning("%s (%u): CUPTI gave not one record: the process called no "
				    "CUDA function in the window, or CUPTI does not work in it",
				    comm, pid);
		if (report->late)
			say_late(report);
		else if (report->outcome == AGENT_REFUSED || report->outcome == AGENT_FAILED)
			log_warning("%s (%u): recorded without GPU times: %s", comm, pid,
				    report->why);
		if (*report->audit)
			say_audit(report);
		if (report->executed_ns)
			log_warning("%s (%u) executed another program while it was recorded: what "
				    "that does on GPUs is missing, and GPU work of the last 100 ms "
				    "before may be",
				    comm, pid);
		else if (report->cut && report->ended)
			log_warning("%s (%u) ended while it was recorded: GPU work of its last "
				    "100 ms may be missing",
				    comm, pid);
		else if (report->stuck)
			log_warning(
				"%s (%u): CUPTI has not handed over its buffers for 2 s, as when a "
				"GPU hangs: the last GPU work is missing; the agent leaves by "
				"itself when CUPTI answers",
				comm, pid);
		else if (report->finalizing)
			log_warning(
				"%s (%u): CUPTI has been on its way down for 2 s "
				"(cuptiFinalize, on the agent's own thread): nothing of the "
				"recording is missing, and the agent leaves by itself when that "
				"returns",
				comm, pid);
		else if (report->cut)
			log_warning("%s (%u): the agent did not end in time: the last GPU work may "
				    "be missing",
				    comm, pid);
	}
}

void announce_gpu_none(const struct attachment *attachment, const struct options *options,
		       const struct agents *agents)
{
	const struct target *first = attachment->targets;

	if (options->command || attachment_names_probes(options) ||
	    !gpu_config_wants_agent(options) || attachment->gpu.cuda_count ||
	    (agents && (agents_follows(agents) || has_met_cuda(agents))))
		return;
	for (size_t i = 0; i < attachment->target_count; i++) {
		const struct target *target = &attachment->targets[i];
		struct gpu_target gpu;

		/* It may have ended: what it mapped can't be told. */
		if (gpu_target_read(target, &gpu, NULL))
			return;
		if (!gpu.cuda)
			continue;
		log_warning("%s (%u) has mapped CUDA only since the recording began: what GPUs did "
			    "for it is missing; record it again",
			    target->comm, target->pid);
		return;
	}
	if (attachment->target_count == 1)
		log_info("no CUDA was seen in %s (%u): no driver (libcuda.so) is mapped there, so "
			 "that nothing is told of GPUs",
			 first->comm, first->pid);
	else if (attachment->target_count)
		log_info("no CUDA was seen in the %zu processes: no driver (libcuda.so) is mapped "
			 "there, so that nothing is told of GPUs",
			 attachment->target_count);
}
