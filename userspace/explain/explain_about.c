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
static void append_frameworks(const struct view *view, u32 pid, struct text *text)
{
	const char *named[2] = {NULL};
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(frameworks) && count < ARRAY_SIZE(named); i++) {
		if ((count && !strcmp(named[count - 1], frameworks[i].name)) ||
		    !has_module(view, pid, frameworks[i].prefix))
			continue;
		named[count++] = frameworks[i].name;
		text_appendf(text, "%s%s", count > 1 ? ", " : ": ", frameworks[i].name);
	}
}

static void append_attribute(const struct view *view, u32 pid, const char *group, const char *key,
			     const char *words, struct text *text)
{
	char name[80];
	const char *value;

	snprintf(name, sizeof(name), "%s of %u", key, pid);
	value = view_attribute(view, group, name);
	if (value) {
		text_append(text, words);
		text_append_terminal(text, value, strlen(value));
	}
}

static void append_process(const struct view *view, u32 pid, const char *name, struct text *text)
{
	text_append_terminal(text, name, strlen(name));
	text_appendf(text, " (%u)", pid);
	append_frameworks(view, pid, text);
	append_attribute(view, pid, "target", "rank", ", rank ", text);
	append_attribute(view, pid, "gpu", "CUDA version of the driver", ", CUDA ", text);
	append_attribute(view, pid, "gpu", "driver", ", driver ", text);
}

void explain_about_process(const struct explain *explain, u32 pid, struct text *text)
{
	const struct view_survey *survey = explain->survey;
	const char *name = "process";

	for (size_t i = 0; i < survey->row_count; i++)
		if (survey->rows[i].pid == pid && survey->rows[i].process_name)
			name = survey->rows[i].process_name;
	text_append_terminal(text, name, strlen(name));
	text_appendf(text, " (%u)", pid);
	append_attribute(explain->view, pid, "target", "rank", ", rank ", text);
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

size_t explain_about(const struct explain *explain, struct text ret_lines[EXPLAIN_ABOUT_MAX])
{
	const struct view_survey *survey = explain->survey;
	size_t count = 0;

	for (size_t i = 0; i < survey->row_count && count < EXPLAIN_ABOUT_MAX; i++) {
		const struct view_row *row = &survey->rows[i];

		if (!row->pid || is_told_of(survey, i) ||
		    (explain->has_gpu && !has_gpu_row(survey, row->pid)))
			continue;
		append_process(explain->view, row->pid, row->process_name, &ret_lines[count++]);
	}
	return count;
}
