/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Forks as a server does: a child that exists when recording begins, then children while it goes on. Each
 * calls functions of its own and, after a pause (PAUSE_MS of the environment) in which it can be followed, of the C
 * library; each result is right or counted as a failure.
 */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "leaf_and_outer.h"
#include "protocol.h"

#define CALLS	 500
#define CHILDREN 4

static int call(void)
{
	unsigned seed = 1;
	int failures = 0;

	for (long i = 0; i < CALLS; i++)
		failures += outer(i) != 2 * (i + 1);
	protocol_pause(200);
	for (long i = 0; i < CALLS; i++)
		sink += rand_r(&seed);
	return failures != 0;
}

static void *thread(void *ret_failures)
{
	*(int *)ret_failures = call();
	return NULL;
}

/* A child with a thread and a child of its own. */
static int child(void)
{
	pthread_t other;
	int failures = 0, status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(call());
	pthread_create(&other, NULL, thread, &failures);
	pthread_join(other, NULL);
	waitpid(pid, &status, 0);
	return failures || status;
}

/* Waits for the end of its input. */
static int early_child(int input)
{
	char byte;

	if (read(input, &byte, 1) != 1)
		return 1;
	return call();
}

int main(void)
{
	unsigned long failures = 0;
	int pipe_fds[2], status = 0;
	pid_t early;

	if (pipe(pipe_fds))
		return 1;
	early = fork();
	if (early == 0)
		_exit(early_child(pipe_fds[0]));
	protocol_begin();
	if (write(pipe_fds[1], "", 1) != 1)
		return 1;
	failures += call() != 0;
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(child());
		waitpid(pid, &status, 0);
		failures += status != 0;
	}
	waitpid(early, &status, 0);
	failures += status != 0;
	protocol_count("outer", (2 + 2 * CHILDREN) * CALLS);
	protocol_count("leaf", 2 * (2 + 2 * CHILDREN) * CALLS);
	protocol_count("rand_r", (2 + 2 * CHILDREN) * CALLS);
	protocol_count("processes", 2 + 2 * CHILDREN);
	protocol_count("failures", failures);
	protocol_end();
	return 0;
}
