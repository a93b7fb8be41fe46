/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that are kept from executing their first instruction: walks_newborn, then a line on stdin. A process that is traced makes
 * THREADS of them by each way of the C library, on stacks that nobody has touched, and the tracer lets each of them wait. Prints
 * the number of the process before, and "done" after.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS	    10
#define STACK_BYTES (256 << 10)
#define HELD_US	    3000

static int begin(void *unused)
{
	return 0;
}

static void *begin_thread(void *unused)
{
	return NULL;
}

__attribute__((noinline)) static void makes_by_clone(void)
{
	char *stack =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int pid = clone(begin, stack + STACK_BYTES, CLONE_VM | SIGCHLD, NULL);

	waitpid(pid, NULL, __WALL);
}

__attribute__((noinline)) static void makes_by_pthread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, begin_thread, NULL);
	pthread_join(thread, NULL);
}

__attribute__((noinline)) static void makes_by_fork(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
}

static void make(int begin_pipe)
{
	char byte;

	if (read(begin_pipe, &byte, 1) != 1)
		exit(1);
	for (int i = 0; i < THREADS; i++) {
		makes_by_clone();
		makes_by_pthread();
		makes_by_fork();
	}
	exit(0);
}

/* Lets go on whatever stops: a thread that begins only after a while. */
static void hold_each(void)
{
	pid_t thread;
	int status;

	while ((thread = waitpid(-1, &status, __WALL)) > 0) {
		bool begins = status >> 16 == PTRACE_EVENT_STOP;

		if (!WIFSTOPPED(status))
			continue;
		if (begins)
			usleep(HELD_US);
		ptrace(PTRACE_CONT, thread, NULL, status >> 16 ? 0 : WSTOPSIG(status));
	}
}

int main(void)
{
	int begin_pipe[2];
	char line[64];
	pid_t pid;

	if (pipe(begin_pipe) || (pid = fork()) < 0)
		return 1;
	if (!pid)
		make(begin_pipe[0]);
	printf("%d\n", pid);
	fflush(stdout);
	/* Not before gpuprobe is there: it does not attach to what is traced. */
	if (!fgets(line, sizeof(line), stdin) ||
	    ptrace(PTRACE_SEIZE, pid, NULL,
		   PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_EXITKILL) ||
	    write(begin_pipe[1], "", 1) != 1)
		return 1;
	hold_each();
	puts("done");
	return 0;
}
