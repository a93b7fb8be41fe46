/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Errors for patterns that fit nothing: the names that come nearest stand in the message. */
#include "plan/plan_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/demangle.h"
#include "base/path.h"
#include "base/text.h"

#define SUGGESTIONS_MAX	     5
#define BINARIES_MAX	     12
#define NAME_SHOWN_MAX_BYTES 90

/* The best few names so far, the nearest first. */
struct suggestions {
	char literal[256];	   /* the glob without its wildcards */
	bool open_start, open_end; /* the glob starts, ends with '*' */
	unsigned limit;		   /* edits */
	struct {
		char *name;
		unsigned distance;
	} items[SUGGESTIONS_MAX];
	size_t count;
};

static void suggestions_start(struct suggestions *suggestions, const char *glob)
{
	size_t length = strlen(glob), kept = 0;

	*suggestions = (struct suggestions){
		.open_start = glob[0] == '*',
		.open_end = length && glob[length - 1] == '*',
	};
	for (size_t i = 0; i < length && kept < sizeof(suggestions->literal) - 1; i++) {
		if (!strchr("*?[]\\", glob[i]))
			suggestions->literal[kept++] = glob[i];
	}
	suggestions->limit = kept < 6 ? 2 : (unsigned)(kept / 3);
}

static void suggestions_free(struct suggestions *suggestions)
{
	for (size_t i = 0; i < suggestions->count; i++)
		free(suggestions->items[i].name);
}

/* Edits between the literal and the part of the name from `start` on that it could stand for; as
 * with text_distance, cutoff when there are more. */
static unsigned distance_at(const struct suggestions *suggestions, const char *start,
			    unsigned cutoff)
{
	size_t length = strlen(suggestions->literal), left = strlen(start);
	char part[sizeof(suggestions->literal) + 1];

	for (size_t size = length > 1 ? length - 1 : 1; size <= length + 1 && size <= left;
	     size++) {
		if (!suggestions->open_end && size != left)
			continue;
		memcpy(part, start, size);
		part[size] = 0;
		cutoff = text_distance(suggestions->literal, part, cutoff);
	}
	return cutoff;
}

static unsigned distance_to(const struct suggestions *suggestions, const char *name,
			    unsigned cutoff)
{
	const char *literal = suggestions->literal;
	size_t length = strlen(literal), name_length = strlen(name);

	if (!suggestions->open_start && !suggestions->open_end) {
		size_t gap = length > name_length ? length - name_length : name_length - length;

		return gap >= cutoff ? cutoff : text_distance(literal, name, cutoff);
	}
	if (!suggestions->open_start)
		return distance_at(suggestions, name, cutoff);
	/* Anywhere in the name, from where its first or second letter could be: all places of half
	 * a million names would take minutes. */
	for (size_t i = 0; i < name_length && cutoff; i++) {
		if (!suggestions->open_end && i + length + 1 < name_length)
			continue;
		if (name[i] == literal[0] || (length > 1 && name[i + 1] == literal[1]))
			cutoff = distance_at(suggestions, name + i, cutoff);
	}
	return cutoff;
}

static void suggestions_offer(struct suggestions *suggestions, const char *name)
{
	bool full = suggestions->count == SUGGESTIONS_MAX;
	unsigned cutoff =
		full ? suggestions->items[SUGGESTIONS_MAX - 1].distance : suggestions->limit + 1;
	unsigned distance = distance_to(suggestions, name, cutoff);
	char *copy;
	size_t at;

	if (distance >= cutoff)
		return;
	for (size_t i = 0; i < suggestions->count; i++) {
		if (strcmp(suggestions->items[i].name, name) == 0)
			return;
	}
	copy = strndup(name, NAME_SHOWN_MAX_BYTES);
	if (!copy)
		return;
	if (full)
		free(suggestions->items[--suggestions->count].name);
	for (at = suggestions->count; at && suggestions->items[at - 1].distance > distance; at--)
		suggestions->items[at] = suggestions->items[at - 1];
	suggestions->items[at].name = copy;
	suggestions->items[at].distance = distance;
	suggestions->count++;
}

static void suggestions_append(const struct suggestions *suggestions, struct text *text)
{
	for (size_t i = 0; i < suggestions->count; i++)
		text_appendf(text, "%s%s", i ? ", " : "", suggestions->items[i].name);
}

/* ---- functions
 * -------------------------------------------------------------------------------------- */

/* What one module has to offer. Returns the number of its functions. */
static size_t module_offer(const struct plan_builder *builder, const struct code_module *module,
			   struct suggestions *suggestions, bool *ret_stripped)
{
	_cleanup_text_ struct text demangled = {0};
	struct elf_symbols symbols;
	struct elf_file *file;
	size_t count;

	if (elf_file_open(module->fd, module->path, &file, NULL))
		return 0;
	if (elf_symbols_load(file, plan_module_root(builder, module), &symbols, NULL)) {
		elf_file_free(file);
		return 0;
	}
	for (size_t i = 0; i < symbols.count; i++) {
		suggestions_offer(suggestions, symbols.items[i].name);
		if (demangle(symbols.items[i].name, DEMANGLE_NAME, &demangled))
			suggestions_offer(suggestions, text_string(&demangled));
	}
	count = symbols.count;
	*ret_stripped = symbols.stripped;
	elf_symbols_free(&symbols);
	elf_file_free(file);
	return count;
}

int plan_suggest_function(const struct plan_builder *builder, const struct pattern *pattern,
			  struct err *err)
{
	_cleanup_text_ struct text files = {0}, message = {0};
	struct suggestions suggestions;
	size_t file_count = 0;

	suggestions_start(&suggestions, pattern->glob);
	for (size_t i = 0; i < builder->plan->module_count; i++) {
		const struct code_module *module = &builder->plan->modules[i];
		bool stripped = false;
		size_t count;

		if (!pattern_matches_module(pattern, module, builder->targets))
			continue;
		count = module_offer(builder, module, &suggestions, &stripped);
		if (++file_count > SUGGESTIONS_MAX)
			continue;
		text_appendf(&files, "%s%s", file_count > 1 ? ", " : "", module->path);
		if (stripped)
			text_appendf(&files,
				     " (stripped: only its %zu exported functions have names; "
				     "install its debug symbols)",
				     count);
	}
	if (file_count > SUGGESTIONS_MAX)
		text_appendf(&files, " and %zu more files", file_count - SUGGESTIONS_MAX);
	text_appendf(&message, "no function matches \"%s\" in %s.", pattern->text,
		     text_string(&files));
	if (suggestions.count) {
		text_append(&message, " Nearest: ");
		suggestions_append(&suggestions, &message);
	}
	suggestions_free(&suggestions);
	return err_set(err, -ENOENT, "%s", text_string(&message));
}

/* ---- binaries
 * --------------------------------------------------------------------------------------- */

struct binary_name {
	const char *name;
	unsigned distance;
};

static int binary_compare(const void *left, const void *right)
{
	const struct binary_name *a = left, *b = right;

	if (a->distance != b->distance)
		return a->distance < b->distance ? -1 : 1;
	return strcmp(a->name, b->name);
}

int plan_suggest_binary(const struct plan_builder *builder, const struct pattern *pattern,
			struct err *err)
{
	const struct plan *plan = builder->plan;
	_cleanup_free_ struct binary_name *names = NULL;
	_cleanup_text_ struct text message = {0};
	size_t count = 0;

	if (!pattern->binary)
		return err_set(err, -ENOENT,
			       "no target maps its main executable from the file: it may have "
			       "moved its code to huge pages, where probes do not reach it");
	names = calloc(plan->module_count + 1, sizeof(*names));
	if (!names)
		return err_errno(err, -ENOMEM, "pattern \"%s\"", pattern->text);
	for (size_t i = 0; i < plan->module_count; i++) {
		const struct code_module *module = &plan->modules[i];
		struct binary_name *best = &names[count++];

		*best = (struct binary_name){path_base_name(module->path), ~0U};
		for (size_t j = 0; j < module->name_count; j++) {
			unsigned distance = text_distance(path_base_name(pattern->binary),
							  module->names[j], 64);

			if (distance < best->distance)
				*best = (struct binary_name){module->names[j], distance};
		}
	}
	if (count)
		qsort(names, count, sizeof(*names), binary_compare);
	text_appendf(&message,
		     "pattern \"%s\": no target maps a file \"%s\". Mapped: ", pattern->text,
		     pattern->binary);
	for (size_t i = 0; i < count && i < BINARIES_MAX; i++)
		text_appendf(&message, "%s%.*s", i ? ", " : "", NAME_SHOWN_MAX_BYTES,
			     names[i].name);
	if (count > BINARIES_MAX)
		text_appendf(&message, " and %zu more (gpuprobe check lists them)",
			     count - BINARIES_MAX);
	return err_set(err, -ENOENT, "%s", text_string(&message));
}
