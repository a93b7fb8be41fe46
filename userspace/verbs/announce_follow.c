/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verbs/announce_follow.h"

#include <string.h>

#include "../bpf/record.h"
#include "probe/uprobe.h"
#include "base/log.h"

/* Probes that are put in for each process by its number. */
struct by_process {
	size_t functions; /* and USDT probes */
	size_t single; /* of them in files that a target without its first thread maps: single ones */
	const char *file; /* one of these */
};

static struct by_process count_by_process(const struct attachment *attachment)
{
	struct by_process count = {0};

	for (size_t i = 0; i < attachment->plan->function_count; i++) {
		const struct plan_function *function = &attachment->plan->functions[i];
		const struct code_module *module = &attachment->plan->modules[function->module];

		if (module->reaches_all || function->returns == VALUE_returns_session ||
		    !plan_is_told(attachment->plan, function))
			continue;
		count.functions++;
		count.single += module->by_thread ? 1 + function->site_count : 0;
		count.file = module->path;
	}
	for (size_t i = 0; i < attachment->plan->usdt_count; i++) {
		const struct plan_usdt *usdt = &attachment->plan->usdt[i];
		const struct code_module *module = &attachment->plan->modules[usdt->module];

		if (module->reaches_all)
			continue;
		count.functions++;
		count.single += module->by_thread ? usdt->site_count : 0;
		count.file = module->path;
	}
	return count;
}

static void append_first_threads(struct text *text, const struct attachment *attachment,
				 const struct by_process *count)
{
	for (size_t i = 0; i < attachment->target_count; i++) {
		const struct target *target = &attachment->targets[i];

		if (!target->first_thread_ended)
			continue;
		text_append_terminal(text, target->comm, strlen(target->comm));
		text_appendf(text, " (%u): its first thread has ended", target->pid);
		if (count->single)
			text_appendf(text,
				     ": %zu single probes, named by its thread %u, in files that "
				     "other processes map too; about %.1f s to take them out",
				     count->single, target->thread,
				     count->single * UPROBE_SINGLE_DETACH_SECONDS);
		text_append_char(text, '\n');
	}
}

static void append_children(struct text *text, const struct attachment *attachment,
			    const struct by_process *count)
{
	const struct plan *plan = attachment->plan;

	size_t told = plan_told_count(plan);

	if (!told && !plan->usdt_count)
		return;
	text_append(text, "children: ");
	if (!count->functions) {
		text_append(text, "recorded from their first call\n");
		return;
	}
	text_appendf(text,
		     "%zu of %zu %s are recorded in a child only from some milliseconds "
		     "after its fork on: other processes map the file (",
		     count->functions, told + plan->usdt_count,
		     plan->usdt_count ? "probes" : "functions");
	text_append_terminal(text, count->file, strlen(count->file));
	text_append(text, ")\n");
}

void announce_follow_append_plan(struct text *text, const struct attachment *attachment,
				 const struct options *options)
{
	struct by_process count = count_by_process(attachment);

	append_first_threads(text, attachment, &count);
	if (options->children)
		append_children(text, attachment, &count);
	if (attachment->refused_count)
		text_appendf(text, "%zu descendants are left out: %s\n", attachment->refused_count,
			     attachment->refused_err.message);
}

void announce_follow_plan(const struct attachment *attachment, const struct options *options)
{
	_cleanup_text_ struct text text = {0};
	char *line, *rest;

	announce_follow_append_plan(&text, attachment, options);
	if (!text.length)
		return;
	for (rest = text.data; (line = strsep(&rest, "\n"));)
		if (*line)
			log_info("%s", line);
}

static void say_unseen_children(const struct session_status *status)
{
	_cleanup_text_ struct text price = {0};

	if (status->inherited_ns)
		text_appendf(&price, ", about %.1f us for each call of a probed function",
			     (double)status->inherited_ns / 1e3);
	log_warning("%llu forked children carry the probes too and pay for them without "
		    "being seen%s (--children records them)",
		    (unsigned long long)status->unseen_children, text_string(&price));
}

void announce_follow_result(const struct attachment *attachment,
			    const struct session_status *status)
{
	const struct processes_status *processes = &status->processes;

	/* Out of a process that is not meant the kernel takes a single probe at its first hit. */
	if (status->unseen_children && !attachment->single_probes &&
	    plan_told_count(attachment->plan) + attachment->plan->usdt_count)
		say_unseen_children(status);
	if (processes->child_gap_count)
		log_warning("%llu children were recorded in files that other processes map too "
			    "only from some time after their fork on, at most %.1f ms",
			    (unsigned long long)processes->child_gap_count,
			    processes->child_gap_max_ns / 1e6);
	if (processes->child_ended_count)
		log_warning("%llu children ended before they could be recorded in files that other "
			    "processes map too",
			    (unsigned long long)processes->child_ended_count);
	if (status->refused_children + processes->child_failed_count)
		log_warning("%llu children could not be followed",
			    (unsigned long long)status->refused_children +
				    processes->child_failed_count);
	if (processes->thread_end_count)
		log_warning(
			"the thread that named single probes ended %llu times: calls of at most "
			"%.1f ms after it were missed",
			(unsigned long long)processes->thread_end_count,
			processes->thread_gap_max_ns / 1e6);
	if (processes->unheld_count)
		log_warning("a first thread ended: other tracers that were detached from the same "
			    "functions since may have taken %llu probes along, and their calls",
			    (unsigned long long)processes->unheld_count);
	if (status->links_left)
		log_warning("the kernel is still taking %zu groups of probes off: process %u "
			    "(gpuprobe-undo) waits for it and ends then. The capture is complete; "
			    "until then calls of the probed functions go on costing the target",
			    status->links_left, status->guardian_pid);
	if (status->open_returns.left_count || status->open_returns.left_error)
		log_warning("the return addresses of calls that are still open could not be put "
			    "back in %llu threads (%s): an exception through such a call ends the "
			    "target",
			    (unsigned long long)status->open_returns.left_count,
			    strerror(-status->open_returns.left_error));
}
