/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inject/agent_launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inject/agent_library.h"
#include "process/descendants.h"
#include "process/maps.h"
#include "process/memfd.h"
#include "process/proc_file.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "../gpu/shared.h"

#define INJECTION_VARIABLE "CUDA_INJECTION64_PATH"
/* Low numbers are what programs are used to be given by those that start them. */
#define FD_FIRST 200

/* A memfd out of the way of the command's own descriptors. -errno. */
static int make_file(const char *name)
{
	int fd = memfd_create(name, memfd_flags()), high;

	if (fd < 0)
		return -errno;
	high = fcntl(fd, F_DUPFD_CLOEXEC, FD_FIRST);
	if (high < 0)
		return fd;
	close(fd);
	return high;
}

static int fill_library(struct agent_launch *launch)
{
	size_t bytes;
	const void *library = agent_library(&bytes);
	int result = file_write(launch->library_fd, library, bytes);

	return result ? result : memfd_seal(launch->library_fd);
}

static int make_rings(struct agent_launch *launch)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", launch->ring_fd);
	if (ftruncate(launch->ring_fd, (off_t)(AGENT_LAUNCH_RINGS * launch->ring_bytes)) ||
	    fcntl(launch->ring_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return -errno;
	launch->lock_fd = open(path, O_RDWR | O_CLOEXEC);
	return launch->lock_fd < 0 || flock(launch->lock_fd, LOCK_EX | LOCK_NB) ? -errno : 0;
}

int agent_launch_open(u64 shared_bytes, struct agent_launch *ret_launch, struct err *err)
{
	struct agent_launch launch = {-1, -1, -1, -1, AGENT_CONTROL_BYTES + shared_bytes};
	const char *other = getenv(INJECTION_VARIABLE);
	int result;

	if (other && *other)
		return err_set(err, -EBUSY,
			       "another tool is to be loaded into what the command does with CUDA "
			       "(" INJECTION_VARIABLE "=%s): unset it, or use --no-inject",
			       other);
	launch.library_fd = make_file(AGENT_MEMFD_LIBRARY);
	launch.cupti_fd = make_file(AGENT_MEMFD_CUPTI);
	launch.ring_fd = make_file(AGENT_MEMFD_RING);
	result = launch.library_fd < 0 ? launch.library_fd
		 : launch.cupti_fd < 0 ? launch.cupti_fd
		 : launch.ring_fd < 0  ? launch.ring_fd
				       : fill_library(&launch);
	if (!result)
		result = make_rings(&launch);
	if (result) {
		agent_launch_close(&launch);
		return err_errno(err, result, "can't prepare the agent for the command");
	}
	*ret_launch = launch;
	return 0;
}

void agent_launch_close(struct agent_launch *launch)
{
	cleanup_close(&launch->library_fd);
	cleanup_close(&launch->cupti_fd);
	cleanup_close(&launch->ring_fd);
	cleanup_close(&launch->lock_fd);
	launch->library_fd = launch->cupti_fd = launch->ring_fd = launch->lock_fd = -1;
}

static void file_path(u32 pid, int fd, char path[64])
{
	snprintf(path, 64, "/proc/%u/fd/%d", pid, fd);
}

/* By the command's number and not "self": a descendant may have closed what it inherited. */
void agent_launch_in_child(void *data)
{
	const struct agent_launch *launch = data;
	const int fds[] = {launch->library_fd, launch->cupti_fd, launch->ring_fd};
	char path[64];

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fcntl(fds[i], F_SETFD, 0);
	file_path(getpid(), launch->library_fd, path);
	setenv(INJECTION_VARIABLE, path, 1);
	file_path(getpid(), launch->ring_fd, path);
	setenv(AGENT_RING_VARIABLE, path, 1);
}

int agent_launch_hand_over(struct agent_launch *launch, u32 pid, int fd, const char *path,
			   char *ret_path, size_t path_bytes, struct err *err)
{
	char inherited[64];
	int result = memfd_copy(launch->cupti_fd, fd);

	if (!result)
		result = memfd_seal(launch->cupti_fd);
	if (result)
		return err_errno(err, result, "can't hand %s to the command", path);
	file_path(pid, launch->cupti_fd, inherited);
	snprintf(ret_path, path_bytes, "%s", inherited);
	return 0;
}

/* ---- who has taken them ---- */

/* inode 0: any. path: of the file in directory_fd that says what is mapped. */
static bool maps_memfd(int directory_fd, const char *path, const char *name, u64 inode, u64 offset)
{
	_cleanup_free_ char *maps = NULL;
	struct maps_line line;
	char *text;

	if (proc_file_read(directory_fd, path, &maps, NULL))
		return false;
	text = maps;
	while (maps_next(&text, &line))
		if ((!inode || line.inode == inode) && line.file_offset == offset &&
		    !strncmp(line.path, name, strlen(name)))
			return true;
	return false;
}

bool agent_launch_has_library(const struct target *process)
{
	return maps_memfd(process->proc_fd, "maps", "/memfd:" AGENT_MEMFD_LIBRARY, 0, 0);
}

bool agent_launch_reaches(const struct target *process)
{
	static const char wanted[] = AGENT_RING_VARIABLE "=";
	_cleanup_free_ char *environment = NULL;
	size_t size = 0;

	if (proc_file_read(process->proc_fd, "environ", &environment, &size))
		return false;
	for (const char *entry = environment; entry < environment + size;
	     entry += strlen(entry) + 1)
		if (!strncmp(entry, wanted, strlen(wanted)))
			return true;
	return false;
}

/* Of the thread that says to be the agent's. */
static u32 process_of_thread(u32 tid)
{
	_cleanup_free_ char *status = NULL;
	char path[32];
	u64 pid;

	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	if (proc_file_read(AT_FDCWD, path, &status, NULL) ||
	    !proc_status_number(status, "Tgid", 10, &pid))
		return 0;
	return pid;
}

/* thread: of it. One that has ended has nothing mapped. */
static bool has_ring(u32 thread, u64 inode, u64 offset)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/maps", thread);
	return maps_memfd(AT_FDCWD, path, "/memfd:" AGENT_MEMFD_RING, inode, offset);
}

u32 agent_launch_taker(const struct agent_launch *launch, u32 ring, u32 command_pid, u32 agent_tid)
{
	u64 offset = ring * launch->ring_bytes;
	_cleanup_free_ u32 *pids = NULL;
	u32 pid = process_of_thread(agent_tid);
	struct stat file;
	size_t count = 0;

	if (fstat(launch->ring_fd, &file))
		return 0;
	if (pid && has_ring(agent_tid, file.st_ino, offset))
		return pid;
	if (has_ring(command_pid, file.st_ino, offset))
		return command_pid;
	if (descendants_list(&command_pid, 1, &pids, &count, NULL))
		return 0;
	for (size_t i = 0; i < count; i++)
		if (has_ring(pids[i], file.st_ino, offset))
			return pids[i];
	return 0;
}
