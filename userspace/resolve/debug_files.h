/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The debug files that a first look for names was without: those that are kept from before, and from servers, those that name most
 * addresses first.
 */
#ifndef GPUPROBE_RESOLVE_DEBUG_FILES_H
#define GPUPROBE_RESOLVE_DEBUG_FILES_H

#include "resolve/answers.h"
#include "resolve/resolve.h"

#define DEBUG_FILES_MAX 32

struct debug_file {
	const struct answers_wish *wish; /* one of those of its build id */
	u64 address_count;		 /* of all of them */
	int fd;				 /* -1: none */
	bool is_fetched;
	bool is_unknown; /* to all servers, as was found out before */
};

struct debug_files {
	struct debug_file items[DEBUG_FILES_MAX];
	size_t count;
	int folder_fd; /* where they are kept, -1: nowhere */
};

/* 0, or what debug_server_ask() returns: what was found is there all the same. Blocks as that does. */
int debug_files_get(const struct answers_wish *wishes, size_t count, const struct resolve_debug *config,
		    struct debug_files *ret_files, struct resolve_debug_status *ret_status, struct err *err);
/* For a build id; -1: none. It stays that of files. */
int debug_files_fd(const struct debug_files *files, const struct answers_wish *wish);
/* What was given for it is the debug file of something else. */
void debug_files_forget(const struct debug_files *files, const struct answers_wish *wish);
void debug_files_free(struct debug_files *files);

#endif
