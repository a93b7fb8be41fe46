/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reports/block_way.h"

#include <ctype.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "reports/report_printer.h"

/* "consumer w.py:9" */
static bool is_python(const char *line)
{
	static const char ending[] = ".py:";
	size_t length = strcspn(line, "\n");

	while (length && isdigit((unsigned char)line[length - 1]))
		length--;
	return line[length] && line[length] != '\n' && length >= strlen(ending) &&
	       !strncmp(line + length - strlen(ending), ending, strlen(ending));
}

static const char *next_line(const char *line)
{
	line += strcspn(line, "\n");
	return *line ? line + 1 : line;
}

/* By which threads of Python's come to what they are for; before 3.11 without their class. */
static bool is_beginning(const char *line)
{
	static const char *const names[] = {"Thread._bootstrap",
					    "Thread.run threading.py:", "_bootstrap threading.py:",
					    "_bootstrap_inner threading.py:", "run threading.py:"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(line, names[i], strlen(names[i])))
			return true;
	return false;
}

static bool is_of_file(const char *line, const char *file)
{
	const char *found = strstr(line, file);

	return found && found < line + strcspn(line, "\n");
}

/* What waits within the locks of Python's library says less than what of that library it waits for; before 3.11 without their class. */
static bool is_within_lock(const char *line, const char *caller)
{
	static const char *const names[] = {
		"Condition.wait threading.py:",
		"Condition.notify threading.py:",
		"Thread._wait_for_tstate_lock threading.py:",
		"wait threading.py:",
		"notify threading.py:",
		"_wait_for_tstate_lock threading.py:",
	};

	if (is_beginning(caller) ||
	    (!is_of_file(caller, " threading.py:") && !is_of_file(caller, " queue.py:")))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(line, names[i], strlen(names[i])))
			return true;
	return false;
}

/* By which functions of the kernel threads come into it. */
static bool is_kernels_entry(const char *line)
{
	static const char *const beginnings[] = {"entry_SYSCALL_64", "asm_exc_", "asm_sysvec_",
						 "asm_common_interrupt"};

	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
		if (!strncmp(line, beginnings[i], strlen(beginnings[i])))
			return true;
	return false;
}

/* What called the kernel says more of a program than the way through it: of that one "..." stands for all but the first. */
static const char *skip_kernel(struct text *text, const char *lines)
{
	for (const char *line = lines; *line; line = next_line(line)) {
		if (!is_kernels_entry(line))
			continue;
		if (!*next_line(line))
			return lines;
		if (line != lines)
			text_append(text, "...\n");
		return next_line(line);
	}
	return lines;
}

/* Of a stack the lines from the first function of Python that is not within a lock to the last one that is no beginning; all of it where there is none. */
static void append_python(struct text *text, const char *lines)
{
	const char *first = NULL, *end = NULL;

	for (const char *line = lines; *line; line = next_line(line)) {
		if (!is_python(line))
			continue;
		if (!first)
			first = line;
		if (first == line || !is_beginning(line))
			end = next_line(line);
	}
	while (first && is_within_lock(first, next_line(first)))
		first = next_line(first);
	if (first)
		text_append_bytes(text, first, (size_t)(end - first));
	else
		text_append(text, lines);
}

/* By which functions of the C library threads come to a program's own: all stacks end in them, and room is scarce. */
static bool is_start(const char *line)
{
	static const char *const names[] = {"_start",
					    "__libc_start_main",
					    "__libc_start_main_impl",
					    "__libc_start_call_main",
					    "start_thread",
					    "clone3"};
	size_t length = strcspn(line, " \n");

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == length && !strncmp(line, names[i], length))
			return true;
	return false;
}

/* Without the outermost ones of these, unless there is nothing else. */
static size_t length_without_starts(const char *lines)
{
	const char *end = lines;

	for (const char *line = lines; *line; line = next_line(line))
		if (!is_start(line))
			end = next_line(line);
	return end == lines ? strlen(lines) : (size_t)(end - lines);
}

char *block_way_join(const char *lines, enum shown shown)
{
	const char *rest = shown == SHOWN_WAY ? next_line(lines) : lines;
	_cleanup_text_ struct text kept = {0};
	struct text text = {0};

	text_append_bytes(&kept, lines, (size_t)(rest - lines));
	if (shown == SHOWN_WAY && !is_kernels_entry(lines))
		rest = skip_kernel(&kept, rest);
	if (shown == SHOWN_WAY || shown == SHOWN_STACK)
		append_python(&kept, rest);
	else
		text_append(&kept, rest);
	if (kept.data && (shown == SHOWN_WAY || shown == SHOWN_STACK)) {
		kept.length = length_without_starts(kept.data);
		kept.data[kept.length] = '\0';
	}
	report_append_lines(&text, text_string(&kept));
	text.failed |= kept.failed;
	text_append(&text, ""); /* of no lines too there is a string */
	if (text.failed)
		text_free(&text);
	return text.data;
}
