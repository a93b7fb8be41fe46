/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verbs/announce.h"

#include <string.h>

#include "plan/plan_usdt.h"
#include "probe/uprobe.h"
#include "process/cgroup.h"
#include "process/descendants.h"
#include "process/proc_file.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/price.h"
#include "base/text.h"
#include "options/levels.h"
#include "verbs/announce_follow.h"
#include "verbs/announce_gpu.h"
#include "verbs/announce_heap.h"

/* The most frequent reason for which only entries are recorded, and who keeps us from the better way. */
static void say_entries_only(const struct plan *plan, const struct options *options)
{
	size_t by_reason[256] = {0}, total = 0, most = 0;
	const struct plan_function *example = NULL;
	const struct schema_enum_value *reason;
	const struct code_module *module;

	for (size_t i = 0; i < plan->function_count; i++) {
		const struct plan_function *function = &plan->functions[i];

		if (!function->entry_only_reason || function->launch_only)
			continue;
		total++;
		if (++by_reason[function->entry_only_reason] > most) {
			most = by_reason[function->entry_only_reason];
			example = function;
		}
	}
	if (!example)
		return;
	reason = schema_enum("entry_only_reason", example->entry_only_reason);
	log_warning("%zu of %zu functions without durations (entries only), most because %s%s%s%s",
		    total, plan_told_count(plan), reason ? reason->meaning : "?",
		    example->detail ? " (" : "", example->detail ? example->detail : "",
		    example->detail ? ")" : "");
	module = &plan->modules[example->module];
	if (module->shared_with_others && options->returns_mode == CHOICE_returns_mode_auto &&
	    example->entry_only_reason != VALUE_entry_only_reason_shared_file) {
		char comm[16];

		proc_comm(module->shared_with_pid, comm);
		log_info("return addresses are not taken there, since %s (%u), which is not "
			 "recorded, maps %s too",
			 comm, module->shared_with_pid, module->path);
	}
}

/* Functions that allocate memory whose results nobody will see. */
static void say_unseen_memory(const struct plan *plan)
{
	const struct plan_function *example = NULL;
	size_t count = 0;

	for (size_t i = 0; i < plan->function_count; i++) {
		if (!plan->functions[i].allocator || plan_sees_results(&plan->functions[i]))
			continue;
		example = &plan->functions[i];
		count++;
	}
	if (count)
		log_warning(
			"GPU memory by %zu function%s is not counted, unless inside another one "
			"that is: what they return is not seen (%s)",
			count, count == 1 ? "" : "s", example->name);
}

/* Children that nobody asked for: a data loader's workers are where much of a step goes. Without memory, or a /proc that can't be
 * read, nothing is said. */
void announce_children(const struct attachment *attachment, const struct options *options,
		       bool *told)
{
	for (size_t i = 0; i < attachment->target_count && !options->children && !*told; i++) {
		const struct target *target = &attachment->targets[i];
		_cleanup_free_ u32 *children = NULL;
		size_t count = 0, others = 0;

		if (descendants_list(&target->pid, 1, &children, &count, NULL) < 0)
			continue;
		for (size_t j = 0; j < count; j++)
			others += !target_find(attachment->targets, attachment->target_count,
					       children[j]);
		if (!others)
			continue;
		*told = true;
		log_info("%s (%u) has %zu child process%s not recorded (--children records "
			 "descendants too)",
			 target->comm, target->pid, others,
			 others == 1 ? " that is" : "es that are");
	}
}

#define SKIPPED_SHOWN 3

/* Matches that are not probed: all of a few, else where to look. */
static void say_skipped(const struct plan *plan)
{
	if (plan->skipped_count > SKIPPED_SHOWN)
		log_info("%zu matches are not probed: gpuprobe check shows why",
			 plan->skipped_count);
	for (size_t i = 0; i < plan->skipped_count && plan->skipped_count <= SKIPPED_SHOWN; i++)
		log_warning("%s is not probed: %s", plan->skipped[i].name, plan->skipped[i].reason);
}

void announce_libraries(const struct plan *plan)
{
	for (size_t i = 0; i < plan->library_count; i++) {
		_cleanup_text_ struct text line = {0};

		plan_library_tell(plan, &plan->libraries[i], &line);
		if (plan->libraries[i].verdict == CUBLASLT_OTHER)
			log_warning("%s", text_string(&line));
		else if (plan->libraries[i].verdict == CUBLASLT_UNTRIED)
			log_info("%s", text_string(&line));
	}
}

void announce_summary(const struct attachment *attachment)
{
	_cleanup_text_ struct text line = {0};

	attachment_summary(attachment, &line);
	log_info("%s", text_string(&line));
}

static void announce_still(const struct target *target)
{
	if (target_is_stopped(target))
		log_warning("%s (%u) is stopped (SIGSTOP): it calls nothing until it goes on",
			    target->comm, target->pid);
	else if (cgroup_is_frozen(target->pid))
		log_warning("%s (%u) is frozen by its cgroup (docker pause, systemctl freeze): it "
			    "calls nothing until that is over",
			    target->comm, target->pid);
}

void announce_plan(const struct attachment *attachment, const struct options *options)
{
	const struct plan *plan = attachment->plan;
	size_t told = plan_told_count(plan), probes = told;

	for (size_t i = 0; i < plan->function_count; i++)
		probes += plan->functions[i].site_count;
	probes += plan_usdt_sites(plan);
	if (options->functions.count || options->count_functions.count || told || plan->usdt_count)
		announce_summary(attachment);
	say_skipped(plan);
	say_entries_only(plan, options);
	say_unseen_memory(plan);
	announce_heap_plan(attachment, options);
	if (options->returns_mode == CHOICE_returns_mode_trampoline)
		log_warning(
			"--returns trampoline: the target dies if it throws an exception, switches "
			"stacks or handles a signal on another stack through a probed function");
	if (attachment->single_probes)
		log_warning("without uprobe_multi each probe takes about %.1f s to take out: about "
			    "%.1f s for %zu at the end",
			    UPROBE_SINGLE_DETACH_SECONDS,
			    probes * UPROBE_SINGLE_DETACH_SECONDS * attachment->target_count,
			    probes);
	if (levels_alloc_mode(options) >= CHOICE_alloc_mode_growth &&
	    !attachment_wants_growth(attachment, options))
		log_warning("how memory grows is not recorded: this kernel (%s) does not have the "
			    "tracepoints",
			    attachment->abilities.release);
	announce_follow_plan(attachment, options);
	for (size_t i = 0; i < attachment->target_count; i++)
		announce_still(&attachment->targets[i]);
}

void announce_window(const struct session_status *status)
{
	if (status->walks_refused)
		log_warning(
			"this kernel refuses the programs that walk stacks by unwind tables (-v "
			"shows why): stacks follow frame pointers, and end in code without");
}

void announce_python_refused(const char *why)
{
	log_warning("no functions of Python are in stacks of %s", why);
}

/*
 * "about 12.3 % of the targets' CPU time". Prices are those of a moment in which nothing else ran: an estimate by them may come to more than
 * there was.
 */
static void append_share(struct text *line, int decimals, double percent, const char *whose)
{
	if (percent < 100)
		text_appendf(line, "about %.*f %% of %s CPU time", decimals, percent, whose);
	else
		text_appendf(line, "nearly all of %s CPU time (%.*f %% by an estimate)", whose,
			     decimals, percent);
}

void announce_price(const struct session_status *status)
{
	const char *name = status->dearest_name ? status->dearest_name : "?";
	_cleanup_text_ struct text line = {0};

	text_append(&line, "recording takes ");
	append_share(&line, 0, status->recent_percent, "the targets'");
	text_append(&line, ", ");
	text_append_terminal(&line, name, strlen(name));
	log_warning("%s most of it: %.0f %% (--max-overhead switches off what costs too much, "
		    "--count only counts calls)",
		    text_string(&line), status->dearest_percent);
}

void announce_switched_off(const char *name, bool is_plural, u64 elapsed_ns, double percent)
{
	_cleanup_text_ struct text line = {0};

	text_append_terminal(&line, name, strlen(name));
	text_appendf(&line, " %s not recorded from %.1f s on: %s took ", is_plural ? "are" : "is",
		     (double)elapsed_ns / 1e9, is_plural ? "they" : "it");
	append_share(&line, 1, percent, "the targets'");
	log_warning("%s", text_string(&line));
}

void announce_sampled(const char *name, u32 per_second, u64 elapsed_ns, double percent)
{
	_cleanup_text_ struct text line = {0};

	append_share(&line, 1, percent, "the targets'");
	log_info("%s: from %.1f s on about %u a second are taken, by chance: all took %s", name,
		 (double)elapsed_ns / 1e9, per_second, text_string(&line));
}

void announce_code_changed(const char *name, size_t others, u32 pid, const char *why,
			   u64 elapsed_ns)
{
	_cleanup_text_ struct text shown = {0};

	text_append_terminal(&shown, name, strlen(name));
	if (others)
		text_appendf(&shown, " and %zu more", others);
	if (why)
		log_warning("%s: not recorded from %.3f s on, in process %u %s",
			    text_string(&shown), (double)elapsed_ns / 1e9, pid, why);
	else
		log_warning("%s: not recorded from %.3f s on, process %u changes its code there",
			    text_string(&shown), (double)elapsed_ns / 1e9, pid);
}

/* What threads beside the targets' own did, on whose CPU time the share is. */
static void append_beside(struct text *line, const struct session_status *status, bool of_little)
{
	double cost_ns = status->beside_percent / 100 * (double)status->cpu_ns;

	if (status->beside_percent < 0)
		return;
	text_append(line, ", ");
	if (of_little)
		price_append_of_one_cpu(line, cost_ns, (double)status->elapsed_ns);
	else
		text_appendf(line, "%.1f %%", status->beside_percent);
	text_append(line, " beside it (agent, CUPTI)");
}

/* What is not in the figure is said beside it. */
static void append_price(struct text *line, const struct session_status *status)
{
	double cost_ns = (double)status->overhead_ns, window_ns = (double)status->elapsed_ns;
	bool of_little = price_is_of_little(status->overhead_percent,
					    price_of_one_cpu_percent(cost_ns, window_ns));

	text_append(line, ", ");
	if (of_little) {
		text_append(line, "about ");
		price_append_of_one_cpu(line, cost_ns, window_ns);
	} else {
		append_share(line, 1, status->overhead_percent, "the target's");
	}
	if (status->kernels_not_priced)
		text_appendf(line, " (%skernels not priced)",
			     status->calls_not_priced ? "CUDA calls and " : "");
	append_beside(line, status, of_little);
}

/* A wait that is open is none that was lost. */
static void append_lost(struct text *line, const struct session_status *status)
{
	if (status->lost_count)
		text_appendf(line, "%llu lost", (unsigned long long)status->lost_count);
	else
		text_append(line, "nothing lost");
	if (status->no_duration_count)
		text_appendf(line, ", %llu call%s without duration",
			     (unsigned long long)status->no_duration_count,
			     status->no_duration_count == 1 ? "" : "s");
	if (status->open_wait_count)
		text_appendf(line, ", %llu wait%s open at the end",
			     (unsigned long long)status->open_wait_count,
			     status->open_wait_count == 1 ? "" : "s");
}

void announce_result(const struct attachment *attachment, const struct session_result *result)
{
	const struct session_status *status = &result->status;
	struct text line = {0};

	text_appendf(&line, "recorded %.1f s: %llu events, ", status->elapsed_ns / 1e9,
		     (unsigned long long)status->event_count);
	append_lost(&line, status);
	if (status->overhead_percent >= 0)
		append_price(&line, status);
	if (result->end == SESSION_TARGETS_ENDED)
		text_append(&line, attachment->target_count == 1 ? " (the target ended)"
								 : " (the targets ended)");
	if (result->end == SESSION_SIGNAL)
		text_append(&line, " (ended by a signal)");
	log_info("%s", text_string(&line));
	if (status->refused_count)
		log_warning("the kernel refused %zu probes", status->refused_count);
	if (status->changes.count)
		log_warning("%zu probe%s left out: %s%s", status->changes.count,
			    status->changes.count == 1 ? " was" : "s were", status->changes.first,
			    status->changes.count == 1 ? "" : "; and others");
	announce_follow_result(attachment, status);
	announce_gpu_result(result->agents);
	text_free(&line);
}
