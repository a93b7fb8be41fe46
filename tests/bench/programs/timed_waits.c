/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits that nobody ends but their time limit, 60 us each, and some work behind each: for each line "KIND COUNT" so many, then a line "done". All
 * kinds leave the CPU and come back in the same way, so what recording takes of them differs by what it finds out about the wait's target alone.
 *
 *	none	ppoll of nothing
 *	pipe	ppoll of a pipe
 *	three	ppoll of a pipe and two UNIX sockets
 *	unix	ppoll of a UNIX socket
 *	tcp	ppoll of a TCP socket
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_NS 60000
#define WORK	 200000 /* so that recording takes a small share of its time */

static int pipes[2], unix_one[2], unix_two[2], tcp;

static int open_all(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	tcp = socket(AF_INET, SOCK_STREAM, 0);
	if (tcp < 0 || pipe(pipes) || socketpair(AF_UNIX, SOCK_STREAM, 0, unix_one) ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, unix_two))
		return -1;
	return bind(tcp, (void *)&address, sizeof(address)) || listen(tcp, 1) ? -1 : 0;
}

static void wait_once(const char *kind)
{
	const struct timespec limit = {.tv_nsec = LIMIT_NS};
	struct pollfd files[] = {
		{pipes[0], POLLIN, 0}, {unix_one[0], POLLIN, 0}, {unix_two[0], POLLIN, 0}};
	struct pollfd server = {tcp, POLLIN, 0};

	if (!strcmp(kind, "none"))
		ppoll(NULL, 0, &limit, NULL);
	else if (!strcmp(kind, "pipe"))
		ppoll(files, 1, &limit, NULL);
	else if (!strcmp(kind, "three"))
		ppoll(files, 3, &limit, NULL);
	else if (!strcmp(kind, "tcp"))
		ppoll(&server, 1, &limit, NULL);
	else
		ppoll(files + 1, 1, &limit, NULL);
	for (volatile int i = 0; i < WORK; i++)
		;
}

int main(void)
{
	char kind[16];
	long count;

	setvbuf(stdout, NULL, _IONBF, 0);
	if (open_all())
		return 1;
	puts("ready");
	while (scanf("%15s %ld", kind, &count) == 2) {
		while (count--)
			wait_once(kind);
		puts("done");
	}
	return 0;
}
