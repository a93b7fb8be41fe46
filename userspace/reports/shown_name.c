/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reports/shown_name.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define CUT	"…"
#define PARTS	3  /* a name that is cut has as many thirds */
#define CONTEXT 12 /* columns in front of where it differs */

static const char *const noise[] = {"(anonymous namespace)::", "<unnamed>::"};

static size_t noise_at(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(noise); i++)
		if (strncmp(name, noise[i], strlen(noise[i])) == 0)
			return strlen(noise[i]);
	return 0;
}

/* A name of code without what all have. */
static void append_without_noise(struct text *text, const char *name)
{
	while (*name) {
		size_t skipped = noise_at(name);

		if (!skipped)
			text_append_char(text, *name);
		name += skipped ? skipped : 1;
	}
}

/* The parts of a name of code: "void ns::f<int>(char)" */
struct parts {
	size_t begin;	   /* "ns::f": behind the return type */
	size_t scope_end;  /* "f": behind its namespaces and classes */
	size_t parameters; /* "(char)": at the end where there are none */
};

/* Blanks, colons and brackets outside of all brackets tell. Without parameters there is no return type either. */
static struct parts find_parts(const char *name)
{
	struct parts parts = {.parameters = strlen(name)};
	size_t begin = 0, scope_end = 0;
	unsigned depth = 0;

	for (size_t i = 0; name[i]; i++) {
		char c = name[i];

		/* Its brackets are none, and a blank may stand in it. */
		if (depth == 0 && !strncmp(name + i, "operator", 8))
			return (struct parts){.parameters = strlen(name)};
		/* A range without a name, in others, has none. */
		if (c == '(' && depth == 0 && i > begin && name[i - 1] != '/') {
			parts = (struct parts){begin, scope_end, i};
			break;
		}
		if (strchr("<([{", c))
			depth++;
		else if (strchr(">)]}", c) && depth)
			depth--;
		else if (c == ' ' && depth == 0)
			begin = scope_end = i + 1;
		else if (c == ':' && i && name[i - 1] == ':' && depth == 0)
			scope_end = i + 1;
	}
	/* What is behind the parameters belongs to the name: a lambda in a function. */
	if (strchr(name + parts.parameters, ':') && name[strlen(name) - 1] != ')')
		parts.parameters = strlen(name);
	return parts;
}

static void append_code(struct text *text, const char *name, bool with_parameters)
{
	struct text plain _cleanup_text_ = {0};
	struct parts parts;
	const char *string;
	size_t scope, end;

	append_without_noise(&plain, name);
	string = text_string(&plain);
	parts = find_parts(string);
	end = with_parameters ? plain.length : parts.parameters;
	scope = parts.scope_end - parts.begin;
	text_append_bytes(text, string + parts.begin, scope);
	for (size_t i = parts.scope_end; i < end;) {
		if (scope && !strncmp(string + i, string + parts.begin, scope) &&
		    !isalnum((unsigned char)string[i - 1]) && !strchr("_:", string[i - 1])) {
			i += scope;
			continue;
		}
		text_append_char(text, string[i++]);
	}
	text->failed |= plain.failed;
}

static void append_plain(struct text *text, const char *name, bool code, bool with_parameters)
{
	struct text plain _cleanup_text_ = {0};

	if (code)
		append_code(&plain, name, with_parameters);
	else
		text_append(&plain, name);
	text_append_terminal(text, text_string(&plain), plain.length);
	text->failed |= plain.failed;
}

/* Those that differ in their parameters alone have them. */
static bool make_plain(const char *const *names, size_t count, bool code, struct text *plain)
{
	bool failed = false;

	for (size_t i = 0; i < count; i++)
		append_plain(&plain[i], names[i], code, false);
	for (size_t i = 0; i < count && code; i++) {
		bool alike = false;

		for (size_t j = 0; j < count && !alike; j++)
			alike = strcmp(names[i], names[j]) != 0 &&
				strcmp(text_string(&plain[i]), text_string(&plain[j])) == 0;
		for (size_t j = i + 1; j < count && alike; j++) {
			if (strcmp(text_string(&plain[i]), text_string(&plain[j])) != 0)
				continue;
			text_clear(&plain[j]);
			append_plain(&plain[j], names[j], code, true);
		}
		if (!alike)
			continue;
		text_clear(&plain[i]);
		append_plain(&plain[i], names[i], code, true);
	}
	for (size_t i = 0; i < count; i++)
		failed |= plain[i].failed;
	return !failed;
}

static size_t common_bytes(const char *a, const char *b)
{
	size_t length = 0;

	while (a[length] && a[length] == b[length])
		length++;
	return length;
}

/* Back to the begin of a word or number, and of a character, but not far. */
static size_t context_begin(const char *name, size_t place)
{
	size_t first = place > CONTEXT ? place - CONTEXT : 0;

	while (place > first && (isalnum((unsigned char)name[place - 1]) || name[place - 1] == '_'))
		place--;
	while (place && ((unsigned char)name[place] & 0xc0) == 0x80)
		place--;
	return place;
}

/* What is seen of a name that is too long: a head, and from begin on up to so many columns. */
static void append_cut(struct text *text, const char *name, size_t head_columns, size_t begin,
		       size_t columns)
{
	size_t head = text_skip_columns(name, head_columns);
	size_t left = columns - head_columns - 1;

	text_append_bytes(text, name, head);
	text_append(text, CUT);
	if (text_columns(name + begin) <= left) {
		text_append(text, name + begin);
		return;
	}
	text_append_bytes(text, name + begin, text_skip_columns(name + begin, left - 1));
	text_append(text, CUT);
}

/* differs: the first byte in which it is not the name most like it. */
static void cut_name(struct text *text, const char *name, size_t differs, size_t columns)
{
	size_t third = columns / PARTS, length = text_columns(name), begin, tail;

	/* Seen from the front: what tells most is the end. */
	if (text_skip_columns(name, 2 * third) > differs) {
		append_cut(text, name, 2 * third,
			   text_skip_columns(name, length - (columns - 2 * third - 1)), columns);
		return;
	}
	begin = context_begin(name, differs);
	tail = text_columns(name + begin);
	append_cut(text, name, tail < columns - third - 1 ? columns - tail - 1 : third, begin,
		   columns);
}

/* Where all is cut alike, a number tells them apart. */
static void tell_apart(struct text *shown, const char *const *names, size_t count, size_t columns)
{
	for (size_t i = 1; i < count; i++) {
		unsigned same = 1;

		for (size_t j = 0; j < i; j++)
			same += !strcmp(text_string(&shown[i]), text_string(&shown[j])) &&
				strcmp(names[i], names[j]) != 0;
		if (same == 1 || shown[i].failed)
			continue;
		shown[i].length = text_skip_columns(text_string(&shown[i]), columns - 5);
		text_appendf(&shown[i], " #%u", same);
	}
}

static void shorten(const struct text *plain, size_t count, size_t i, size_t columns,
		    struct text *ret_name)
{
	const char *name = text_string(&plain[i]);
	size_t differs = 0;

	if (text_columns(name) <= columns) {
		text_append(ret_name, name);
		return;
	}
	for (size_t j = 0; j < count; j++) {
		size_t common = common_bytes(name, text_string(&plain[j]));

		if (name[common] && common > differs)
			differs = common;
	}
	cut_name(ret_name, name, differs, columns);
}

int shown_names(const char *const *names, size_t count, size_t columns, bool code,
		struct text *ret_names)
{
	struct text *plain = calloc(count + 1, sizeof(*plain));
	bool failed = !plain || !make_plain(names, count, code, plain);

	for (size_t i = 0; i < count && !failed; i++)
		shorten(plain, count, i, columns, &ret_names[i]);
	if (!failed)
		tell_apart(ret_names, names, count, columns);
	for (size_t i = 0; i < count && plain; i++) {
		failed |= ret_names[i].failed;
		text_free(&plain[i]);
	}
	free(plain);
	return failed ? -ENOMEM : 0;
}
