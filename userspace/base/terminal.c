/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/terminal.h"

#include <sys/ioctl.h>

size_t terminal_columns(int fd, size_t most)
{
	struct winsize size;

	/* One that does not know its size says 0. */
	if (ioctl(fd, TIOCGWINSZ, &size) || !size.ws_col || size.ws_col >= most)
		return most;
	return size.ws_col < TERMINAL_COLUMNS_LEAST ? TERMINAL_COLUMNS_LEAST : size.ws_col;
}
