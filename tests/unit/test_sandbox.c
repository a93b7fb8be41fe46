/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/types.h"
#include "process/sandbox.h"

/* The number of what went otherwise than it should, 0: nothing. */
static int try_all(int result_fd, int other_fd)
{
	const struct {
		s64 result;
		bool is_allowed;
	} tries[] = {
		{open("/proc/self/stat", O_RDONLY), true},
		{mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
				 MAP_FAILED
			 ? -1
			 : 0,
		 true},
		{write(result_fd, "x", 1), true},
		{write(other_fd, "x", 1), false},
		{open("/tmp/gpuprobe-sandbox", O_RDONLY | O_CREAT, 0600), false},
		{open("/dev/null", O_WRONLY), false},
		{open("/dev/null", O_RDWR), false},
		{open("/dev/null", O_RDONLY | O_TRUNC), false},
		{socket(AF_UNIX, SOCK_STREAM, 0), false},
		{kill(getpid(), 0), false},
		{fork(), false},
		{execl("/bin/true", "true", (char *)NULL), false},
		{unlink("/tmp/gpuprobe-sandbox"), false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(tries); i++)
		if ((tries[i].result >= 0) != tries[i].is_allowed)
			return (int)i + 1;
	return 0;
}

TEST(what_is_needed_is_allowed_and_nothing_else)
{
	int result[2], other[2], status;
	char byte;
	pid_t pid;

	CHECK(pipe(result) == 0 && pipe(other) == 0);
	pid = fork();
	if (pid == 0) {
		int entered = sandbox_enter(result[1]);

		_exit(entered ? 100 : try_all(result[1], other[1]));
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status));
	CHECK_U64(WEXITSTATUS(status), 0);
	CHECK(read(result[0], &byte, 1) == 1 && byte == 'x');
	CHECK(access("/tmp/gpuprobe-sandbox", F_OK) < 0 && errno == ENOENT);
	for (int i = 0; i < 2; i++) {
		close(result[i]);
		close(other[i]);
	}
}

UNIT_MAIN()
