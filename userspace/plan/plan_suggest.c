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
#define BARE_NAME_MAX_BYTES  1024

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

static bool is_operator(const char *name)
{
	return strncmp(name, "operator", 8) == 0 && name[8] && strchr("<>(-", name[8]);
}

/* Copies a demangled name without its template arguments. False: it is too long. */
static bool bare_name(const char *name, char *ret_bare, size_t size_bytes)
{
	size_t length = 0, depth = 0;

	for (; *name && length + 1 < size_bytes; name++) {
		if (!depth && is_operator(name)) {
			for (; *name && length + 1 < size_bytes; name++)
				ret_bare[length++] = *name;
			break;
		}
		if (*name == '<')
			depth++;
		else if (*name == '>' && depth)
			depth--;
		else if (!depth)
			ret_bare[length++] = *name;
	}
	ret_bare[length] = 0;
	return !*name;
}

/* What is behind the next "::" that stands in no brackets; NULL: there is none. */
static const char *behind_scope(const char *name)
{
	size_t depth = 0;

	for (; *name; name++) {
		if (!depth && is_operator(name))
			return NULL;
		if (strchr("<({[", *name))
			depth++;
		else if (strchr(">)}]", *name))
			depth -= depth > 0;
		else if (!depth && strncmp(name, "::", 2) == 0)
			return name + 2;
	}
	return NULL;
}

/* Namespaces, classes and template arguments are what people leave out: "hidden" for "(anonymous namespace)::hidden<int>". */
static unsigned distance_to_demangled(const struct suggestions *suggestions, const char *name,
				      unsigned cutoff)
{
	char bare[BARE_NAME_MAX_BYTES];

	for (const char *rest = name; rest; rest = behind_scope(rest))
		cutoff = distance_to(suggestions, rest, cutoff);
	if (!strchr(name, '<') || !bare_name(name, bare, sizeof(bare)))
		return cutoff;
	for (const char *rest = bare; rest; rest = behind_scope(rest))
		cutoff = distance_to(suggestions, rest, cutoff);
	return cutoff;
}

static void suggestions_offer(struct suggestions *suggestions, const char *name, bool demangled)
{
	bool full = suggestions->count == SUGGESTIONS_MAX;
	unsigned cutoff =
		full ? suggestions->items[SUGGESTIONS_MAX - 1].distance : suggestions->limit + 1;
	unsigned distance = demangled ? distance_to_demangled(suggestions, name, cutoff)
				      : distance_to(suggestions, name, cutoff);
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

/* What is said behind the name of a stripped file. */
static void stripped_append(const struct elf_file *file, size_t count, struct text *text)
{
	if (count)
		text_appendf(text, " (stripped: only its %zu exported functions have names; ",
			     count);
	else
		text_append(text, " (stripped: none of its functions has a name; ");
	switch (elf_debug_file_chance(file)) {
	case ELF_DEBUG_FILE_BY_NAME:
		text_append(text, "install its debug symbols)");
		break;
	case ELF_DEBUG_FILE_NONE_OF_GO:
		text_append(text, "Go writes no file of debug symbols: build it without "
				  "-ldflags=-s)");
		break;
	case ELF_DEBUG_FILE_NONE:
		text_append(text, "it has neither build ID nor .gnu_debuglink, by which debug "
				  "symbols are found: run it as it was before strip)");
		break;
	}
}

/* What one module has to offer; what is to be said of the file comes behind its name. */
static void module_offer(const struct plan_builder *builder, const struct code_module *module,
			 struct suggestions *suggestions, struct text *files)
{
	_cleanup_text_ struct text demangled = {0};
	struct elf_symbols symbols;
	struct elf_file *file;

	if (elf_file_open(module->fd, module->path, &file, NULL))
		return;
	if (elf_symbols_load(file, plan_module_root(builder, module), &symbols, NULL)) {
		elf_file_free(file);
		return;
	}
	for (size_t i = 0; i < symbols.count; i++) {
		suggestions_offer(suggestions, symbols.items[i].name, false);
		if (demangle(symbols.items[i].name, DEMANGLE_NAME, &demangled))
			suggestions_offer(suggestions, text_string(&demangled), true);
	}
	if (symbols.stripped && files)
		stripped_append(file, symbols.count, files);
	elf_symbols_free(&symbols);
	elf_file_free(file);
}

static bool module_has(const struct plan_builder *builder, const struct code_module *module,
		       const struct pattern *pattern)
{
	struct pattern_name name = {0};
	struct elf_symbols symbols;
	struct elf_file *file;
	bool found = false;

	if (elf_file_open(module->fd, module->path, &file, NULL))
		return false;
	if (!elf_symbols_load(file, plan_module_root(builder, module), &symbols, NULL)) {
		for (size_t i = 0; i < symbols.count && !found; i++) {
			pattern_name_set(&name, symbols.items[i].name);
			found = pattern_matches_name(pattern, &name);
		}
		elf_symbols_free(&symbols);
	}
	pattern_name_free(&name);
	elf_file_free(file);
	return found;
}

/* Without BINARY the main executable is meant, and of a program that was started by "ld-linux.so.2 ./p" that is the dynamic linker. */
static void other_files_append(const struct plan_builder *builder, const struct pattern *pattern,
			       struct text *message)
{
	const struct plan *plan = builder->plan;
	size_t count = 0;

	for (size_t i = 0; !pattern->binary && i < plan->module_count; i++) {
		const struct code_module *module = &plan->modules[i];

		if (module->main_executable || !module_has(builder, module, pattern))
			continue;
		if (++count > SUGGESTIONS_MAX)
			break;
		text_appendf(message, "%s%s:%s",
			     count > 1 ? ", " : " In another file: ", path_base_name(module->path),
			     pattern->glob);
	}
	if (count)
		text_append(message, count > SUGGESTIONS_MAX ? " and more." : ".");
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
		bool shown;

		if (!pattern_matches_module(pattern, module, builder->targets))
			continue;
		shown = ++file_count <= SUGGESTIONS_MAX;
		if (shown)
			text_appendf(&files, "%s%s", file_count > 1 ? ", " : "", module->path);
		module_offer(builder, module, &suggestions, shown ? &files : NULL);
	}
	if (file_count > SUGGESTIONS_MAX)
		text_appendf(&files, " and %zu more files", file_count - SUGGESTIONS_MAX);
	text_appendf(&message, "no function matches \"%s\" in %s.", pattern->text,
		     text_string(&files));
	other_files_append(builder, pattern, &message);
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
	text_appendf(
		&message,
		". A program that a target starts later is named by its path, and recorded with "
		"--children: %s-F '/PATH:GLOB'",
		builder->limits->children ? "" : "--children ");
	return err_set(err, -ENOENT, "%s", text_string(&message));
}
