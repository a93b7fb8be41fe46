/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/usdt_pattern.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "../bpf/usdt.h"

#define SYNTAX "PROVIDER:NAME[:s[N,...]][@BINARY]"

/* "s", "s0,2" */
static bool parse_strings(const char *text, size_t length, struct usdt_pattern *pattern)
{
	const char *end = text + length;

	if (!length || *text++ != 's')
		return false;
	pattern->all_strings = text == end;
	while (text < end) {
		u32 number = 0;
		size_t digits = strspn(text, "0123456789");

		if (!digits || digits > 2)
			return false;
		for (; digits; digits--)
			number = 10 * number + (u32)(*text++ - '0');
		if (number >= USDT_ARGUMENTS_MAX || text > end)
			return false;
		pattern->strings |= 1U << number;
		if (text < end && (*text++ != ',' || text == end))
			return false;
	}
	return true;
}

int usdt_pattern_parse(const char *text, struct usdt_pattern *ret_pattern, struct err *err)
{
	struct usdt_pattern pattern = {.text = text, .exclude = text[0] == '!'};
	const char *provider = text + pattern.exclude, *at = strchr(provider, '@');
	const char *end = at ? at : provider + strlen(provider);
	const char *colon = memchr(provider, ':', (size_t)(end - provider));
	const char *name = colon ? colon + 1 : end;
	const char *strings = memchr(name, ':', (size_t)(end - name));
	const char *name_end = strings ? strings : end;

	if (!colon || colon == provider || name == name_end || (at && !at[1]))
		return err_set(err, -EINVAL,
			       "-U \"%s\": expected " SYNTAX ", such as 'postgresql:query__*' or "
			       "'*:*@libc.so.6'",
			       text);
	if (strings &&
	    (pattern.exclude || !parse_strings(strings + 1, (size_t)(end - strings - 1), &pattern)))
		return err_set(err, -EINVAL,
			       "-U \"%s\": expected " SYNTAX
			       ": behind the second colon s, or s and the numbers of the arguments "
			       "that are strings, from 0 to %u: :s0,2",
			       text, USDT_ARGUMENTS_MAX - 1);
	pattern.provider = strndup(provider, (size_t)(colon - provider));
	pattern.name = strndup(name, (size_t)(name_end - name));
	if (at)
		pattern.binary.binary = strdup(at + 1);
	if (!pattern.provider || !pattern.name || (at && !pattern.binary.binary)) {
		usdt_pattern_free(&pattern);
		return err_errno(err, -ENOMEM, "-U \"%s\"", text);
	}
	*ret_pattern = pattern;
	return 0;
}

void usdt_pattern_free(struct usdt_pattern *pattern)
{
	free(pattern->provider);
	free(pattern->name);
	pattern_free(&pattern->binary);
	*pattern = (struct usdt_pattern){0};
}

bool usdt_pattern_matches_module(const struct usdt_pattern *pattern,
				 const struct code_module *module, const struct target *targets)
{
	return !pattern->binary.binary || pattern_matches_module(&pattern->binary, module, targets);
}

bool usdt_pattern_matches(const struct usdt_pattern *pattern, const char *provider,
			  const char *name)
{
	return fnmatch(pattern->provider, provider, 0) == 0 && fnmatch(pattern->name, name, 0) == 0;
}
