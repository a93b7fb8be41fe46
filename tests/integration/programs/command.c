/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `gpuprobe -- COMMAND` starts: calls a probed function as the first thing of all, copies its
 * input to its output, and ends as its argument says.
 *	command exit N		exit status N
 *	command signal N	kills itself
 *	command sleep MS	sleeps, exit status 7
 *	command user		prints its user and group
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "protocol.h"

static volatile int sink;

PROBED void from_the_beginning(void)
{
	sink++;
}

static void copy_input(void)
{
	char buffer[4096];
	ssize_t size;

	while ((size = read(0, buffer, sizeof(buffer))) > 0)
		if (write(1, buffer, size) != size)
			exit(99);
}

int main(int argc, char **argv)
{
	int number = argc > 2 ? atoi(argv[2]) : 0;

	from_the_beginning();
	from_the_beginning();
	if (argc < 2)
		return 98;
	if (strcmp(argv[1], "user") == 0)
		printf("%u %u\n", getuid(), getgid());
	if (strcmp(argv[1], "exit") == 0)
		copy_input();
	if (strcmp(argv[1], "signal") == 0)
		raise(number);
	if (strcmp(argv[1], "sleep") == 0) {
		usleep(number * 1000);
		number = 7;
	}
	from_the_beginning();
	return number;
}
