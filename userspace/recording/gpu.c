#include "recording/gpu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cuda/cuda_runtime.h"
#include "inject/inject.h"
#include "plan/memory_room.h"
#include "cuda/nvtx_users.h"
#include "base/log.h"
#include "base/text.h"
#include "options/levels.h"
#include "recording/gpu_config.h"

void gpu_look(const struct options *options, const struct attachment *attachment,
	      struct agents_config *ret_agents)
{
	*ret_agents = (struct agents_config){
		.targets = attachment->targets,
		.target_count = attachment->target_count,
		.refused = (const char *const *)attachment->gpu.refused,
		.nvtx = levels_has(options, LEVEL_nvtx),
		.cupti_named = options->cupti,
		.ring_bytes = options->agent_buffer_mb << 20,
	};
	ret_agents->follow = options->children && gpu_config_wants_agent(options);
	gpu_config_fill(options, &ret_agents->cupti);
}

/* ---- the plan, for check ---- */

#define THREADS_SHOWN	   8
#define THREAD_DEADLINE_MS 500

static void append_cupti(const struct options *options, const struct target *target,
			 const struct gpu_target *found, struct text *text)
{
	struct cupti_supply supply = {0};
	struct err err = {0};

	if (cupti_supply_choose(target, found, options->cupti, "/", &supply, &err))
		snprintf(supply.why, sizeof(supply.why), "%.250s", err.message);
	text_append(text, "  CUPTI: ");
	if (supply.place) {
		text_append_terminal(text, supply.path, strlen(supply.path));
		text_append(text, ", ");
	}
	if (supply.version.minor_known)
		text_appendf(text, "of CUDA %u.%u, ", supply.version.version / 1000,
			     supply.version.version % 1000 / 10);
	else if (supply.version.version)
		text_appendf(text, "of CUDA %u, ", supply.version.version / 1000);
	text_append_terminal(text, supply.why, strlen(supply.why));
	text_append_char(text, '\n');
	if (found->cupti_count > 1)
		text_appendf(text, "  %u different libcupti.so are mapped: one of them is blind\n",
			     found->cupti_count);
}

/* Each feature of the levels: does record switch it on in this process, and why not. */
static void append_levels(const struct options *options, bool agent, struct text *text)
{
	text_append(text, "  levels:\n");
	for (size_t i = 0; i < LEVEL_FEATURES; i++) {
		const struct level_row *row = level_row(i);
		bool on = levels_has(options, i);
		const char *why = "";

		if (on && row->how == LEVEL_BY_AGENT && !agent)
			why = "there is no agent";
		if (on && row->how == LEVEL_BY_CATALOGUE && agent)
			why = "the agent records them";
		if (row->how == LEVEL_BY_NOT_YET)
			why = "not yet: this version does not record it";
		text_appendf(text, "    %s %s", on && !*why ? "yes" : "no ", row->words);
		if (*why)
			text_appendf(text, " (%s)\n", why);
		else if (!on)
			text_appendf(text, " (%s %u)\n", row->tracer, row->level);
		else
			text_append_char(text, '\n');
	}
}

static void append_threads(const struct options *options, const struct target *target,
			   struct text *text)
{
	struct agent_cupti_config cupti = {0};
	struct inject_plan plan = {0};
	struct err err = {0};

	gpu_config_fill(options, &cupti);
	if (memory_room_buffers(target, cupti.buffer_bytes, &cupti.buffer_count_max, &err) ||
	    inject_plan(target, THREAD_DEADLINE_MS, &plan, &err)) {
		text_append(text, "  agent: refused: ");
		text_append_terminal(text, err.message, strlen(err.message));
		text_append_char(text, '\n');
		return;
	}
	text_appendf(
		text,
		"  agent: started by a borrowed thread; %zu of %zu threads are safe to borrow\n",
		plan.usable_count, plan.thread_count);
	for (size_t i = 0; i < plan.thread_count && i < THREADS_SHOWN; i++) {
		const struct inject_thread *thread = &plan.threads[i];

		text_appendf(text, "    %s %u ", thread->usable ? "yes" : "no ", thread->tid);
		text_append_terminal(text, thread->comm, strlen(thread->comm));
		text_append(text, ": ");
		text_append_terminal(text, thread->reason, strlen(thread->reason));
		text_append_char(text, '\n');
	}
	if (plan.thread_count > THREADS_SHOWN)
		text_appendf(text, "    and %zu more\n", plan.thread_count - THREADS_SHOWN);
	if (plan.resident_page)
		text_append(text, "    an earlier agent left its page, which is used again\n");
	inject_plan_free(&plan);
}

static void append_heading(const char *words, const struct target *target, struct text *text)
{
	text_append(text, words);
	text_append_terminal(text, target->comm, strlen(target->comm));
	text_appendf(text, " (%u)\n", target->pid);
}

/* What a process has for CUDA in its own code. */
struct gpu_users {
	struct nvtx_users nvtx;
	struct cuda_runtime runtime;
};

static void append_target_plan(const struct options *options, const struct target *target,
			       const struct gpu_target *found, const struct gpu_users *users,
			       const char *refused, struct text *text)
{
	append_heading("\nGPU side of ", target, text);
	text_append(text, "  driver: ");
	text_append_terminal(text, found->driver_path, strlen(found->driver_path));
	text_append_char(text, '\n');
	cuda_runtime_append(&users->runtime, text);
	append_cupti(options, target, found, text);
	nvtx_users_append(&users->nvtx, text);
	if (*found->other_tool) {
		text_append(text, "  another tool: ");
		text_append_terminal(text, found->other_tool, strlen(found->other_tool));
		text_append(text, " may hold CUPTI\n");
	}
	if (refused) {
		text_append(text, "  agent: none, GPU times will be missing: ");
		text_append_terminal(text, refused, strlen(refused));
		text_append_char(text, '\n');
	} else {
		append_threads(options, target, text);
	}
	append_levels(options, !refused, text);
}

/* Of a process that has no GPU side. */
static void append_users(const struct target *target, const struct gpu_users *users,
			 struct text *text)
{
	bool runtime = *users->runtime.shared_path || users->runtime.device_code_count;

	if (!runtime && !users->nvtx.count && !*users->nvtx.old_library)
		return;
	append_heading(runtime ? "\nCUDA is not begun, so without an agent: "
			       : "\nWithout CUDA, so without an agent: ",
		       target, text);
	cuda_runtime_append(&users->runtime, text);
	nvtx_users_append(&users->nvtx, text);
}

void gpu_append_plan(const struct options *options, const struct attachment *attachment,
		     struct text *text)
{
	for (size_t i = 0; i < attachment->target_count; i++) {
		const struct target *target = &attachment->targets[i];
		struct gpu_users users = {0};
		struct gpu_target found;

		if (gpu_target_read(target, &found, NULL))
			continue;
		nvtx_users_find(target, &users.nvtx, NULL);
		cuda_runtime_find(target, &found, &users.runtime, NULL);
		if (found.cuda)
			append_target_plan(options, target, &found, &users,
					   attachment->gpu.refused[i], text);
		else
			append_users(target, &users, text);
	}
}

/* ---- what is said while recording ---- */

void gpu_append_failure(const struct agent_report *report, struct text *text)
{
	text_append(text, report->why);
	if (report->outcome == AGENT_FAILED && *report->supply.path)
		text_appendf(text, "; CUPTI: %s", report->supply.path);
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

void gpu_say_agents(const struct agents *agents)
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
		gpu_append_failure(report, &failure);
		log_warning("%s (%u): GPU times are missing: %s", comm, pid, text_string(&failure));
	}
}

static void say_audit(const struct agent_report *report)
{
	const char *comm = report->target->comm, *why = report->why;
	u32 pid = report->target->pid;

	if (report->left_behind)
		log_warning("%s (%u) after detach: %s%s%s", comm, pid, report->audit,
			    *why ? ": " : "", why);
	else
		log_info("%s (%u) after detach: %s%s%s", comm, pid, report->audit, *why ? ": " : "",
			 why);
}

static void say_late(const struct agent_report *report)
{
	const char *comm = report->target->comm;
	u32 pid = report->target->pid;

	if (report->outcome == AGENT_WORKS)
		log_info("%s (%u): CUPTI %u (%s) recorded its GPU work%s%s", comm, pid,
			 report->cupti.cupti_version, report->cupti.path, *report->why ? "; " : "",
			 report->why);
	else if (report->outcome != AGENT_NOT_CUDA)
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
	u32 example = 0;
	size_t unreached = agents_unreached(agents, &example);

	if (turned_away)
		log_warning("GPU times of %llu more processes are missing: too many start CUDA in "
			    "this recording",
			    (unsigned long long)turned_away);
	if (unreached)
		log_warning("%zu process%s (%s%u) mapped the CUDA driver, but the driver loaded no "
			    "agent there: CUDA was not started, or the command's files below "
			    "/proc can't be seen from there (gpuprobe -p PID can do without)",
			    unreached, unreached == 1 ? "" : "es", unreached == 1 ? "" : "e.g. ",
			    example);
	else if (!has_met_cuda(agents) && agents_follows(agents))
		log_info("no process started CUDA");
}

void gpu_say_result(const struct agents *agents)
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
		if (report->cut && report->ended)
			log_warning("%s (%u) ended while it was recorded: GPU work of its last "
				    "100 ms may be missing",
				    comm, pid);
		else if (report->cut)
			log_warning("%s (%u): the agent did not end in time: the last GPU work may "
				    "be missing",
				    comm, pid);
	}
}
