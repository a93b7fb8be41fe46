/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Children that are targets. One after the other calls a probed function and ends; at once, before the kernel has freed what it has of it,
 * a new process gets its number, calls the same function more often and waits in poll(), where none of the others does. The last child
 * stays. "refused": how many did not get the number.
 */
#include <linux/sched.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "protocol.h"

#define CHILDREN       6
#define CALLS	       10
#define STRANGER_CALLS 1000
#define STRANGER_WAITS 5

static volatile long sink;

PROBED void probed(long value)
{
	sink += value;
}

static void call(long times)
{
	for (long i = 0; i < times; i++)
		probed(i);
}

static pid_t child(int fds[2])
{
	char byte;
	pid_t pid;

	if (pipe(fds) || (pid = fork()) < 0)
		exit(1);
	if (pid)
		return pid;
	close(fds[1]);
	if (read(fds[0], &byte, 1) != 1)
		_exit(0);
	call(CALLS);
	_exit(0);
}

/* 0: it ran. */
static int stranger(pid_t number)
{
	struct clone_args arguments = {
		.exit_signal = SIGCHLD, .set_tid = (unsigned long)&number, .set_tid_size = 1};
	long pid = syscall(SYS_clone3, &arguments, sizeof(arguments));

	if (pid == 0) {
		for (int i = 0; i < STRANGER_WAITS; i++)
			poll(NULL, 0, 1);
		call(STRANGER_CALLS);
		_exit(0);
	}
	return pid == number ? waitpid(number, NULL, 0) != number : 1;
}

int main(void)
{
	pid_t pids[CHILDREN];
	int fds[CHILDREN][2], refused = 0;

	for (int i = 0; i < CHILDREN; i++)
		pids[i] = child(fds[i]);
	protocol_begin();
	for (int i = 0; i < CHILDREN - 1; i++) {
		if (write(fds[i][1], "x", 1) != 1 || waitpid(pids[i], NULL, 0) != pids[i])
			return 1;
		refused += stranger(pids[i]);
	}
	protocol_count("calls", CALLS);
	protocol_count("refused", refused);
	protocol_end();
	return 0;
}
