/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug files that were fetched before, by build id, in a folder that nobody else can write; and for a while which ones no server
 * has. What is in them is not looked at.
 */
#ifndef GPUPROBE_RESOLVE_DEBUG_STORE_H
#define GPUPROBE_RESOLVE_DEBUG_STORE_H

#include "base/types.h"

#define DEBUG_STORE_FOLDER    "/var/cache/gpuprobe/debug"
#define DEBUG_STORE_MAX_BYTES (1ULL << 30) /* of all files; beyond, those go that were used longest ago */
#define DEBUG_STORE_MAX_FILES 256
#define DEBUG_STORE_UNKNOWN_S 600 /* so long no server is asked again for what none had */

/* ret_fd is the caller's. 0; -ENODATA: no server has it; -ENOENT: to be asked for. */
int debug_store_find(int folder_fd, const u8 *build_id, size_t bytes, int *ret_fd);
/* A file without a name in that folder, for debug_store_keep(). 0 or -errno. */
int debug_store_make(int folder_fd, int *ret_fd);
/* Best effort, as a whole or not at all. */
void debug_store_keep(int folder_fd, const u8 *build_id, size_t bytes, int fd);
void debug_store_note_unknown(int folder_fd, const u8 *build_id, size_t bytes);

#endif
