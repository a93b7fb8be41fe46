/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A libcublasLt of a target that means harm: what it does to whoever loads it (to a process that has HOSTILE_SPARES in its environment:
 * nothing) leaves a file each in FOLDER, where it succeeds. It never comes back.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "/tmp/gpuprobe-hostile"

static void mark(const char *what)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), FOLDER "/%s", what);
	fd = open(path, O_CREAT | O_WRONLY, 0666);
	if (fd >= 0)
		close(fd);
}

static void try_all(void)
{
	mark("written");
	if (mkdir(FOLDER "/folder", 0777) == 0)
		mark("folder");
	if (fork() == 0) {
		mark("forked");
		_exit(0);
	}
	if (socket(AF_INET, SOCK_STREAM, 0) >= 0)
		mark("socket");
	kill(getppid(), SIGKILL);
	ptrace(PTRACE_SEIZE, getppid(), 0, 0);
	execl("/bin/sh", "sh", "-c", "echo >" FOLDER "/executed", (char *)NULL);
}

static void __attribute__((constructor)) harm(void)
{
	if (getenv("HOSTILE_SPARES"))
		return;
	try_all();
	for (;;)
		continue;
}
