/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/PID/maps, line by line. */
#ifndef GPUPROBE_PROCESS_MAPS_H
#define GPUPROBE_PROCESS_MAPS_H

#include <sys/stat.h>

#include "base/types.h"

/* One line of /proc/PID/maps. path points into the line; a newline in a name stands as "\012" there. */
struct maps_line {
	u64 start, end, file_offset;
	u64 device; /* makedev() of its two numbers */
	u64 inode;
	bool executable;
	bool writable; /* and private: a store changes nobody else's */
	bool shared;
	const char *path; /* "": anonymous */
};

/* Takes the line at *text apart (and writes a NUL at its end); moves *text behind it. False at the end. A
 * line that is not understood has inode 0. */
bool maps_next(char **text, struct maps_line *ret_line);
/* The file of a mapping, whatever its name leads to by now: file_open_plain(). proc_fd: /proc/PID. */
int maps_file_open(int proc_fd, const struct maps_line *line, struct stat *ret_status);

#endif
