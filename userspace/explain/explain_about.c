/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the processes are. */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "explain/explain_parts.h"

static const struct {
	const char *prefix, *name;
} frameworks[] = {
#define FRAMEWORK(prefix, name) {prefix, name},
#include "explain/frameworks.def"
};

static bool has_module(const struct view *view, u32 pid, const char *prefix)
{
	size_t count;
	const struct record_header *const *modules = view_facts(view, KIND_module, &count);

	for (size_t i = 0; i < count; i++) {
		const char *path = view_text(view, modules[i]->name), *slash;

		if (modules[i]->pid != pid || !path)
			continue;
		slash = strrchr(path, '/');
		if (!strncmp(slash ? slash + 1 : path, prefix, strlen(prefix)))
			return true;
	}
	return false;
}

/* The first two that it has: what is above the interpreter. */
static void find_frameworks(const struct view *view, struct explain_process *process)
{
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(frameworks) && count < EXPLAIN_FRAMEWORKS_MAX; i++)
		if ((!count || strcmp(process->frameworks[count - 1], frameworks[i].name) != 0) &&
		    has_module(view, process->pid, frameworks[i].prefix))
			process->frameworks[count++] = frameworks[i].name;
}

static const char *attribute_of(const struct view *view, u32 pid, const char *group,
				const char *key)
{
	char name[80];

	snprintf(name, sizeof(name), "%s of %u", key, pid);
	return view_attribute(view, group, name);
}

static struct explain_process read_process(const struct view *view, u32 pid, const char *name)
{
	struct explain_process process = {
		.pid = pid,
		.name = name,
		.rank = attribute_of(view, pid, "target", "rank"),
		.cuda = attribute_of(view, pid, "gpu", "CUDA version of the driver"),
		.driver = attribute_of(view, pid, "gpu", "driver"),
	};

	find_frameworks(view, &process);
	return process;
}

static void append_name(const struct explain_process *process, struct text *text)
{
	text_append_terminal(text, process->name, strlen(process->name));
	text_appendf(text, " (%u)", process->pid);
}

static void append_known(const char *words, const char *value, struct text *text)
{
	if (!value)
		return;
	text_append(text, words);
	text_append_terminal(text, value, strlen(value));
}

void explain_process_append(const struct explain_process *process, struct text *text)
{
	append_name(process, text);
	for (size_t i = 0; i < EXPLAIN_FRAMEWORKS_MAX && process->frameworks[i]; i++)
		text_appendf(text, "%s%s", i ? ", " : ": ", process->frameworks[i]);
	append_known(", rank ", process->rank, text);
	append_known(", CUDA ", process->cuda, text);
	append_known(", driver ", process->driver, text);
}

void explain_process_append_short(const struct explain *explain, u32 pid, struct text *text)
{
	const struct view_survey *survey = explain->survey;
	struct explain_process process;
	const char *name = "process";

	for (size_t i = 0; i < survey->row_count; i++)
		if (survey->rows[i].pid == pid && survey->rows[i].process_name)
			name = survey->rows[i].process_name;
	process = read_process(explain->view, pid, name);
	append_name(&process, text);
	append_known(", rank ", process.rank, text);
}

bool explain_process_is_recorded(const struct explain *explain, u32 pid)
{
	return attribute_of(explain->view, pid, "gpu", "CUPTI version");
}

bool explain_gpu_is_recorded(const struct explain *explain)
{
	const struct view_survey *survey = explain->survey;

	for (size_t i = 0; i < survey->row_count; i++)
		if (explain_process_is_recorded(explain, survey->rows[i].pid))
			return true;
	return false;
}

static bool is_told_of(const struct view_survey *survey, size_t row)
{
	for (size_t i = 0; i < row; i++)
		if (survey->rows[i].pid == survey->rows[row].pid)
			return true;
	return false;
}

/* Processes that use a GPU; where there is none, all. */
static bool has_gpu_row(const struct view_survey *survey, u32 pid)
{
	for (size_t i = 0; i < survey->row_count; i++)
		if (survey->rows[i].pid == pid && survey->rows[i].type == ROW_STREAM)
			return true;
	return false;
}

size_t explain_processes(const struct explain *explain,
			 struct explain_process ret_processes[EXPLAIN_PROCESSES_MAX])
{
	const struct view_survey *survey = explain->survey;
	size_t count = 0;

	for (size_t i = 0; i < survey->row_count; i++) {
		const struct view_row *row = &survey->rows[i];

		if (!row->pid || is_told_of(survey, i) ||
		    (explain->has_gpu && !has_gpu_row(survey, row->pid)))
			continue;
		if (count < EXPLAIN_PROCESSES_MAX)
			ret_processes[count] =
				read_process(explain->view, row->pid, row->process_name);
		count++;
	}
	return count;
}
