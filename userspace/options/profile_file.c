/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --options FILE: lines KEY=VALUE. The user's own file, of any content. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "options/profile_file.h"

#define FILE_BYTES_MAX (1U << 20)
#define BLANKS	       " \t\r\v\f"

static char *trimmed(char *text)
{
	size_t length;

	text += strspn(text, BLANKS);
	length = strlen(text);
	while (length && strchr(BLANKS, text[length - 1]))
		text[--length] = 0;
	return text;
}

static int tell_line(char *line, const char *where, profile_pair *callback, void *data,
		     struct err *err)
{
	char *key, *equals;

	line[strcspn(line, "#")] = 0;
	key = trimmed(line);
	if (!*key)
		return 0;
	equals = strchr(key, '=');
	if (!equals || equals == key)
		return err_set(err, -EINVAL,
			       "InvalidArgument: %s: \"%.100s\": KEY=VALUE is expected", where,
			       key);
	*equals = 0;
	return callback(data, trimmed(key), trimmed(equals + 1), where, err);
}

static int tell_lines(char *text, const char *path, profile_pair *callback, void *data,
		      struct err *err)
{
	unsigned number = 0;
	int result = 0;
	char *line;

	while (!result && (line = strsep(&text, "\n"))) {
		char where[160];

		snprintf(where, sizeof(where), "%.140s:%u", path, ++number);
		result = tell_line(line, where, callback, data, err);
	}
	return result;
}

int profile_file_read(const char *path, profile_pair *callback, void *data, struct err *err)
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
	return tell_lines(text, path, callback, data, err);
}
