/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verbs/check_python.h"

#include <errno.h>
#include <string.h>

#include "python/python_find.h"

void check_python_append(const struct target *target, struct text *text)
{
	char version[PYTHON_VERSION_BYTES];
	struct python_process process;
	struct python_files files = {0};
	struct code_map map = {0};
	struct err err = {0};
	const char *second;
	int result = -ENOENT;

	if (!code_map_look(&map, target->pid, true))
		result = python_find(&files, &map, target->pid, version, &process, &err);
	if (!result) {
		text_appendf(text, "  Python %s: its frames can be read\n", version);
	} else if (result != -ENOENT) {
		text_append(text, "  Python: its frames cannot be read, since ");
		text_append_terminal(text, err.message, strlen(err.message));
		text_append_char(text, '\n');
	}
	if (result != -ENOENT && !python_find_second(&files, &map, target->pid, &second)) {
		text_append(text, "  Python: frames of the second interpreter are not read, ");
		text_append_terminal(text, second, strlen(second));
		text_append_char(text, '\n');
	}
	python_files_free(&files);
	code_map_free(&map);
}
