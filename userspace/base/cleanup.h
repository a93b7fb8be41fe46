/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Locals that clean up after themselves: _cleanup_(f) calls f(&variable) when it goes out of scope. */
#ifndef GPUPROBE_BASE_CLEANUP_H
#define GPUPROBE_BASE_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(function) __attribute__((cleanup(function)))

static inline void cleanup_free(void *pointer)
{
	free(*(void **)pointer);
}

static inline void cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclose(FILE **file)
{
	if (*file)
		fclose(*file);
}

static inline void cleanup_closedir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

#define _cleanup_free_	   _cleanup_(cleanup_free)
#define _cleanup_close_	   _cleanup_(cleanup_close)
#define _cleanup_fclose_   _cleanup_(cleanup_fclose)
#define _cleanup_closedir_ _cleanup_(cleanup_closedir)

/* Hands the value on and disarms the cleanup: `*ret_fd = take_fd(&fd)`, `*ret_x = take_pointer(&x)`. */
static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#define take_pointer(pointer)                                                                      \
	({                                                                                         \
		__typeof__(*(pointer)) taken_ = *(pointer);                                        \
		*(pointer) = NULL;                                                                 \
		taken_;                                                                            \
	})

#endif
