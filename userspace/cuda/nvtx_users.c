/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cuda/nvtx_users.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "process/maps.h"
#include "process/proc_file.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "../gpu/nvtx/nvtx_globals.h"
#include "../gpu/shared.h"

#define BLOCK_BYTES   (1U << 20)
#define SCANNED_BYTES (4ULL << 30) /* of one process, at most */
#define OLD_LIBRARY   "libnvToolsExt.so"
#define TOOL_VARIABLE "NVTX_INJECTION64_PATH="

struct search {
	struct nvtx_users *users;
	pid_t pid;
	int memory_fd;
	u64 scanned_bytes;
	u8 *block;
	const char *module;    /* whose data is being read */
	const char *maps_text; /* of the target, whole */
};

void nvtx_users_scan(const void *bytes, size_t size, u64 address,
		     void (*found)(void *data, const struct nvtx_globals *globals, u64 address),
		     void *data)
{
	const u8 *at = bytes;
	struct nvtx_globals globals;

	for (; size >= sizeof(globals); at += NVTX_GLOBALS_ALIGN_BYTES,
					address += NVTX_GLOBALS_ALIGN_BYTES,
					size -= NVTX_GLOBALS_ALIGN_BYTES) {
		u64 callbacks_bytes;

		memcpy(&callbacks_bytes, at + offsetof(struct nvtx_globals, callbacks_bytes),
		       sizeof(callbacks_bytes));
		if (callbacks_bytes != NVTX_CALLBACKS_BYTES)
			continue;
		memcpy(&globals, at, sizeof(globals));
		if (nvtx_globals_match(&globals, address))
			found(data, &globals, address);
	}
}

/* ---- whose ---- */

/* The file that is mapped at the address; "": none. */
static void name_of(const struct search *search, u64 address, char *ret_path, size_t path_bytes)
{
	_cleanup_free_ char *copy = strdup(search->maps_text);
	struct maps_line line;
	char *text = copy;

	*ret_path = 0;
	while (text && maps_next(&text, &line))
		if (address >= line.start && address < line.end)
			snprintf(ret_path, path_bytes, "%s", line.path);
}

static void judge(const struct search *search, const struct nvtx_globals *globals,
		  struct nvtx_user *user)
{
	size_t i = 0;

	if (globals->initialisation != NVTX_COMPLETE) {
		user->state = globals->initialisation == NVTX_FRESH ? NVTX_USER_FRESH
								    : NVTX_USER_STARTING;
		return;
	}
	while (i < NVTX_WORDS && !globals->words[i])
		i++;
	user->state = NVTX_USER_NOTHING;
	if (i == NVTX_WORDS)
		return;
	name_of(search, globals->words[i], user->tool, sizeof(user->tool));
	user->state = strstr(user->tool, "memfd:" AGENT_MEMFD_RESIDENT) ? NVTX_USER_GPUPROBE
									: NVTX_USER_TOOL;
}

static void note(void *data, const struct nvtx_globals *globals, u64 address)
{
	struct search *search = data;
	struct nvtx_users *users = search->users;
	struct nvtx_user *user = &users->items[users->count];

	if (users->count == NVTX_USERS_MAX) {
		users->beyond++;
		return;
	}
	users->count++;
	*user = (struct nvtx_user){.address = address};
	snprintf(user->module, sizeof(user->module), "%s", search->module);
	judge(search, globals, user);
}

/* ---- where ---- */

/* Some pages at a time, where the file of the memory is read page by page: of a process of PyTorch that is four times as fast. */
static ssize_t memory_read(const struct search *search, u64 address, size_t size)
{
	struct iovec local = {search->block, size}, remote = {(void *)address, size};
	ssize_t got = process_vm_readv(search->pid, &local, 1, &remote, 1, 0);

	return got > 0 ? got : pread(search->memory_fd, search->block, size, (off_t)address);
}

/* What can't be read is left out. Blocks overlap by what of one variable may stand at the end of the first. */
static void search_mapping(struct search *search, const struct maps_line *line)
{
	u64 step = BLOCK_BYTES - NVTX_GLOBALS_BYTES + NVTX_GLOBALS_ALIGN_BYTES;

	search->module = line->path;
	for (u64 at = line->start; at < line->end && search->scanned_bytes < SCANNED_BYTES;
	     at += step) {
		u64 left = line->end - at;
		ssize_t got = memory_read(search, at, left < BLOCK_BYTES ? left : BLOCK_BYTES);

		if (got <= 0)
			break;
		search->scanned_bytes += got;
		nvtx_users_scan(search->block, got, at, note, search);
		if ((u64)got >= left)
			break;
	}
}

static void note_old_library(struct nvtx_users *users, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (slash && !strncmp(slash + 1, OLD_LIBRARY, strlen(OLD_LIBRARY)))
		snprintf(users->old_library, sizeof(users->old_library), "%s", path);
}

static bool was_started_with_tool(const struct target *target)
{
	_cleanup_free_ char *environment = NULL;
	const char *entry;
	size_t size;

	if (proc_file_read(target->proc_fd, "environ", &environment, &size))
		return false;
	for (entry = environment; entry < environment + size; entry += strlen(entry) + 1)
		if (!strncmp(entry, TOOL_VARIABLE, strlen(TOOL_VARIABLE)))
			return entry[strlen(TOOL_VARIABLE)];
	return false;
}

/* Was it there both times? *cursor goes through the known data as the caller goes through the maps, by address. */
static bool is_known(const struct nvtx_watch *watch, size_t *cursor, const struct nvtx_data *data)
{
	const struct nvtx_data *known = watch->known[1];

	while (*cursor < watch->known_count[1] && known[*cursor].start < data->start)
		++*cursor;
	return *cursor < watch->known_count[1] && !memcmp(&known[*cursor], data, sizeof(*data));
}

static void shift(struct nvtx_watch *watch, struct nvtx_data *latest, size_t count)
{
	free(watch->known[1]);
	watch->known[1] = watch->known[0];
	watch->known_count[1] = watch->known_count[0];
	watch->known[0] = latest;
	watch->known_count[0] = count;
}

/* Goes through maps, which it takes apart. */
static int search_all(struct search *search, struct nvtx_watch *watch, char *maps)
{
	struct nvtx_data *latest = NULL;
	size_t count = 0, capacity = 0, cursor = 0;
	struct maps_line line;

	while (maps_next(&maps, &line)) {
		struct nvtx_data data = {line.start, line.end, line.inode};

		if (line.inode && !line.file_offset)
			note_old_library(search->users, line.path);
		if (!line.inode || !line.writable)
			continue;
		if (array_reserve(&latest, &capacity, count + 1) < 0) {
			free(latest);
			return -ENOMEM;
		}
		latest[count++] = data;
		if (!is_known(watch, &cursor, &data))
			search_mapping(search, &line);
	}
	shift(watch, latest, count);
	return 0;
}

int nvtx_watch_look(struct nvtx_watch *watch, const struct target *target,
		    struct nvtx_users *ret_users, struct err *err)
{
	_cleanup_close_ int memory_fd = openat(target->proc_fd, "mem", O_RDONLY | O_CLOEXEC);
	_cleanup_free_ u8 *block = malloc(BLOCK_BYTES);
	_cleanup_free_ char *maps = NULL, *whole = NULL;
	struct search search = {.users = ret_users,
				.pid = (pid_t)target->pid,
				.memory_fd = memory_fd,
				.block = block};
	size_t size;
	int result = memory_fd < 0 ? -errno : proc_file_read(target->proc_fd, "maps", &maps, &size);

	if (result)
		return err_errno(err, result, "can't read the memory of %s (%u)", target->comm,
				 target->pid);
	whole = strdup(maps);
	*ret_users = (struct nvtx_users){.tool_named = was_started_with_tool(target)};
	search.maps_text = whole;
	if (!whole || !block || search_all(&search, watch, maps))
		return err_errno(err, -ENOMEM, "can't look for users of NVTX");
	return 0;
}

void nvtx_watch_free(struct nvtx_watch *watch)
{
	free(watch->known[0]);
	free(watch->known[1]);
	*watch = (struct nvtx_watch){0};
}

int nvtx_users_find(const struct target *target, struct nvtx_users *ret_users, struct err *err)
{
	struct nvtx_watch watch = {0};
	int result = nvtx_watch_look(&watch, target, ret_users, err);

	nvtx_watch_free(&watch);
	return result;
}

/* ---- for people ---- */

void nvtx_users_append(const struct nvtx_users *users, struct text *text)
{
	static const char *const words[] = {
		[NVTX_USER_FRESH] = "not initialised yet: it has called nothing of NVTX so far",
		[NVTX_USER_STARTING] = "a thread of it is initialising it",
		[NVTX_USER_NOTHING] = "initialised to nothing: there was no tool",
		[NVTX_USER_TOOL] = "another tool holds it: ",
		[NVTX_USER_GPUPROBE] = "an agent of gpuprobe holds it",
	};

	if (users->count || *users->old_library)
		text_append(text, "  NVTX users:\n");
	for (size_t i = 0; i < users->count; i++) {
		const struct nvtx_user *user = &users->items[i];

		text_append(text, "    ");
		text_append_terminal(text, user->module, strlen(user->module));
		text_appendf(text, ": %s", words[user->state]);
		if (user->state == NVTX_USER_TOOL)
			text_append_terminal(text, *user->tool ? user->tool : "code of no file",
					     *user->tool ? strlen(user->tool)
							 : strlen("code of no file"));
		text_append_char(text, '\n');
	}
	if (users->beyond)
		text_appendf(text, "    and %zu more\n", users->beyond);
	if (*users->old_library) {
		text_append(text, "    ");
		text_append_terminal(text, users->old_library, strlen(users->old_library));
		text_append(text, ": NVTX 2, which is not recorded\n");
	}
	if (users->tool_named && (users->count || *users->old_library))
		text_append(text, "    NVTX_INJECTION64_PATH is set: what is not initialised "
				  "yet gets the tool that it names\n");
}
