/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Forks children that call the probed function much more often than itself, one of them from a
 * thread. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "protocol.h"

#define CHILDREN    5
#define OWN_CALLS   100
#define CHILD_CALLS 2000

static volatile long sink;

PROBED long probed(long value)
{
	sink += value;
	return value + 1;
}

static long call(long times)
{
	long sum = 0;

	for (long i = 0; i < times; i++)
		sum += probed(i) - i;
	return sum;
}

/* A child that is forked inside a probed function returns through a frame of its parent's. */
PROBED pid_t fork_inside(void)
{
	return fork();
}

/* Borrows memory and stack of its parent until it ends. */
static int vfork_child(void)
{
	int status = 0;
	pid_t pid = vfork();

	if (pid == 0)
		_exit(probed(1) != 2);
	waitpid(pid, &status, 0);
	return status;
}

static void *thread(void *ret_good)
{
	*(int *)ret_good = call(CHILD_CALLS) == CHILD_CALLS;
	return NULL;
}

static int child(void)
{
	pthread_t other;
	int good = 0;

	if (call(CHILD_CALLS) != CHILD_CALLS || pthread_create(&other, NULL, thread, &good))
		return 1;
	pthread_join(other, NULL);
	return !good;
}

int main(void)
{
	unsigned long failures = 0;

	protocol_begin();
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork_inside();
		int status = 0;

		if (pid == 0)
			_exit(child());
		failures += call(OWN_CALLS) != OWN_CALLS;
		waitpid(pid, &status, 0);
		failures += status != 0;
		failures += vfork_child() != 0;
	}
	protocol_count("probed", CHILDREN * OWN_CALLS);
	protocol_count("fork_inside", CHILDREN);
	protocol_count("failures", failures);
	protocol_end();
	return 0;
}
