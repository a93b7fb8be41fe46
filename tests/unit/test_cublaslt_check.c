/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the process is that loads a library of a target: by one that never comes back from being loaded. */
#include "plan/cublaslt_check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "scratch_folder.h"
#include "unit.h"

#define WAIT_STEPS   1000
#define WAIT_STEP_US 1000

/* What the process's file in /proc says, its first line. */
static void process_read(pid_t pid, const char *name, char ret_line[64])
{
	char path[64];
	_cleanup_fclose_ FILE *file = NULL;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	file = fopen(path, "re");
	if (!file || !fgets(ret_line, 64, file))
		ret_line[0] = '\0';
	ret_line[strcspn(ret_line, "\n")] = '\0';
}

TEST(a_process_that_takes_all_memory_is_the_first_that_goes)
{
	char path[SCRATCH_PATH_BYTES], score[64] = "", own[64], own_before[64];
	struct cublaslt_check check;
	_cleanup_close_ int fd = -1;
	pid_t pid;

	if (system("gcc --version >/dev/null 2>&1"))
		SKIP("no gcc");
	write_file("endless.c",
		   "__attribute__((constructor)) static void run(void) { for (;;) ; }\n");
	if (!shell("gcc -shared -fPIC -o libcublasLt.so.13 endless.c"))
		return;
	process_read(getpid(), "oom_score_adj", own_before);
	fd = open(in_folder(path, "libcublasLt.so.13"), O_RDONLY | O_CLOEXEC);
	cublaslt_check_begin(fd, &check);
	pid = check.pid;
	CHECK(pid > 0);
	for (unsigned i = 0; pid && i < WAIT_STEPS && strcmp(score, "1000"); i++) {
		process_read(pid, "oom_score_adj", score);
		usleep(WAIT_STEP_US);
	}
	CHECK_STRING(score, "1000");
	process_read(getpid(), "oom_score_adj", own);
	CHECK_STRING(own, own_before);
	cublaslt_check_cancel(&check);
	CHECK(!check.pid && kill(pid, 0) < 0 && errno == ESRCH);
}

UNIT_MAIN()
