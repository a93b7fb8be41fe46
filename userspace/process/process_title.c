/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/process_title.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "process/proc_file.h"

bool process_title_append_of(const char *command_line, struct text *text)
{
	size_t length = strlen(command_line);
	struct text whole _cleanup_text_ = {0}, safe _cleanup_text_ = {0};
	const char *title;

	/* Programs fill what is left of the room with blanks. */
	while (length && command_line[length - 1] == ' ')
		length--;
	/* The path of a program may have blanks. What a program is called as has none, and is known. */
	if (*command_line == '/' || *command_line == '.' || !memchr(command_line, ' ', length))
		return false;
	text_append_bytes(&whole, command_line, length);
	title = text_utf8(text_string(&whole), &safe);
	length = text_skip_columns(title, PROCESS_TITLE_COLUMNS);
	text_append_bytes(text, title, length);
	if (title[length])
		text_append(text, "...");
	return !whole.failed && !safe.failed && !text->failed;
}

int process_title_read(u32 pid, char **ret_title)
{
	_cleanup_free_ char *line = NULL;
	struct text title _cleanup_text_ = {0};
	char path[32];
	int result;

	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	result = proc_file_read(AT_FDCWD, path, &line, NULL);
	if (result)
		return result;
	/* One that has ended and is not waited for yet has no arguments any more. */
	if (!*line)
		return -ESRCH;
	*ret_title = process_title_append_of(line, &title) ? take_pointer(&title.data) : NULL;
	return 0;
}
