/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What code processes have mapped, as far as it was looked at: at the start of a recording, when it changed, at its end.
 * Files are held open, so that they can be read when the process is gone or has deleted them. One thread at a time.
 */
#ifndef GPUPROBE_PROCESS_CODE_MAP_H
#define GPUPROBE_PROCESS_CODE_MAP_H

#include "base/map.h"
#include "base/types.h"
#include "process/gpu_caches.h"

#define CODE_MAP_FILES_MAX 8192 /* held open in all; of further ones only the path is known */

struct code_file {
	int fd; /* -1: it could not be opened */
	u8 build_id[20];
	u64 device, inode;
};

struct code_mapping {
	u32 id; /* from 1, in the order of their appearance over all processes */
	u32 pid;
	u64 start, end, file_offset;
	u64 device, inode; /* as /proc/PID/maps has them; inode 0: no file */
	char *path;	   /* as the process sees it; "[vdso]" and the like, "" for anonymous memory */
	size_t file;	   /* index; SIZE_MAX: none */
	bool moved; /* to memory of no file, as moved_text.h tells; all else is said as if it were not */
	bool writable; /* so what lies there may be about to come */
	u64 first_seen_ns, last_seen_ns;
};

struct code_process {
	u32 pid;
	u32 pid_in_namespace;
	int root_fd; /* its root folder (O_PATH), -1: unknown; of all that have the same one descriptor, the first one's */
	u64 root_mount, root_inode; /* of it; 0: not known which */
	bool root_is_anothers;
	u32 uid;
	u64 executable_kb; /* what it had mapped when last looked at: cheap to compare */
	struct gpu_caches caches; /* of its environment */
	u64 looked_ns; /* when what it maps was read; mappings that were not seen then are gone */
};

/* Zero-initialise. */
struct code_map {
	struct code_mapping *mappings; /* by id - 1; of a process that is looked at again only what is new is added */
	size_t count, capacity;
	struct code_file *files;
	size_t file_count, file_capacity;
	struct code_process *processes;
	size_t process_count, process_capacity;
	struct map by_range; /* (pid, start) -> id of the last one there */
	struct map by_maps;  /* hash of (pid, device, inode) as maps has them -> file */
	struct map by_file;  /* (device, inode) of the open file -> file */
	struct map by_pid;   /* -> place in processes */
	struct map parents;  /* of who was forked meanwhile -> who forked it */
	struct map execs;    /* pid -> when it executed another program first */
};

/* Reads what the process maps now. Only if it maps another amount of code than last time, unless `always`. 0 or -errno: it has
 * ended, is not to be read, ...; what is known stays. Takes some ms for a process with thousands of mappings, and
 * opens each file that is new. */
int code_map_look(struct code_map *map, u32 pid, bool always);
/* A process was forked, and has the code of its parent until it executes another program. For those that are gone before they are looked
 * at. Without memory for it their code stays unknown. */
void code_map_note_fork(struct code_map *map, u32 child, u32 parent);
void code_map_note_exec(struct code_map *map, u32 pid, u64 now_ns);
/* Whose mappings tell what code a process had at an address, of which it is known that it was there until last_ns: its own, or
 * those of who forked it. */
u32 code_map_owner(const struct code_map *map, u32 pid, u64 last_ns);
/* Did its process map it itself, with the program that it executed last? Else it is a copy of what who forked it had there. */
bool code_map_is_own(const struct code_map *map, const struct code_mapping *mapping);
void code_map_free(struct code_map *map);

#endif
