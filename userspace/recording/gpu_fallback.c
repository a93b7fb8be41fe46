/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recording/gpu_fallback.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "cuda/cupti_supply.h"
#include "plan/gpu_catalogue.h"
#include "cuda/driver_files.h"
#include "cuda/gpu_target.h"
#include "inject/inject.h"
#include "options/launch_stacks.h"
#include "options/levels.h"
#include "recording/gpu_config.h"

/* The agent of a gpuprobe that was killed takes more than 2 s to leave where no CUDA call comes. */
#define THREAD_DEADLINE_MS 5000

/* Would it get an agent? why is set where not. An error is one of what the user named. */
static int look(const struct options *options, const struct target *target,
		const struct gpu_target *gpu, struct err *why, struct err *err)
{
	struct cupti_supply supply = {0};
	struct inject_plan plan = {0};
	int result;

	if (!gpu_config_wants_agent(options)) {
		err_set(why, -ECANCELED, "%s", gpu_config_no_agent_reason(options));
		return 0;
	}
	result = cupti_supply_choose(target, gpu, options->cupti, "/", &supply, err);
	if (result)
		return result;
	if (supply.place == CUPTI_PLACE_NONE)
		err_set(why, -ENOENT, "%s", supply.why);
	else if (!inject_plan(target, THREAD_DEADLINE_MS, NULL, &plan, why))
		inject_plan_free(&plan);
	return 0;
}

/* By probes. */
static bool takes_launch_stacks(const struct options *options)
{
	struct launch_stacks stacks;

	return !launch_stacks_of(options, &stacks, NULL) && stacks.taken && !stacks.by_agent;
}

/* Also of what loads CUDA later? A command is expected to; of any other process that is looked at where somebody asked. */
static bool may_come_later(const struct options *options, bool is_command)
{
	struct launch_stacks stacks;

	return !launch_stacks_of(options, &stacks, NULL) && stacks.taken &&
	       (stacks.asked || is_command);
}

/* Which functions: of processes without an agent all, beside an agent only what CUPTI does not see. */
static int choose_patterns(const struct options *options, struct gpu_fallback *fallback)
{
	bool all = fallback->refused_count && levels_has(options, LEVEL_api_functions);
	bool beyond = fallback->cuda_count && levels_has(options, LEVEL_library_functions);
	unsigned parts = (all ? GPU_CATALOGUE_API | GPU_CATALOGUE_BEYOND : 0) |
			 (beyond ? GPU_CATALOGUE_BEYOND : 0);
	/* Where no process has an agent nothing tells of the work that a call launches: that is for who asks. */
	bool may_launch = fallback->later_count ||
			  fallback->cuda_count >
				  (may_come_later(options, false) ? 0 : fallback->refused_count);
	unsigned launches = takes_launch_stacks(options) && may_launch ? GPU_CATALOGUE_LAUNCHES : 0;
	size_t first = gpu_catalogue_patterns(launches, 0, NULL);
	size_t count = first + gpu_catalogue_patterns(parts, options->host_tracer_level, NULL);

	free(fallback->patterns);
	fallback->pattern_count = 0;
	fallback->patterns = calloc(count + 1, sizeof(*fallback->patterns));
	if (!fallback->patterns)
		return -ENOMEM;
	fallback->launch_pattern_count = gpu_catalogue_patterns(launches, 0, fallback->patterns);
	fallback->pattern_count = first + gpu_catalogue_patterns(parts, options->host_tracer_level,
								 fallback->patterns + first);
	return 0;
}

static int note_refusal(struct gpu_fallback *fallback, size_t target, const char *why)
{
	fallback->refused[target] = strdup(why);
	fallback->refused_count++;
	return fallback->refused[target] ? 0 : -ENOMEM;
}

/* What an agent does not see has no calls for the stacks. */
static int look_for_later(const struct options *options, const struct target *targets,
			  size_t target, bool is_command, struct gpu_fallback *fallback)
{
	struct driver_files files = {0};
	int result = 0;

	if (!may_come_later(options, is_command) || !gpu_config_wants_agent(options))
		return 0;
	result = driver_files_find(&targets[target], &files);
	for (size_t i = 0; i < files.count && !result; i++) {
		result = array_reserve(&fallback->later, &fallback->later_capacity,
				       fallback->later_count + 1);
		if (result)
			break;
		fallback->later[fallback->later_count].target = target;
		fallback->later[fallback->later_count++].path = take_pointer(&files.paths[i]);
	}
	driver_files_free(&files);
	return result;
}

static int look_at_all(const struct options *options, const struct target *targets, u32 command_pid,
		       struct gpu_fallback *fallback, struct err *err)
{
	for (size_t i = 0; i < fallback->target_count; i++) {
		struct gpu_target gpu;
		struct err why = {0};
		int result = gpu_target_read(&targets[i], &gpu, err);

		/* A command brings its agent along. */
		bool is_command = targets[i].pid == command_pid;
		bool brings = is_command && gpu_config_wants_agent(options);

		if (!result && gpu.cuda && !brings)
			result = look(options, &targets[i], &gpu, &why, err);
		/* Children come and go. */
		if (result && i >= options->pids.count && target_is_gone(&targets[i])) {
			*err = (struct err){0};
			continue;
		}
		if (result)
			return result;
		fallback->cuda_count += gpu.cuda;
		if (!gpu.cuda && look_for_later(options, targets, i, is_command, fallback))
			return err_errno(err, -ENOMEM, "can't look at the GPU side");
		if (why.code && note_refusal(fallback, i, why.message))
			return err_errno(err, -ENOMEM, "can't look at the GPU side");
	}
	return 0;
}

int gpu_fallback_find(const struct options *options, const struct target *targets,
		      size_t target_count, u32 command_pid, struct gpu_fallback *ret_fallback,
		      struct err *err)
{
	struct gpu_fallback fallback = {.target_count = target_count,
					.refused = calloc(target_count + 1, sizeof(char *))};
	int result = -ENOMEM;

	if (fallback.refused)
		result = look_at_all(options, targets, command_pid, &fallback, err);
	else
		err_errno(err, result, "can't look at the GPU side");
	if (!result && choose_patterns(options, &fallback))
		result = err_errno(err, -ENOMEM, "can't look at the GPU side");
	if (result)
		gpu_fallback_free(&fallback);
	*ret_fallback = fallback;
	return result;
}

int gpu_fallback_refuse(const struct options *options, size_t target, const char *why,
			struct gpu_fallback *fallback)
{
	int result = fallback->refused[target] ? 0 : note_refusal(fallback, target, why);

	return result ? result : choose_patterns(options, fallback);
}

void gpu_fallback_free(struct gpu_fallback *fallback)
{
	for (size_t i = 0; fallback->refused && i < fallback->target_count; i++)
		free(fallback->refused[i]);
	for (size_t i = 0; i < fallback->later_count; i++)
		free(fallback->later[i].path);
	free(fallback->later);
	free(fallback->refused);
	free(fallback->patterns);
	*fallback = (struct gpu_fallback){0};
}
