/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/pattern.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/demangle.h"

#define GLOB_CHARACTERS "*?[\\"
/* Shorter runs of letters can come from the demangler itself ("int", "std") and sort out little. */
#define LITERAL_MIN_LENGTH 4

/* Words of demangled names that do not stand in the mangled ones letter by letter. */
static const char *const demangler_words[] = {
#define DEMANGLER_WORD(word) word,
#include "plan/demangler_words.def"
#undef DEMANGLER_WORD
};

/* ---- parsing ---- */

/* Length of a [...] at the start of glob, 1 when it is not closed: then '[' stands for itself. */
static size_t bracket_length(const char *glob)
{
	size_t i = 1;

	if (glob[i] == '!' || glob[i] == '^')
		i++;
	if (glob[i] == ']')
		i++;
	for (; glob[i]; i++) {
		const char *class_end;

		if (glob[i] == '[' && glob[i + 1] == ':' &&
		    (class_end = strstr(glob + i + 2, ":]")))
			i = (size_t)(class_end + 1 - glob);
		else if (glob[i] == ']')
			return i + 1;
	}
	return 1;
}

/* Where BINARY ends: a ':' alone, or the first of three ("libx.so:::f" is f of the global
 * namespace). */
static const char *binary_end(const char *text)
{
	for (size_t i = 0; text[i];) {
		if (text[i] == '\\' && text[i + 1]) {
			i += 2;
		} else if (text[i] == '[') {
			i += bracket_length(text + i);
		} else if (text[i] == ':') {
			size_t run = strspn(text + i, ":");

			if (run != 2)
				return text + i;
			i += run;
		} else {
			i++;
		}
	}
	return NULL;
}

static bool is_identifier_character(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static bool from_demangler(const char *run, size_t length)
{
	for (size_t i = 0; i < ARRAY_SIZE(demangler_words); i++) {
		if (memmem(demangler_words[i], strlen(demangler_words[i]), run, length))
			return true;
	}
	return false;
}

/*
 * The longest run of identifier characters in the glob that can only come from the mangled name
 * itself. Demangling a name takes microseconds and looking for a string in it a tenth of that; in a
 * library with half a million functions this is the difference between an instant and many seconds.
 */
static char *literal_find(const char *glob)
{
	const char *best = NULL;
	size_t best_length = 0;

	for (size_t i = 0; glob[i];) {
		size_t length = 0;

		if (glob[i] == '\\' && glob[i + 1]) {
			i += 2;
			continue;
		}
		if (glob[i] == '[') {
			i += bracket_length(glob + i);
			continue;
		}
		while (is_identifier_character(glob[i + length]))
			length++;
		/* Numbers get suffixes from their type: "f<1024ul>". */
		if (length >= LITERAL_MIN_LENGTH && length > best_length &&
		    !(glob[i] >= '0' && glob[i] <= '9') && !from_demangler(glob + i, length)) {
			best = glob + i;
			best_length = length;
		}
		i += length ? length : 1;
	}
	return best ? strndup(best, best_length) : NULL;
}

int pattern_parse(const char *text, struct pattern *ret_pattern, struct err *err)
{
	struct pattern pattern = {.text = text, .exclude = text[0] == '!'};
	const char *start = text + pattern.exclude;
	const char *end = binary_end(start), *glob = end ? end + 1 : start;

	if (!*glob)
		return err_set(
			err, -EINVAL,
			"pattern \"%s\" names no function. To mean all of a file: \"%.*s:*\"", text,
			end ? (int)(end - start) : 6, end ? start : "BINARY");
	/* Names of the global namespace are written without the colons. */
	if (strncmp(glob, "::", 2) == 0)
		glob += 2;
	pattern.glob = strdup(glob);
	if (end && end > start)
		pattern.binary = strndup(start, (size_t)(end - start));
	if (!pattern.glob || (end && end > start && !pattern.binary)) {
		pattern_free(&pattern);
		return err_errno(err, -ENOMEM, "pattern \"%s\"", text);
	}
	pattern.literal = literal_find(glob);
	*ret_pattern = pattern;
	return 0;
}

void pattern_free(struct pattern *pattern)
{
	free(pattern->binary);
	free(pattern->glob);
	free(pattern->literal);
	*pattern = (struct pattern){0};
}

/* ---- matching ---- */

/* Names with brackets ("operator[]") also match as they are. */
static bool glob_matches(const char *glob, const char *name)
{
	return strcmp(glob, name) == 0 || fnmatch(glob, name, 0) == 0;
}

/* Is the path, in the file system of a target that maps the module, a name of its file? */
static bool path_leads_to(const char *path, const struct code_module *module,
			  const struct target *targets)
{
	for (size_t i = 0; i < module->target_count; i++) {
		char full[PATH_MAX];
		struct stat status;

		if (snprintf(full, sizeof(full), "%s%s", targets[module->targets[i]].root_path,
			     path) < (int)sizeof(full) &&
		    stat(full, &status) == 0 &&
		    module_is_file(module, status.st_dev, status.st_ino))
			return true;
	}
	return false;
}

bool pattern_is_path(const struct pattern *pattern)
{
	return !pattern->exclude && pattern->binary && pattern->binary[0] == '/' &&
	       !strpbrk(pattern->binary, GLOB_CHARACTERS);
}

bool pattern_matches_module(const struct pattern *pattern, const struct code_module *module,
			    const struct target *targets)
{
	if (!pattern->binary)
		return module->main_executable;
	if (strchr(pattern->binary, '/'))
		return glob_matches(pattern->binary, module->path) ||
		       (pattern->binary[0] == '/' && !strpbrk(pattern->binary, GLOB_CHARACTERS) &&
			path_leads_to(pattern->binary, module, targets));
	for (size_t i = 0; i < module->name_count; i++) {
		if (glob_matches(pattern->binary, module->names[i]))
			return true;
	}
	return false;
}

void pattern_name_set(struct pattern_name *name, const char *mangled)
{
	name->mangled = mangled;
	name->has_full = name->has_name = false;
}

void pattern_name_free(struct pattern_name *name)
{
	text_free(&name->full);
	text_free(&name->name);
	*name = (struct pattern_name){0};
}

bool pattern_matches_name(const struct pattern *pattern, struct pattern_name *name)
{
	if (pattern->literal && !strstr(name->mangled, pattern->literal))
		return false;
	if (glob_matches(pattern->glob, name->mangled))
		return true;
	if (!demangle_is_mangled(name->mangled))
		return false;
	if (!name->has_name)
		name->has_name = true, demangle(name->mangled, DEMANGLE_NAME, &name->name);
	if (name->name.length && glob_matches(pattern->glob, text_string(&name->name)))
		return true;
	if (!name->has_full)
		name->has_full = true, demangle(name->mangled, DEMANGLE_FULL, &name->full);
	return name->full.length && glob_matches(pattern->glob, text_string(&name->full));
}

bool pattern_is_exactly(const struct pattern *pattern, const char *name)
{
	return strcmp(pattern->glob, name) == 0;
}
