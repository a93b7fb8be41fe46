/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hits USDT probes when its test says so; so does a child that was forked before ("early PID") and one that is forked then
 * ("late PID"). Each makes HITS of them, and stays until this process ends.
 */
#define _SDT_HAS_SEMAPHORES 1
#include <signal.h>
#include <sys/prctl.h>
#include <sys/sdt.h>
#include <unistd.h>

#include "protocol.h"

#define HITS 100

__extension__ unsigned short forks_guarded_semaphore __attribute__((section(".probes"), used));
__extension__ unsigned short forks_unguarded_semaphore __attribute__((section(".probes"), used));

PROBED void hit_all(void)
{
	for (int i = 0; i < HITS; i++) {
		if (forks_guarded_semaphore)
			STAP_PROBE1(forks, guarded, i);
		STAP_PROBE1(forks, unguarded, i);
	}
}

/* One that does its part when a byte comes from `begin`, and closes `done` then. */
static pid_t fork_one(const int begin[2], const int done[2])
{
	pid_t pid = fork();
	char byte;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(begin[1]);
	close(done[0]);
	if (read(begin[0], &byte, 1) == 1)
		hit_all();
	close(done[1]);
	for (;;)
		pause();
}

int main(void)
{
	int begin[2], done[2];
	pid_t early, late;
	char byte;

	if (pipe(begin) || pipe(done))
		return 1;
	early = fork_one(begin, done);
	protocol_begin();
	hit_all();
	late = fork_one(begin, done);
	close(done[1]);
	if (write(begin[1], "xx", 2) != 2 || read(done[0], &byte, 1) != 0)
		return 1;
	protocol_count("early", (unsigned long)early);
	protocol_count("late", (unsigned long)late);
	protocol_count("hits", HITS);
	protocol_end();
	return 0;
}
