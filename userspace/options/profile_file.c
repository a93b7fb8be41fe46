/* --options FILE: lines KEY=VALUE, or one JSON object. The user's own file, of any content. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "options/profile.h"

#define FILE_BYTES_MAX (1U << 20)
#define ADVANCED       "advanced_configuration"
#define BLANKS	       " \t\r\v\f"

struct source {
	struct options *options;
	const struct options *before;
	const char *name;
	struct err *err;
};

/* ---- JSON ---- */

static int set_member(const struct source *source, const char *key, json_t *member)
{
	_cleanup_free_ char *text = json_dumps(member, JSON_ENCODE_ANY | JSON_COMPACT);
	struct profile_value value = {.type = PROFILE_OTHER, .text = text};

	if (!text)
		return err_errno(source->err, -ENOMEM, "can't read %s", source->name);
	if (json_is_integer(member)) {
		value.type = PROFILE_INTEGER;
		value.number = json_integer_value(member);
	} else if (json_is_boolean(member)) {
		value.type = PROFILE_BOOLEAN;
		value.number = json_is_true(member);
	} else if (json_is_string(member)) {
		value.type = PROFILE_STRING;
		value.text = json_string_value(member);
	}
	return profile_set(source->options, source->before, key, &value, source->name, source->err);
}

static int set_object(const struct source *source, json_t *object, bool outermost)
{
	const char *key;
	json_t *member;
	int result = 0;

	json_object_foreach(object, key, member)
	{
		if (outermost && strcmp(key, ADVANCED) == 0 && json_is_object(member))
			result = set_object(source, member, false);
		else
			result = set_member(source, key, member);
		if (result)
			break;
	}
	return result;
}

static int set_json(const struct source *source, const char *text)
{
	json_error_t error;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	int result;

	if (!root)
		return err_set(source->err, -EINVAL,
			       "InvalidArgument: %.200s:%d: no JSON object: %s", source->name,
			       error.line, error.text);
	result = set_object(source, root, true);
	json_decref(root);
	return result;
}

/* ---- lines ---- */

static char *trimmed(char *text)
{
	size_t length;

	text += strspn(text, BLANKS);
	length = strlen(text);
	while (length && strchr(BLANKS, text[length - 1]))
		text[--length] = 0;
	return text;
}

static int set_line(const struct source *source, char *line, unsigned number)
{
	struct profile_value value = {.type = PROFILE_WORD};
	char where[160], *key, *equals;

	line[strcspn(line, "#")] = 0;
	key = trimmed(line);
	if (!*key)
		return 0;
	snprintf(where, sizeof(where), "%.140s:%u", source->name, number);
	equals = strchr(key, '=');
	if (!equals || equals == key)
		return err_set(source->err, -EINVAL,
			       "InvalidArgument: %s: \"%.100s\": KEY=VALUE is expected", where,
			       key);
	*equals = 0;
	value.text = trimmed(equals + 1);
	return profile_set(source->options, source->before, trimmed(key), &value, where,
			   source->err);
}

int profile_set_text(struct options *options, const struct options *before, char *text,
		     const char *name, struct err *err)
{
	struct source source = {options, before, name, err};
	unsigned number = 0;
	int result = 0;
	char *line;

	if (text[strspn(text, BLANKS "\n")] == '{')
		return set_json(&source, text);
	while (!result && (line = strsep(&text, "\n")))
		result = set_line(&source, line, ++number);
	return result;
}

int profile_set_file(struct options *options, const struct options *before, const char *path,
		     struct err *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *text = malloc(FILE_BYTES_MAX + 1);
	ssize_t length = 0;
	size_t used = 0;

	if (fd < 0)
		return err_errno(err, -errno, "InvalidArgument: can't open --options %.200s", path);
	if (!text)
		return err_errno(err, -ENOMEM, "can't read --options %.200s", path);
	while (used < FILE_BYTES_MAX && (length = read(fd, text + used, FILE_BYTES_MAX - used)) > 0)
		used += length;
	if (length < 0)
		return err_errno(err, -errno, "InvalidArgument: can't read --options %.200s", path);
	text[used] = 0;
	if (used == FILE_BYTES_MAX || strlen(text) != used)
		return err_set(err, -EINVAL,
			       "InvalidArgument: --options %.200s: no text, or more than %u bytes "
			       "of it",
			       path, FILE_BYTES_MAX);
	return profile_set_text(options, before, text, path, err);
}
