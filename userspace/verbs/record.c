/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpuprobe -p PID: plan, record, write, summarize. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "process/command.h"
#include "plan/memory_room.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/output.h"
#include "base/stop.h"
#include "base/text.h"
#include "session/budget.h"
#include "session/session.h"
#include "options/levels.h"
#include "store/capture_reader.h"
#include "verbs/announce.h"
#include "verbs/announce_debug.h"
#include "recording/attachment.h"
#include "recording/frames.h"
#include "verbs/announce_gpu.h"
#include "recording/gpu_config.h"
#include "recording/kernels.h"
#include "recording/settings.h"
#include "verbs/outputs.h"
#include "verbs/progress.h"
#include "verbs/record_summary.h"
#include "verbs/open/open.h"
#include "verbs/verbs.h"

#define CAPTURE_NAME_ATTEMPTS 1000

struct recording {
	const struct options *options;
	struct command command;
	struct agent_launch launch;
	bool launches;	      /* an agent with the command */
	struct err no_launch; /* why there is none, though one is wanted */
	struct attachment attachment;
	struct agents_config agents;
	int refuse_result; /* of noting whose agents failed */
	struct text what;  /* "redis-server (4242)" */
	char *capture_path;
	struct output_file capture;
	struct err publish_err;
	bool capture_asked; /* the user wants the capture itself */
	struct progress progress;
	bool price_told, children_told;
	struct session_result result;
};

/* ---- before anything is touched ---- */

/* Beside the first output, so that it lies where there is room; under a name of its own otherwise.
 * The attempts differ in their names. */
static char *name_capture(const struct recording *recording, int attempt)
{
	const struct options *options = recording->options;
	char *path = NULL, date[32], end[24] = ".gpr";
	time_t now = time(NULL);
	struct tm broken_down;
	int length;

	if (attempt)
		snprintf(end, sizeof(end), ".%d.gpr", attempt + 1);
	for (size_t i = 0; i < options->outputs.count; i++) {
		path = outputs_name_beside(options, options->outputs.items[i], end);
		if (path)
			return path;
	}
	strftime(date, sizeof(date), "%Y%m%d-%H%M%S", localtime_r(&now, &broken_down));
	length = asprintf(&path, "gpuprobe-%u-%s%s", recording->attachment.targets[0].pid, date,
			  end);
	return length < 0 ? NULL : path;
}

/* Only a capture that the user names may replace another: one of the same name that the user did
 * not name may be all that is left of a recording. */
static int open_capture(struct recording *recording, struct err *err)
{
	const char *asked = outputs_capture_path(recording->options);
	int result = -EEXIST;

	recording->capture_asked = !recording->options->outputs.count || asked;
	for (int attempt = 0; result == -EEXIST && attempt < CAPTURE_NAME_ATTEMPTS; attempt++) {
		free(recording->capture_path);
		recording->capture_path = asked ? strdup(asked) : name_capture(recording, attempt);
		if (!recording->capture_path)
			return err_errno(err, -ENOMEM, "can't name the capture");
		result = output_file_open(recording->capture_path, asked, &recording->capture, err);
	}
	return result;
}

/* Why the first of the processes that use CUDA gets no agent. */
static const char *why_no_agent(const struct gpu_fallback *gpu)
{
	for (size_t i = 0; i < gpu->target_count; i++)
		if (gpu->refused[i])
			return gpu->refused[i];
	return "it has ended";
}

/* Do processes get agents that start CUDA later? */
static bool may_follow(const struct recording *recording)
{
	const struct options *options = recording->options;

	return gpu_config_wants_agent(options) &&
	       (options->children || recording->attachment.gpu.later_count);
}

static int check_something_to_record(const struct recording *recording, struct err *err)
{
	const struct plan *plan = recording->attachment.plan;
	const struct gpu_fallback *gpu = &recording->attachment.gpu;

	if (plan->function_count || plan->usdt_count || recording->attachment.heap_plan ||
	    recording->launches || gpu->cuda_count > gpu->refused_count || may_follow(recording))
		return 0;
	if (!attachment_names_probes(recording->options) &&
	    (levels_wants_blocking(recording->options) ||
	     levels_wants_samples(recording->options) ||
	     attachment_wants_growth(&recording->attachment, recording->options)))
		return 0;
	if (!attachment_names_probes(recording->options) && gpu->cuda_count)
		return err_set(err, -EINVAL,
			       "nothing to record: no functions are named, host_tracer_level is "
			       "%llu, which records no API calls, and there is no agent for the "
			       "GPU side: %s",
			       (unsigned long long)recording->options->host_tracer_level,
			       why_no_agent(gpu));
	if (!attachment_names_probes(recording->options))
		return err_set(
			err, -EINVAL,
			"nothing to record: no process uses CUDA, and no functions are named, "
			"e.g. -F 'main' or -F 'libfoo.so:foo_*' (gpuprobe check -p PID lists "
			"the files that a process maps)");
	return err_set(err, -ENOENT,
		       "nothing to record: of %zu functions that match none can be probed. %s: %s",
		       plan->skipped_count, plan->skipped_count ? plan->skipped[0].name : "",
		       plan->skipped_count ? plan->skipped[0].reason : "");
}

static int start_command(struct recording *recording, struct err *err)
{
	const struct options *options = recording->options;

	if (gpu_config_wants_agent(options)) {
		recording->launches = !agent_launch_open(gpu_config_shared_bytes(options),
							 &recording->launch, &recording->no_launch);
		if (!recording->launches)
			log_warning("GPU times are missing: %s", recording->no_launch.message);
	}
	return command_start(options->command, recording->launches ? agent_launch_in_child : NULL,
			     &recording->launch, &recording->command, err);
}

/* What --cupti names must be there before the command runs. */
static int check_named_cupti(const struct recording *recording, struct err *err)
{
	const struct attachment *attachment = &recording->attachment;
	const struct target *target = &attachment->targets[recording->options->pids.count];
	struct cupti_supply supply;
	struct gpu_target gpu;
	int result = gpu_target_read(target, &gpu, err);

	return result ? result
		      : cupti_supply_choose(target, &gpu, recording->options->cupti, "/", &supply,
					    err);
}

/* Its API calls are recorded by probes, as far as the driver is mapped before it runs. */
static int plan_without_launch(struct recording *recording, struct err *err)
{
	struct attachment *attachment = &recording->attachment;
	int result = 0;

	for (size_t i = 0; i < attachment->target_count && !result; i++)
		if (attachment->targets[i].pid == (u32)recording->command.pid)
			result =
				gpu_fallback_refuse(recording->options, i,
						    recording->no_launch.message, &attachment->gpu);
	if (result)
		return err_errno(err, result, "can't plan the probes");
	return attachment_plan_anew(recording->options, attachment, err);
}

static int check_plan(const struct recording *recording, struct err *err)
{
	const struct attachment *attachment = &recording->attachment;
	int result = check_something_to_record(recording, err);

	if (!result)
		result = memory_room_check(attachment->plan, attachment->targets,
					   attachment->target_count, err);
	if (!result && attachment->heap_plan)
		result = memory_room_check(attachment->heap_plan, attachment->targets,
					   attachment->target_count, err);
	return result;
}

/* -F means the functions of the command's own program, and that of "env A=1 ./p" is env. */
static int say_what_command_executes(const struct options *options, struct err *err)
{
	const char *other = options->command ? command_program_among(options->command) : NULL;

	if (!other)
		return err->code;
	return err_set(err, err->code,
		       "%s The program that is recorded is %s; if that executes %s, start it "
		       "alone: -- %s (it has gpuprobe's environment: sudo env NAME=VALUE gpuprobe)",
		       err->message, options->command[0], other, other);
}

static int prepare(struct recording *recording, struct err *err)
{
	const struct options *options = recording->options;
	int result = privileges_check(err);

	if (!result && options->command)
		result = start_command(recording, err);
	if (!result)
		result = attachment_plan(options, recording->command.pid, &recording->attachment,
					 err);
	if (result == -ENOENT)
		result = say_what_command_executes(options, err);
	if (!result && recording->launches && options->cupti)
		result = check_named_cupti(recording, err);
	if (!result && recording->no_launch.code)
		result = plan_without_launch(recording, err);
	if (!result)
		result = check_plan(recording, err);
	if (!result)
		result = open_capture(recording, err);
	return result;
}

/* ---- recording ---- */

/* Without an agent that was to be put in the recording is another one, or none: there are probes that take its place,
 * or it was all that there was to record. */
static bool needs_agents(const struct recording *recording)
{
	return !recording->launches && (levels_has(recording->options, LEVEL_api_functions) ||
					(!plan_told_count(recording->attachment.plan) &&
					 !recording->attachment.plan->usdt_count));
}

/* Their reasons, before letting go of them adds others. */
static int refuse_failed(struct recording *recording, const struct agents *agents)
{
	int result = 0;

	for (size_t i = 0; i < agents_count(agents) && !result; i++) {
		const struct agent_report *report = agents_report(agents, i);
		_cleanup_text_ struct text why = {0};

		if (!agent_report_failed(report))
			continue;
		announce_gpu_append_failure(report, &why);
		result = gpu_fallback_refuse(recording->options, i, text_string(&why),
					     &recording->attachment.gpu);
	}
	return result;
}

/* From here on the capture is worth its name. */
static void on_window_open(void *data, const struct session_status *status)
{
	struct recording *recording = data;

	output_file_publish(&recording->capture, &recording->publish_err);
	announce_window(status);
	progress_window_open(&recording->progress, status);
}

static void on_slow_agent(void *data, const struct target *target, const char *what, u64 left_ns)
{
	(void)data;
	announce_gpu_waits(target, what, left_ns);
}

/* Where one failed the recording begins anew, without these: then is the time to speak. */
static void on_agents(void *data, const struct agents *agents, bool ends)
{
	struct recording *recording = data;

	if (ends)
		recording->refuse_result = refuse_failed(recording, agents);
	else
		announce_gpu_agents(agents);
}

static void on_tick(void *data, const struct session_status *status)
{
	struct recording *recording = data;

	if (!recording->price_told && !recording->options->max_overhead &&
	    status->recent_percent > BUDGET_OF_LEVELS_PERCENT) {
		recording->price_told = true;
		progress_end(&recording->progress);
		announce_price(status);
	}
	progress_tick(&recording->progress, status);
}

static void on_switched_off(void *data, const char *name, bool is_plural, u64 elapsed_ns,
			    double percent)
{
	struct recording *recording = data;

	progress_end(&recording->progress);
	announce_switched_off(name, is_plural, elapsed_ns, percent);
}

static void on_sampled(void *data, const char *name, u32 per_second, u64 elapsed_ns, double percent)
{
	struct recording *recording = data;

	progress_end(&recording->progress);
	announce_sampled(name, per_second, elapsed_ns, percent);
}

static void on_code_changed(void *data, const char *name, size_t others, u32 pid, const char *why,
			    u64 elapsed_ns)
{
	struct recording *recording = data;

	progress_end(&recording->progress);
	announce_code_changed(name, others, pid, why, elapsed_ns);
}

static void on_python_refused(void *data, const char *why)
{
	struct recording *recording = data;

	progress_end(&recording->progress);
	announce_python_refused(why);
}

static void on_detach(void *data, size_t links_left)
{
	progress_detach(&((struct recording *)data)->progress, links_left);
}

static int on_stacks(void *data, const struct stack_addresses *stacks, const struct code_map *code,
		     const struct python_codes *python, struct text_ids *texts, struct batch *batch)
{
	const struct recording *recording = data;
	const struct frames_config config = {.keeps_debug_files =
						     !recording->options->no_code_cache,
					     .on_debug_files_asked = announce_debug_asked};
	struct resolve_debug_status debug = {0};
	int result = frames_put(&config, stacks, code, python, texts, batch, &debug);

	announce_debug_files(&debug);
	return result;
}

static int on_kernels(void *data, const struct kernel_texts *kernels, const struct code_map *code,
		      struct text_ids *texts, struct batch *batch)
{
	(void)data;
	return kernels_put(kernels, code, texts, batch);
}

static int run_session(struct recording *recording, struct err *err)
{
	const struct options *options = recording->options;
	const struct attachment *attachment = &recording->attachment;
	struct recording_settings settings;
	struct session_config config = {
		.settings = &settings,
		.abilities = &attachment->abilities,
		.targets = attachment->targets,
		.target_count = attachment->target_count,
		.plan = attachment->plan,
		.command = options->command ? &recording->command : NULL,
		.heap_plan = attachment->heap_plan,
		.single_probes = attachment->single_probes,
		.capture_fd = recording->capture.fd,
		.keeps_unwind_tables = !options->no_code_cache,
		.agents = attachment->gpu.cuda_count || recording->launches || may_follow(recording)
				  ? &recording->agents
				  : NULL,
		.agents_needed = needs_agents(recording),
		.on_slow_agent = on_slow_agent,
		.on_agents = on_agents,
		.on_window_open = on_window_open,
		.on_tick = on_tick,
		.on_detach = on_detach,
		.on_stacks = on_stacks,
		.on_kernels = on_kernels,
		.on_switched_off = on_switched_off,
		.on_sampled = on_sampled,
		.on_code_changed = on_code_changed,
		.on_python_refused = on_python_refused,
		.callback_data = recording,
	};
	int result = recording_settings_make(options, attachment, &settings, err);

	gpu_config_agents(options, attachment, &recording->agents);
	if (recording->launches) {
		recording->agents.launch = &recording->launch;
		recording->agents.launch_pid = recording->command.pid;
		recording->agents.follow = true;
	}
	progress_init(&recording->progress, text_string(&recording->what),
		      attachment->single_probes);
	if (!result)
		result = session_run(&config, &recording->result, err);
	recording_settings_free(&settings);
	progress_end(&recording->progress);
	if (recording->result.window_opened) {
		announce_result(&recording->attachment, &recording->result);
		announce_gpu_none(&recording->attachment, options, recording->result.agents);
		announce_children(&recording->attachment, options, &recording->children_told);
	}
	return result;
}

/* Processes whose agents failed are recorded by what is probed instead of them. */
static int plan_without_failed(struct recording *recording, struct err *err)
{
	int result = recording->refuse_result;

	if (result)
		return err_errno(err, result, "can't go on without an agent");
	result = attachment_plan_anew(recording->options, &recording->attachment, err);
	return result ? result : check_plan(recording, err);
}

/* Each time one more target is left without an agent. A signal that comes between two of them ends the next one. */
static int run_sessions(struct recording *recording, struct err *err)
{
	sigset_t signals, before;
	int result;

	session_signals(&signals);
	sigprocmask(SIG_BLOCK, &signals, &before);
	result = run_session(recording, err);

	while (recording->result.agents_failed) {
		result = plan_without_failed(recording, err);
		recording->result.agents = agents_free(recording->result.agents);
		recording->result.agents_failed = false;
		if (result)
			break;
		if (plan_told_count(recording->attachment.plan) ||
		    recording->attachment.plan->usdt_count)
			announce_summary(&recording->attachment);
		result = run_session(recording, err);
	}
	/* It was obeyed, or there is nothing left for it to end. */
	while (sigtimedwait(&signals, NULL, &(struct timespec){0}) > 0)
		;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return result;
}

/* ---- afterwards ---- */

/* Outputs and summary from the capture. Says what is wrong. */
static int write_outputs(struct recording *recording)
{
	const struct options *options = recording->options;
	struct capture_reader *reader = NULL;
	struct err err = {0};
	int result = capture_reader_open(recording->capture.fd, &reader, &err), summary_result = 0;

	if (result) {
		log_error("%s: %s", recording->capture_path, err.message);
		return result;
	}
	if (!options->quiet)
		summary_result = record_summary_write(reader, options, recording->capture_path,
						      recording->capture_asked);
	result = outputs_write(reader, recording->capture.fd, recording->capture_path, options);
	capture_reader_free(reader);
	return result ? result : summary_result;
}

/* It could not be given its name: it stays under the one that it was made with. */
static int keep_unpublished(struct recording *recording)
{
	struct output_file *capture = &recording->capture;
	const char *path = recording->capture_path, *slash = strrchr(path, '/');
	char *kept = NULL;

	log_error("%s", recording->publish_err.message);
	if (asprintf(&kept, "%.*s%s", slash ? (int)(slash - path + 1) : 0, path,
		     capture->temporary) < 0)
		return -ENOMEM;
	free(recording->capture_path);
	recording->capture_path = kept;
	capture->published = true;
	return recording->publish_err.code;
}

/* The capture goes when all that was asked for has been written. */
static int finish(struct recording *recording, int session_result, const struct err *session_err)
{
	int result = 0, outputs_result;

	if (session_result)
		log_error("%s", session_err->message);
	if (!recording->result.window_opened)
		return EXIT_FAILURE;
	if (!recording->capture.published)
		result = keep_unpublished(recording);
	stop_install();
	outputs_result = write_outputs(recording);
	if (session_result || result || outputs_result) {
		log_error("the capture is kept: %s (gpuprobe export %s -o FILE)",
			  recording->capture_path, recording->capture_path);
		return EXIT_FAILURE;
	}
	if (recording->capture_asked)
		log_info("wrote %s: gpuprobe export %s -o FILE", recording->capture_path,
			 recording->capture_path);
	else
		unlink(recording->capture_path);
	return EXIT_SUCCESS;
}

int verb_record(const struct options *options)
{
	struct recording recording = {
		.options = options, .capture.fd = -1, .launch = {-1, -1, -1, -1, 0}};
	struct err err = {0};
	int result, exit_code = EXIT_FAILURE;

	result = outputs_check(options, &err);
	if (!result)
		result = open_check(options, &err);
	if (result) {
		log_error("%s", err.message);
		return result == -EINVAL ? EXIT_USAGE : EXIT_FAILURE;
	}
	/* Whoever reads what we say may leave: the recording goes on. */
	signal(SIGPIPE, SIG_IGN);
	result = prepare(&recording, &err);
	if (result) {
		log_error("%s", err.message);
	} else {
		announce_plan(&recording.attachment, options);
		announce_children(&recording.attachment, options, &recording.children_told);
		attachment_append_targets(&recording.attachment, &recording.what);
		if (options->children)
			text_append(&recording.what, " and its children");
		result = run_sessions(&recording, &err);
		/* A later attempt may have found nothing to plan, since the target has ended. */
		if (recording.attachment.plan)
			announce_libraries(recording.attachment.plan);
		exit_code = finish(&recording, result, &err);
		if (options->opens && exit_code == EXIT_SUCCESS)
			exit_code = open_outputs(options);
	}
	if (!recording.result.window_opened)
		command_abandon(&recording.command);
	if (recording.command.pid && exit_code == EXIT_SUCCESS)
		exit_code = command_wait(&recording.command);
	agents_free(recording.result.agents);
	agent_launch_close(&recording.launch);
	attachment_free(&recording.attachment);
	text_free(&recording.what);
	free(recording.capture_path);
	output_file_close(&recording.capture);
	return exit_code;
}
