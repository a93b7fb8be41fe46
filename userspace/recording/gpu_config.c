/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recording/gpu_config.h"

#include "../gpu/cupti/api_calls.h"
#include "options/launch_stacks.h"
#include "options/levels.h"

/* CUpti_ActivityKind, and the feature of levels.def that it belongs to. */
static const struct {
	u8 kind;
	enum level_feature feature;
} activity_kinds[] = {
#define ACTIVITY(number, layout, domain, feature) {number, LEVEL_##feature},
#define UNASKED(number, layout, domain)
#include "../gpu/cupti/cupti_layout.def"
};

#define BUFFER_BYTES	 (512U << 10)
#define BUFFER_COUNT_MAX 256
#define FLUSH_PERIOD_MS	 100

bool gpu_config_wants_agent(const struct options *options)
{
	return !options->no_inject && levels_has(options, LEVEL_activities);
}

const char *gpu_config_no_agent_reason(const struct options *options)
{
	return options->no_inject ? "--no-inject" : "device_tracer_level is 0";
}

/* Options that are wrong come no farther than their reading. */
static struct launch_stacks launch_stacks(const struct options *options)
{
	struct launch_stacks stacks;

	if (launch_stacks_of(options, &stacks, NULL))
		return (struct launch_stacks){0};
	return stacks;
}

/* Stacks of launches are those of calls, so they bring these along. */
static bool wants_feature(const struct options *options, enum level_feature feature)
{
	return levels_has(options, feature) ||
	       (feature == LEVEL_api_calls && launch_stacks(options).taken);
}

/* Those of which none is wanted are not asked for. */
static u64 kinds_wanted(const struct options *options)
{
	u64 kinds = 0;

	for (size_t i = 0; i < ARRAY_SIZE(activity_kinds); i++) {
		bool api = activity_kinds[i].feature == LEVEL_api_calls;
		s64 most = api ? options->profile.gpu_max_callback_api_events
			       : options->profile.gpu_max_activity_api_events;

		if (most && wants_feature(options, activity_kinds[i].feature))
			kinds |= 1ULL << activity_kinds[i].kind;
	}
	return kinds;
}

static u32 api_groups(const struct options *options)
{
	if (levels_has(options, LEVEL_all_api_calls))
		return API_GROUPS_EVERY;
	if (levels_has(options, LEVEL_events))
		return API_GROUPS_FULL;
	return levels_has(options, LEVEL_api_calls) ? API_GROUPS_DEFAULT : API_GROUPS_LAUNCHES;
}

/* To the agent 0 is no limit. */
static u64 limit_of(s64 most)
{
	return most > 0 ? most : 0;
}

void gpu_config_fill(const struct options *options, struct agent_cupti_config *ret_cupti)
{
	const struct options_profile *profile = &options->profile;
	u64 devices = limit_of(profile->gpu_num_chips_to_profile_per_task);

	*ret_cupti = (struct agent_cupti_config){
		.kinds = kinds_wanted(options),
		.buffer_bytes = BUFFER_BYTES,
		.buffer_count_max = BUFFER_COUNT_MAX,
		.flush_period_ms = FLUSH_PERIOD_MS,
		.api_groups = api_groups(options),
		.graph_whole = profile->gpu_enable_cupti_activity_graph_trace != 0,
		.texts_max = profile->gpu_max_annotation_strings,
		.devices_max = devices > UINT32_MAX ? 0 : devices,
		.callback_events_max = limit_of(profile->gpu_max_callback_api_events),
		.activity_events_max = limit_of(profile->gpu_max_activity_api_events),
		.take_down = true,
	};
}

u64 gpu_config_shared_bytes(const struct options *options)
{
	return (options->agent_buffer_mb << 20) +
	       (launch_stacks(options).by_agent ? AGENT_STACKS_BYTES : 0);
}

void gpu_config_agents(const struct options *options, const struct attachment *attachment,
		       struct agents_config *ret_agents)
{
	*ret_agents = (struct agents_config){
		.targets = attachment->targets,
		.target_count = attachment->target_count,
		.refused = (const char *const *)attachment->gpu.refused,
		/* Those that began with CUDA later are among the refused only. */
		.expected_count =
			attachment->gpu.cuda_count > attachment->gpu.refused_count
				? attachment->gpu.cuda_count - attachment->gpu.refused_count
				: 0,
		.nvtx = levels_has(options, LEVEL_nvtx),
		.stacks = launch_stacks(options).by_agent,
		.cupti_named = options->cupti,
		.ring_bytes = options->agent_buffer_mb << 20,
	};
	ret_agents->follow = options->children && gpu_config_wants_agent(options);
	/* A command brings its own along. */
	ret_agents->late_targets = attachment->gpu.later_count && launch_stacks(options).asked;
	gpu_config_fill(options, &ret_agents->cupti);
}
