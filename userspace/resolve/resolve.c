/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/confinement.h"
#include "resolve/answers.h"
#include "resolve/debug_files.h"
#include "resolve/groups.h"
#include "resolve/places.h"

#define DEATHS_MAX 8 /* files on which the other process died */

struct resolution {
	const struct resolve_input *input;
	const struct resolve_limits *limits;
	const struct resolve_mapping **places;
	struct groups groups;
	struct answers answers;
	u64 deadline_ns;
	bool time_over;
};

/* ---- the other process ---- */

static _Noreturn void work(const struct resolution *resolution, int pipe_fd, size_t first)
{
	const struct groups *groups = &resolution->groups;
	const struct resolve_input *input = resolution->input;
	struct worker_config config = {groups->items, groups->count, first,
				       resolution->limits->debug_max_bytes, pipe_fd};
	size_t count = 0;
	int *fds = malloc((2 * groups->count + input->process_count + 1) * sizeof(*fds));

	if (!fds)
		_exit(1);
	fds[count++] = pipe_fd;
	for (size_t i = 0; i < groups->count; i++) {
		fds[count++] = groups->items[i].fd;
		fds[count++] = groups->items[i].debug_fd;
	}
	for (size_t i = 0; i < input->process_count; i++)
		fds[count++] = input->processes[i].root_fd;
	signal(SIGPIPE, SIG_IGN);
	confine(&(struct confinement){.name = "gpuprobe-names",
				      .fds = fds,
				      .fd_count = count,
				      .memory_bytes = resolution->limits->memory_bytes,
				      .reads_files = true});
	worker_run(&config);
	_exit(0);
}

/* Until it has ended or time is over. */
static int listen_to(struct resolution *resolution, int pipe_fd)
{
	struct pollfd poll_fd = {.fd = pipe_fd, .events = POLLIN};
	int result = 1;

	while (result > 0) {
		u64 now_ns = clock_monotonic_ns();
		int timeout_ms = (int)((resolution->deadline_ns - now_ns) / NS_PER_MILLISECOND + 1);

		if (now_ns >= resolution->deadline_ns) {
			resolution->time_over = true;
			return 0;
		}
		if (poll(&poll_fd, 1, timeout_ms) > 0)
			result = answers_read(&resolution->answers, pipe_fd);
	}
	return result;
}

/* Begins with group `first`. */
static int run_once(struct resolution *resolution, size_t first)
{
	int ends[2], result;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid < 0) {
		result = -errno;
		close(ends[0]);
		close(ends[1]);
		return result;
	}
	if (pid == 0)
		work(resolution, ends[1], first);
	close(ends[1]);
	result = listen_to(resolution, ends[0]);
	close(ends[0]);
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return result;
}

/* Half of what the last message was is nobody's. */
static bool died(struct resolution *resolution)
{
	resolution->answers.filled = 0;
	return !resolution->answers.at_end && !resolution->time_over;
}

static int run(struct resolution *resolution)
{
	struct answers *answers = &resolution->answers;
	size_t first = 0;
	int result = 0;

	if (!resolution->groups.count)
		return 0;
	for (int deaths = 0; deaths < DEATHS_MAX; deaths++) {
		answers->group = SIZE_MAX;
		result = run_once(resolution, first);
		if (result == -ENOMEM || !died(resolution) || answers->group == SIZE_MAX)
			break;
		answers->is_cut[answers->group] = true;
		first = answers->group + 1;
	}
	/* What it has said until then holds. */
	return result == -ENOMEM ? result : 0;
}

/* ---- once more, with debug files of servers ---- */

/* Which groups have one now. */
static size_t give(struct resolution *resolution, const struct debug_files *files)
{
	const struct answers *answers = &resolution->answers;
	struct groups *groups = &resolution->groups;
	size_t count = 0;

	for (size_t i = 0; i < groups->count; i++)
		groups->items[i].skip = true;
	for (size_t i = 0; i < answers->wish_count; i++) {
		struct worker_group *group = &groups->items[answers->wishes[i].group];

		group->debug_fd = debug_files_fd(files, &answers->wishes[i]);
		group->skip = group->debug_fd < 0;
		count += !group->skip;
	}
	return count;
}

static void forget_refused(const struct answers *answers, size_t first,
			   const struct debug_files *files, struct resolve_debug_status *status)
{
	for (size_t i = first; i < answers->wish_count; i++) {
		if (!answers->wishes[i].refused)
			continue;
		status->refused_count++;
		debug_files_forget(files, &answers->wishes[i]);
	}
}

/* What was found without them stays, whatever happens. */
static int run_with_debug_files(struct resolution *resolution, struct resolve_debug_status *status)
{
	struct answers *answers = &resolution->answers;
	size_t wish_count = answers->wish_count, group = answers->group;
	bool at_end = answers->at_end;
	_cleanup_free_ struct answers_wish *wishes = NULL;
	struct debug_files files = {.folder_fd = -1};
	int result = 0;

	if (!resolution->limits->debug.time_ns || !wish_count)
		return 0;
	/* Those of answers move as more come. */
	wishes = malloc(wish_count * sizeof(*wishes));
	if (!wishes)
		return -ENOMEM;
	memcpy(wishes, answers->wishes, wish_count * sizeof(*wishes));
	(void)debug_files_get(wishes, wish_count, &resolution->limits->debug, &files, status,
			      &status->err);
	if (give(resolution, &files)) {
		resolution->deadline_ns = clock_monotonic_ns() + resolution->limits->time_ns;
		resolution->time_over = answers->at_end = false;
		result = run(resolution);
		forget_refused(answers, wish_count, &files, status);
		answers->at_end = at_end;
		answers->group = group;
	}
	debug_files_free(&files);
	return result;
}

/* ---- what was found ---- */

static int report_unknown(const struct resolution *resolution, size_t address,
			  int (*callback)(void *data, const struct resolve_frame *frame),
			  void *data)
{
	const struct resolve_mapping *mapping = resolution->places[address];
	struct resolve_frame frame = {.address = address,
				      .mapping = mapping->id,
				      .file_address = ~0ULL,
				      .offset_bytes = ~0U,
				      .name = "",
				      .file = ""};

	/* Of what is no ELF file the place in it. */
	if (mapping->fd >= 0)
		frame.file_address = resolution->input->addresses[address].address -
				     mapping->start + mapping->file_offset;
	return callback(data, &frame);
}

static int report(const struct resolution *resolution, size_t address,
		  int (*callback)(void *data, const struct resolve_frame *frame), void *data)
{
	const struct answers *answers = &resolution->answers;
	u32 place = answers->first[address];
	int result = 0;

	if (!place)
		return report_unknown(resolution, address, callback, data);
	while (place && result >= 0) {
		const struct answer *answer = &answers->items[place - 1];
		const struct wire_message *message = &answer->message;
		const struct resolve_frame frame = {
			.address = address,
			.mapping = resolution->places[address]->id,
			.line = message->line,
			.file_address = message->file_address,
			.offset_bytes = message->offset_bytes,
			.level = message->level,
			.origin = message->origin,
			.inlined = message->inlined,
			.begins = message->chain == WIRE_CHAIN_BEGINS,
			.caller_missing = message->chain == WIRE_CHAIN_CALLER_MISSING,
			.name = answers->strings.strings[answer->name],
			.file = answers->strings.strings[answer->file],
		};

		result = callback(data, &frame);
		place = answer->next;
	}
	return result;
}

static bool has_name(const struct answers *answers, size_t address)
{
	u32 place = answers->first[address];

	return place && answers->items[place - 1].message.origin;
}

static void count(const struct resolution *resolution, struct resolve_status *status)
{
	const struct groups *groups = &resolution->groups;
	const struct answers *answers = &resolution->answers;
	size_t from = groups->count;

	for (size_t i = 0; i < resolution->input->address_count; i++)
		*(has_name(answers, i) ? &status->named_count : &status->unnamed_count) += 1;
	/* The group that it was at when time was over, and all behind it. */
	if (!answers->at_end)
		from = answers->group == SIZE_MAX ? 0 : answers->group;
	for (size_t i = 0; i < groups->count; i++)
		if (i >= from || answers->is_cut[i])
			status->cut_count += groups->items[i].count;
}

int resolve_frames(const struct resolve_input *input, const struct resolve_limits *limits,
		   int (*callback)(void *data, const struct resolve_frame *frame), void *data,
		   struct resolve_status *ret_status, struct err *err)
{
	u64 start_ns = clock_monotonic_ns();
	struct resolution resolution = {.input = input,
					.limits = limits,
					.places = places_find(input),
					.groups.vdso_fd = -1,
					.deadline_ns = start_ns + limits->time_ns};
	struct resolve_status status = {0};
	int result = resolution.places ? groups_make(input, resolution.places, &resolution.groups)
				       : -ENOMEM;

	resolution.answers.address_count = input->address_count;
	resolution.answers.group_count = resolution.groups.count;
	if (!result)
		result = answers_init(&resolution.answers);
	if (!result)
		result = run(&resolution);
	if (!result)
		result = run_with_debug_files(&resolution, &status.debug);
	for (size_t i = 0; i < input->address_count && result >= 0; i++)
		if (resolution.places[i])
			result = report(&resolution, i, callback, data);
	if (result < 0)
		err_errno(err, result, "can't name the functions of stacks");
	else
		count(&resolution, &status);
	status.took_ns = clock_monotonic_ns() - start_ns;
	*ret_status = status;
	answers_free(&resolution.answers);
	groups_free(&resolution.groups);
	free(resolution.places);
	return result < 0 ? result : 0;
}
