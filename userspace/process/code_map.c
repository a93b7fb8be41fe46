/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/code_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/maps.h"
#include "process/moved_text.h"
#include "process/proc_file.h"
#include "process/target.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/path.h"
#include "elf/elf_file.h"

struct look {
	struct code_map *map;
	u32 pid;
	int proc_fd;
	char *root; /* what precedes its paths as we see them: a chroot; "" usually */
	u64 now_ns;
};

/* ---- files ---- */

static void read_build_id(struct code_file *file, const char *path)
{
	u8 build_id[ELF_BUILD_ID_MAX_BYTES] = {0};
	struct elf_file *elf;

	if (elf_file_open(file->fd, path, &elf, NULL))
		return;
	elf_file_build_id(elf, build_id);
	memcpy(file->build_id, build_id, sizeof(file->build_id));
	elf_file_free(elf);
}

static int file_add(struct code_map *map, int fd, const struct stat *status, const char *path,
		    size_t *ret_file)
{
	struct code_file *file;

	if (map->file_count == CODE_MAP_FILES_MAX)
		return -EMFILE;
	if (array_reserve(&map->files, &map->file_capacity, map->file_count + 1))
		return -ENOMEM;
	if (map_set(&map->by_file, status->st_dev, status->st_ino, map->file_count))
		return -ENOMEM;
	file = &map->files[map->file_count];
	*file = (struct code_file){.fd = fd, .device = status->st_dev, .inode = status->st_ino};
	read_build_id(file, path);
	*ret_file = map->file_count++;
	return 0;
}

static int file_open(const struct look *look, const struct maps_line *line, const char *path,
		     size_t *ret_file)
{
	struct stat status;
	_cleanup_close_ int fd = maps_file_open(look->proc_fd, line, &status);
	u64 *known;
	int result;

	if (fd < 0)
		return fd;
	known = map_find(&look->map->by_file, status.st_dev, status.st_ino);
	if (known) {
		*ret_file = *known;
		return 0;
	}
	result = file_add(look->map, fd, &status, path, ret_file);
	if (!result)
		take_fd(&fd);
	return result;
}

/* The same numbers may mean other files in another mount namespace: what they mean is known of each process. */
static size_t file_of(const struct look *look, const struct maps_line *line, const char *path)
{
	u64 key = (u64)look->pid << 32 ^ line->device;
	u64 *known = map_find(&look->map->by_maps, key, line->inode);
	size_t file = SIZE_MAX;

	if (known)
		return *known;
	if (file_open(look, line, path, &file))
		return SIZE_MAX;
	(void)map_set(&look->map->by_maps, key, line->inode, file);
	return file;
}

/* ---- mappings ---- */

static bool is_same(const struct code_mapping *mapping, const struct maps_line *line)
{
	if (mapping->writable && !line->writable)
		return false;
	if (mapping->moved)
		return mapping->end == line->end && !line->inode;
	return mapping->end == line->end && mapping->file_offset == line->file_offset &&
	       mapping->device == line->device && mapping->inode == line->inode;
}

/* What is not written to may be a file's text. */
static void mapping_find_origin(const struct look *look, const struct maps_line *line,
				struct code_mapping *mapping)
{
	const struct code_mapping *origin;
	u64 file_offset;
	char *path;

	if (line->writable || (line->path[0] && strncmp(line->path, "[anon", 5)))
		return;
	origin = moved_text_find(look->map, look->pid, look->proc_fd, line, &file_offset);
	path = origin ? strdup(origin->path) : NULL;
	if (!path)
		return;
	free(mapping->path);
	mapping->path = path;
	mapping->file_offset = file_offset;
	mapping->device = origin->device;
	mapping->inode = origin->inode;
	mapping->file = origin->file;
	mapping->moved = true;
}

static int mapping_see(const struct look *look, const struct maps_line *line)
{
	struct code_map *map = look->map;
	u64 *last = map_find(&map->by_range, look->pid, line->start);
	struct code_mapping *mapping;
	char *path;

	if (last && is_same(&map->mappings[*last - 1], line)) {
		map->mappings[*last - 1].last_seen_ns = look->now_ns;
		return 0;
	}
	path = line->inode ? path_from_proc(line->path, look->root, NULL) : strdup(line->path);
	if (!path || array_reserve(&map->mappings, &map->capacity, map->count + 1) ||
	    map_set(&map->by_range, look->pid, line->start, map->count + 1)) {
		free(path);
		return -ENOMEM;
	}
	mapping = &map->mappings[map->count];
	*mapping = (struct code_mapping){.id = map->count + 1,
					 .pid = look->pid,
					 .start = line->start,
					 .end = line->end,
					 .file_offset = line->file_offset,
					 .device = line->device,
					 .inode = line->inode,
					 .path = path,
					 .file = SIZE_MAX,
					 .writable = line->writable,
					 .first_seen_ns = look->now_ns,
					 .last_seen_ns = look->now_ns};
	if (line->inode)
		mapping->file = file_of(look, line, path);
	else
		mapping_find_origin(look, line, mapping);
	map->count++;
	return 0;
}

/* Those of files first, among which others may find theirs. */
static int mappings_read(struct look *look)
{
	_cleanup_free_ char *maps = NULL, *root = NULL;
	_cleanup_free_ struct maps_line *others = NULL;
	size_t count = 0, capacity = 0;
	struct maps_line line;
	int result = proc_file_read(look->proc_fd, "maps", &maps, NULL);

	if (result)
		return result;
	look->root = (char *)"";
	if (!proc_link_read(look->proc_fd, "root", &root) && strcmp(root, "/"))
		look->root = root;
	for (char *at = maps; maps_next(&at, &line) && !result;) {
		if (!line.executable || line.end <= line.start)
			continue;
		if (line.inode)
			result = mapping_see(look, &line);
		else if (array_reserve(&others, &capacity, count + 1))
			result = -ENOMEM;
		else
			others[count++] = line;
	}
	for (size_t i = 0; i < count && !result; i++)
		result = mapping_see(look, &others[i]);
	return result;
}

/* ---- processes ---- */

/* Thousands of children would have a descriptor each. */
static void open_root(const struct code_map *map, struct code_process *process, int proc_fd)
{
	struct statx status;

	process->root_fd = openat(proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (process->root_fd < 0 ||
	    statx(process->root_fd, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &status) ||
	    !(status.stx_mask & STATX_MNT_ID))
		return;
	/* A mount has its number for as long as it is held open. */
	process->root_mount = status.stx_mnt_id;
	process->root_inode = status.stx_ino;
	for (const struct code_process *other = map->processes; other < process; other++) {
		if (other->root_fd < 0 || other->root_mount != process->root_mount ||
		    other->root_inode != process->root_inode)
			continue;
		cleanup_close(&process->root_fd);
		process->root_fd = other->root_fd;
		process->root_is_anothers = true;
		return;
	}
}

static int process_get(struct code_map *map, u32 pid, int proc_fd,
		       struct code_process **ret_process)
{
	u64 *place = map_find(&map->by_pid, pid, 0);
	struct code_process *process;
	struct stat status;

	if (place) {
		*ret_process = &map->processes[*place];
		return 0;
	}
	if (array_reserve(&map->processes, &map->process_capacity, map->process_count + 1) ||
	    map_set(&map->by_pid, pid, 0, map->process_count))
		return -ENOMEM;
	process = &map->processes[map->process_count++];
	*process = (struct code_process){.pid = pid, .root_fd = -1};
	if (!fstatat(proc_fd, ".", &status, 0))
		process->uid = status.st_uid;
	open_root(map, process, proc_fd);
	*ret_process = process;
	return 0;
}

static int open_thread(u32 tid, int *ret_fd, char **ret_status)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *status = NULL;
	char path[32];
	u64 libraries_kb;
	int result;

	snprintf(path, sizeof(path), "/proc/%u", tid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	result = proc_file_read(fd, "status", &status, NULL);
	if (result)
		return result;
	/* A thread that has ended, and waits to be reaped, has no memory. */
	if (!proc_status_number(status, "VmLib", 10, &libraries_kb))
		return -ESRCH;
	*ret_fd = take_fd(&fd);
	*ret_status = take_pointer(&status);
	return 0;
}

/* What the first thread has no longer others have, which /proc knows by their numbers too. */
static int open_living(u32 pid, int *ret_fd, char **ret_status)
{
	int result = open_thread(pid, ret_fd, ret_status);
	u32 tid;

	if (result != -ESRCH)
		return result;
	tid = target_living_thread(pid, pid);
	return tid ? open_thread(tid, ret_fd, ret_status) : result;
}

int code_map_look(struct code_map *map, u32 pid, bool always)
{
	struct look look = {.map = map, .pid = pid, .now_ns = clock_monotonic_ns()};
	_cleanup_close_ int proc_fd = -1;
	_cleanup_free_ char *status = NULL;
	struct code_process *process;
	u64 libraries_kb = 0, executable_kb = 0;
	int result = open_living(pid, &proc_fd, &status);

	if (!result)
		result = process_get(map, pid, proc_fd, &process);
	if (result)
		return result;
	proc_status_number(status, "VmLib", 10, &libraries_kb);
	proc_status_number(status, "VmExe", 10, &executable_kb);
	process->pid_in_namespace = proc_status_id_in_namespace(status);
	if (!always && process->executable_kb == libraries_kb + executable_kb)
		return 0;
	process->executable_kb = libraries_kb + executable_kb;
	gpu_caches_read(proc_fd, &process->caches);
	look.proc_fd = proc_fd;
	process->looked_ns = look.now_ns;
	return mappings_read(&look);
}

void code_map_note_fork(struct code_map *map, u32 child, u32 parent)
{
	/* A number that is used once more is that of the last one. */
	(void)map_set(&map->parents, child, 0, parent);
	if (map_find(&map->execs, child, 0))
		(void)map_set(&map->execs, child, 0, UINT64_MAX);
}

void code_map_note_exec(struct code_map *map, u32 pid, u64 now_ns)
{
	const u64 *first = map_find(&map->execs, pid, 0);

	if (map_find(&map->parents, pid, 0) && (!first || *first == UINT64_MAX))
		(void)map_set(&map->execs, pid, 0, now_ns);
}

#define GENERATIONS_MAX 64

u32 code_map_owner(const struct code_map *map, u32 pid, u64 last_ns)
{
	for (int i = 0; i < GENERATIONS_MAX; i++) {
		const u64 *parent = map_find(&map->parents, pid, 0);
		const u64 *exec_ns = map_find(&map->execs, pid, 0);
		bool executed = exec_ns && *exec_ns != UINT64_MAX;

		if (!parent || (executed && last_ns >= *exec_ns) ||
		    (!executed && map_find(&map->by_pid, pid, 0)))
			break;
		pid = (u32)*parent;
	}
	return pid;
}

bool code_map_is_own(const struct code_map *map, const struct code_mapping *mapping)
{
	const u64 *exec_ns = map_find(&map->execs, mapping->pid, 0), *parent;
	u32 pid = mapping->pid;

	if (exec_ns && *exec_ns != UINT64_MAX)
		return mapping->last_seen_ns >= *exec_ns;
	for (int i = 0; i < GENERATIONS_MAX && (parent = map_find(&map->parents, pid, 0)); i++) {
		const u64 *id = map_find(&map->by_range, *parent, mapping->start);

		if (id && map->mappings[*id - 1].inode == mapping->inode)
			return false;
		pid = (u32)*parent;
	}
	return true;
}

static void code_process_free(struct code_process *process)
{
	if (!process->root_is_anothers)
		cleanup_close(&process->root_fd);
	gpu_caches_free(&process->caches);
}

void code_map_free(struct code_map *map)
{
	for (size_t i = 0; i < map->count; i++)
		free(map->mappings[i].path);
	for (size_t i = 0; i < map->file_count; i++)
		cleanup_close(&map->files[i].fd);
	for (size_t i = 0; i < map->process_count; i++)
		code_process_free(&map->processes[i]);
	free(map->mappings);
	free(map->files);
	free(map->processes);
	map_free(&map->by_range);
	map_free(&map->by_maps);
	map_free(&map->by_file);
	map_free(&map->by_pid);
	map_free(&map->parents);
	map_free(&map->execs);
	*map = (struct code_map){0};
}
