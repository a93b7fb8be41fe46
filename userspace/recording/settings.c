/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recording/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/types.h"
#include "options/launch_stacks.h"
#include "options/levels.h"

/* Of all rings together, unless the user asked for more. */
#define RINGS_DEFAULT_MAX_BYTES (256ULL << 20)

static u64 ring_bytes(const struct options *options)
{
	u64 bytes = options->buffer_mb << 20, cpus = sysconf(_SC_NPROCESSORS_CONF);

	while (!options->given.buffer_mb && bytes > 1 << 20 &&
	       bytes * cpus > RINGS_DEFAULT_MAX_BYTES)
		bytes /= 2;
	return bytes;
}

static int add_option(void *data, const char *name, const char *value, bool given)
{
	struct recording_settings *settings = data;
	struct recording_option option, *options;

	/* A command runs to its end where no duration was given. */
	if (!strcmp(name, "duration") && !settings->duration_ns)
		return 0;
	options = reallocarray(settings->options, settings->option_count + 1, sizeof(*options));
	if (!options)
		return -ENOMEM;
	settings->options = options;
	option = (struct recording_option){strdup(name), strdup(value)};
	options[settings->option_count++] = option;
	return option.name && option.value ? 0 : -ENOMEM;
}

int recording_settings_make(const struct options *options, const struct attachment *attachment,
			    struct recording_settings *ret_settings, struct err *err)
{
	bool until_end = options->command && !options->given.duration_ns;
	struct launch_stacks launches;
	int result = launch_stacks_of(options, &launches, err);

	if (result)
		return result;

	*ret_settings = (struct recording_settings){
		.duration_ns = until_end ? 0 : options->duration_ns,
		.children = options->children,
		.targets_named = options->pids.count != 0,
		.off_cpu = levels_wants_blocking(options),
		.off_cpu_min_ns = options->blocking_min_us * NS_PER_MICROSECOND,
		.sample_period_ns =
			levels_wants_samples(options) ? NS_PER_SECOND / options->cpu_hz : 0,
		.samples_asked = options->given.cpu_hz,
		.growth = attachment_wants_growth(attachment, options),
		.heap_events = levels_alloc_mode(options) == CHOICE_alloc_mode_events,
		.memory_asked = options->given.alloc_mode,
		.python = !options->no_python,
		.call_stacks = options->stacks_mode == CHOICE_stacks_mode_functions ||
			       options->stacks_mode == CHOICE_stacks_mode_both,
		.usdt_stacks = options->stacks_mode == CHOICE_stacks_mode_usdt ||
			       options->stacks_mode == CHOICE_stacks_mode_both,
		.launch_samples_per_second = launches.samples_per_second,
		.launch_stacks_first = launches.first,
		.launch_stacks_by_price = launches.by_price,
		.launch_stacks_by_agent = launches.by_agent,
		.usdt_asked = options->usdt.count != 0,
		.max_overhead_percent = options->max_overhead,
		.ring_bytes = ring_bytes(options),
	};
	result = options_each(options, add_option, ret_settings);
	return result ? err_errno(err, result, "can't begin the recording") : 0;
}

void recording_settings_free(struct recording_settings *settings)
{
	for (size_t i = 0; i < settings->option_count; i++) {
		free(settings->options[i].name);
		free(settings->options[i].value);
	}
	free(settings->options);
	*settings = (struct recording_settings){0};
}
