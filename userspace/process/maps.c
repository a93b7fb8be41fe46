/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/maps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/file.h"

static bool number_next(char **at, int base, char separator, u64 *ret_value)
{
	char *end;

	*ret_value = strtoull(*at, &end, base);
	if (end == *at || (*end != separator && *end != 0))
		return false;
	*at = end + (*end != 0);
	return true;
}

/* "START-END PERMS OFFSET MAJOR:MINOR INODE      PATH" */
static bool line_parse(char *line, struct maps_line *ret_line)
{
	u64 major_number, minor_number;

	if (!number_next(&line, 16, '-', &ret_line->start) ||
	    !number_next(&line, 16, ' ', &ret_line->end) || strnlen(line, 5) < 5 || line[4] != ' ')
		return false;
	ret_line->executable = line[2] == 'x';
	ret_line->writable = line[1] == 'w' && line[3] == 'p';
	ret_line->shared = line[3] == 's';
	line += 5;
	if (!number_next(&line, 16, ' ', &ret_line->file_offset) ||
	    !number_next(&line, 16, ':', &major_number) ||
	    !number_next(&line, 16, ' ', &minor_number) ||
	    !number_next(&line, 10, ' ', &ret_line->inode))
		return false;
	ret_line->device = makedev((unsigned)major_number, (unsigned)minor_number);
	ret_line->path = line + strspn(line, " ");
	return true;
}

bool maps_next(char **text, struct maps_line *ret_line)
{
	char *line = *text, *end;

	if (!*line)
		return false;
	end = strchr(line, '\n');
	*text = end ? end + 1 : line + strlen(line);
	if (end)
		*end = 0;
	*ret_line = (struct maps_line){.path = ""};
	if (!line_parse(line, ret_line))
		*ret_line = (struct maps_line){.path = ""};
	return true;
}

int maps_file_open(int proc_fd, const struct maps_line *line, struct stat *ret_status)
{
	char link[64];

	snprintf(link, sizeof(link), "map_files/%llx-%llx", (unsigned long long)line->start,
		 (unsigned long long)line->end);
	return file_open_plain(proc_fd, link, ret_status);
}
