/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How wide a terminal is. */
#ifndef GPUPROBE_BASE_TERMINAL_H
#define GPUPROBE_BASE_TERMINAL_H

#include <stddef.h>

/* Of narrower ones: words would be cut. */
#define TERMINAL_COLUMNS_LEAST 40

/* How many columns text for this descriptor should have: `most`, or where it is a narrower terminal as many as that has. */
size_t terminal_columns(int fd, size_t most);

#endif
