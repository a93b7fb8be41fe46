/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Its only thread waits in vfork() for a child that lives until the end of standard input. Exit status 0: it ended as it should. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	int status = 0;
	pid_t child;
	char byte;

	printf("ready\n");
	fflush(stdout);
	child = vfork();
	if (!child) {
		while (read(0, &byte, 1) > 0)
			;
		_exit(7);
	}
	return child < 0 || waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7;
}
