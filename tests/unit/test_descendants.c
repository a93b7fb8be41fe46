/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who descends from whom: children made here. */
#include "process/descendants.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit.h"

static bool is_in(const u32 *pids, size_t count, u32 pid)
{
	for (size_t i = 0; i < count; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

TEST(children_and_grandchildren_are_found)
{
	_cleanup_free_ u32 *found = NULL;
	struct err err = {0};
	size_t count = 0;
	int pipe_fds[2];
	pid_t child, grandchild = 0;

	CHECK(pipe(pipe_fds) == 0);
	child = fork();
	if (child == 0) {
		pid_t pid = fork();

		if (pid && write(pipe_fds[1], &pid, sizeof(pid)) != sizeof(pid))
			_exit(1);
		for (;;)
			pause();
	}
	CHECK(read(pipe_fds[0], &grandchild, sizeof(grandchild)) == sizeof(grandchild));
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	u32 given[] = {(u32)child};

	CHECK_OK(descendants_list(given, 1, &found, &count, &err), err);
	CHECK_U64(count, 1);
	CHECK(is_in(found, count, (u32)grandchild));
	free(take_pointer(&found));
	/* Not ourselves, not those that are given. */
	u32 both[] = {(u32)getppid(), (u32)child};

	CHECK_OK(descendants_list(both, 2, &found, &count, &err), err);
	CHECK(is_in(found, count, (u32)grandchild));
	CHECK(!is_in(found, count, (u32)child));
	CHECK(!is_in(found, count, (u32)getpid()));
	kill(grandchild, SIGKILL);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

TEST(a_process_without_children_has_none)
{
	_cleanup_free_ u32 *found = NULL;
	struct err err = {0};
	size_t count = 1;
	u32 given[] = {0x7ffffff0};

	CHECK_OK(descendants_list(given, 1, &found, &count, &err), err);
	CHECK_U64(count, 0);
}

UNIT_MAIN()
