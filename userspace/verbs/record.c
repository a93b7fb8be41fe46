/* gpuprobe -p PID: plan, record, write, summarize. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attach/command.h"
#include "attach/kernel.h"
#include "attach/plan.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/output.h"
#include "base/text.h"
#include "collect/session.h"
#include "store/capture_reader.h"
#include "verbs/outputs.h"
#include "verbs/plan_limits.h"
#include "verbs/progress.h"
#include "verbs/verbs.h"

struct recording {
	const struct options *options;
	struct kernel_abilities abilities;
	struct plan_limits limits;
	struct target *targets;
	size_t target_count;
	struct command command;
	struct plan *plan;
	struct text what; /* "redis-server (4242)" */
	char *capture_path;
	int capture_fd;
	bool capture_asked; /* the user wants the capture itself */
	struct session_result result;
};

/* ---- before anything is touched ------------------------------------------------------------------------- */

static int check_options(const struct options *options, struct err *err)
{
	if (!options->pids.count && !options->command)
		return err_set(err, -EINVAL, "nothing to record: name a process (-p PID) or a command "
					     "(-- COMMAND ARG...)");
	if (options->pids.count && options->command)
		return err_set(err, -EINVAL, "can't record both -p and a command: use one of them");
	if (!options->functions.count)
		return err_set(err, -EINVAL, "nothing to record: name functions, e.g. -F 'main' or "
					     "-F 'libfoo.so:foo_*' (gpuprobe check -p PID lists the "
					     "files that a process maps)");
	if (options->buffer_mb & (options->buffer_mb - 1))
		return err_set(err, -EINVAL, "--buffer-mb %llu is not a power of two: 1, 2, 4, 8, ...",
			       (unsigned long long)options->buffer_mb);
	return outputs_check(options, err);
}

static int open_targets(struct recording *recording, struct err *err)
{
	const struct options *options = recording->options;
	size_t count = options->command ? 1 : options->pids.count;
	int result = 0;

	recording->targets = calloc(count, sizeof(*recording->targets));
	if (!recording->targets)
		return err_errno(err, -ENOMEM, "can't list the targets");
	if (options->command)
		result = command_start(options->command, &recording->command, err);
	for (size_t i = 0; i < count && !result; i++) {
		u32 pid = options->command ? (u32)recording->command.pid : options->pids.items[i];

		result = target_open(pid, options->command != NULL, &recording->targets[i], err);
		if (result)
			break;
		recording->target_count++;
		text_appendf(&recording->what, "%s%s (%u)", i ? ", " : "",
			     recording->targets[i].comm, pid);
	}
	return result;
}

/* Beside the first output, so that it lies where there is room; under a name of its own otherwise. */
static char *capture_path(const struct recording *recording)
{
	const struct options_list *outputs = &recording->options->outputs;
	char *path = NULL, date[32];
	time_t now = time(NULL);
	struct tm broken_down;

	for (size_t i = 0; i < outputs->count; i++)
		if (outputs_is_capture(outputs->items[i]))
			return strdup(outputs->items[i]);
	if (outputs->count)
		return asprintf(&path, "%s.gpr", outputs->items[0]) < 0 ? NULL : path;
	strftime(date, sizeof(date), "%Y%m%d-%H%M%S", localtime_r(&now, &broken_down));
	return asprintf(&path, "gpuprobe-%u-%s.gpr", recording->targets[0].pid, date) < 0 ? NULL : path;
}

static int open_capture(struct recording *recording, struct err *err)
{
	const struct options_list *outputs = &recording->options->outputs;

	recording->capture_path = capture_path(recording);
	if (!recording->capture_path)
		return err_errno(err, -ENOMEM, "can't name the capture");
	recording->capture_asked = !outputs->count;
	for (size_t i = 0; i < outputs->count; i++)
		recording->capture_asked |= outputs_is_capture(outputs->items[i]);
	return output_open_fd(recording->capture_path, &recording->capture_fd, err);
}

static void say_plan(const struct recording *recording)
{
	const struct plan *plan = recording->plan;
	size_t stepped = 0, entries_only = 0;

	for (size_t i = 0; i < plan->function_count; i++) {
		stepped += plan->functions[i].cost == COST_STEPPED;
		entries_only += plan->functions[i].entry_only_reason != 0;
	}
	log_info("%s: %zu functions match, %zu to probe (%zu cheap, %zu stepped), %zu skipped",
		 text_string(&recording->what), plan->matched_count, plan->function_count,
		 plan->function_count - stepped, stepped, plan->skipped_count);
	if (entries_only)
		log_warning("%zu of %zu functions are recorded without durations (entries only), "
			    "because taking their returns could harm the target: gpuprobe check says why",
			    entries_only, plan->function_count);
	if (recording->limits.single_probes)
		log_warning("without uprobe_multi each of the %zu probes takes about 0.1 s to take out: "
			    "about %.0f s at the end", plan->function_count,
			    plan->function_count * 0.1 * recording->target_count);
}

static int prepare(struct recording *recording, struct err *err)
{
	const struct options *options = recording->options;
	int result = check_options(options, err);

	if (!result)
		result = privileges_check(err);
	if (!result)
		result = kernel_abilities_probe(&recording->abilities, err);
	if (!result)
		result = plan_limits_choose(options, &recording->abilities, &recording->limits, err);
	if (!result)
		result = open_targets(recording, err);
	if (!result)
		result = plan_build(recording->targets, recording->target_count,
				    options->functions.items, options->functions.count,
				    &recording->limits, &recording->plan, err);
	if (!result)
		result = open_capture(recording, err);
	return result;
}

/* ---- recording ---------------------------------------------------------------------------------------------- */

static void say_result(const struct recording *recording)
{
	const struct session_status *status = &recording->result.status;
	struct text line = {0};

	text_appendf(&line, "recorded %.1f s: %llu events, %llu lost", status->elapsed_ns / 1e9,
		     (unsigned long long)status->record_count,
		     (unsigned long long)status->lost_count);
	if (status->no_duration_count)
		text_appendf(&line, ", %llu of them without duration",
			     (unsigned long long)status->no_duration_count);
	if (status->overhead_percent >= 0)
		text_appendf(&line, ", about %.1f %% of the target's CPU time",
			     status->overhead_percent);
	if (recording->result.end == SESSION_TARGETS_ENDED)
		text_append(&line, recording->target_count == 1 ? " (the target ended)" :
								  " (the targets ended)");
	if (recording->result.end == SESSION_SIGNAL)
		text_append(&line, " (ended by a signal)");
	log_info("%s", text_string(&line));
	if (status->refused_count)
		log_warning("the kernel refused %zu probes", status->refused_count);
	text_free(&line);
}

static int run_session(struct recording *recording, struct err *err)
{
	const struct options *options = recording->options;
	struct progress progress;
	struct session_config config = {
		.options = options,
		.abilities = &recording->abilities,
		.targets = recording->targets,
		.target_count = recording->target_count,
		.plan = recording->plan,
		.command = options->command ? &recording->command : NULL,
		.single_probes = recording->limits.single_probes,
		.duration_ns = options->command && !options->given.duration_ns ?
				       0 :
				       options->duration_ns,
		.capture_fd = recording->capture_fd,
		.on_window_open = progress_window_open,
		.on_tick = progress_tick,
		.on_detach = progress_detach,
		.callback_data = &progress,
	};
	int result;

	progress_init(&progress, text_string(&recording->what), recording->limits.single_probes);
	result = session_run(&config, &recording->result, err);
	progress_end(&progress);
	if (recording->result.window_opened)
		say_result(recording);
	return result;
}

/* ---- afterwards --------------------------------------------------------------------------------------------- */

/* Outputs and summary from the capture, which goes when all of them could be written. */
static int write_outputs(struct recording *recording, struct err *err)
{
	struct capture_reader *reader = NULL;
	int result = capture_reader_open(recording->capture_fd, &reader, err);

	if (result)
		return result;
	result = outputs_write(reader, recording->options, err);
	if (!result)
		result = summary_print(reader, recording->options, err);
	capture_reader_free(reader);
	return result;
}

static int finish(struct recording *recording, int session_result, const struct err *session_err)
{
	struct err err = {0};
	int result = 0;

	if (recording->result.window_opened)
		result = write_outputs(recording, &err);
	else
		unlink(recording->capture_path);
	if (session_result)
		log_error("%s", session_err->message);
	if (result)
		log_error("%s", err.message);
	if (!recording->result.window_opened)
		return EXIT_FAILURE;
	if (session_result || result || recording->capture_asked)
		log_info("%s %s: gpuprobe stats %s", session_result || result ? "kept" : "wrote",
			 recording->capture_path, recording->capture_path);
	else
		unlink(recording->capture_path);
	return session_result || result ? EXIT_FAILURE : EXIT_SUCCESS;
}

static void recording_free(struct recording *recording)
{
	for (size_t i = 0; i < recording->target_count; i++)
		target_close(&recording->targets[i]);
	free(recording->targets);
	plan_free(recording->plan);
	text_free(&recording->what);
	free(recording->capture_path);
	cleanup_close(&recording->capture_fd);
}

int verb_record(const struct options *options)
{
	struct recording recording = {.options = options, .capture_fd = -1};
	struct err err = {0};
	int result = prepare(&recording, &err), exit_code;

	if (result) {
		log_error("%s", err.message);
		exit_code = result == -EINVAL ? EXIT_USAGE : EXIT_FAILURE;
		command_abandon(&recording.command);
	} else {
		say_plan(&recording);
		result = run_session(&recording, &err);
		if (!recording.result.window_opened)
			command_abandon(&recording.command);
		exit_code = finish(&recording, result, &err);
	}
	if (recording.command.pid && exit_code == EXIT_SUCCESS)
		exit_code = command_wait(&recording.command);
	recording_free(&recording);
	return exit_code;
}
