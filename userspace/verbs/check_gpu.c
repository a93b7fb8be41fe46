/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verbs/check_gpu.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cuda/cuda_runtime.h"
#include "cuda/cupti_supply.h"
#include "cuda/nvtx_users.h"
#include "inject/inject.h"
#include "options/levels.h"
#include "plan/memory_room.h"
#include "recording/gpu_config.h"

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
	    inject_plan(target, THREAD_DEADLINE_MS, NULL, &plan, &err)) {
		text_append(text, "  agent: refused: ");
		text_append_terminal(text, err.message, strlen(err.message));
		text_append_char(text, '\n');
		return;
	}
	if (plan.thread_count && plan.threads[0].runs)
		text_appendf(
			text,
			"  agent: no thread of %zu waits where it could be borrowed; one that "
			"runs is tried, for %u s, where it is in code of its own; else API calls "
			"are recorded by probes\n",
			plan.thread_count, plan.running_ms / 1000);
	else
		text_appendf(
			text,
			"  agent: started by a borrowed thread; %zu of %zu threads are safe to "
			"borrow\n",
			plan.usable_count, plan.thread_count);
	for (size_t i = 0; i < plan.thread_count && i < THREADS_SHOWN; i++) {
		const struct inject_thread *thread = &plan.threads[i];

		text_appendf(text, "    %s %u ",
			     !thread->usable ? "no "
			     : thread->runs  ? "try"
					     : "yes",
			     thread->tid);
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

void check_gpu_append(const struct options *options, const struct attachment *attachment,
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
