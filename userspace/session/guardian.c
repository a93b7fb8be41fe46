/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "collect/bpf/open_returns.h"

#define SINGLE_MAX 100 /* 0.1 s for each */

/* In memory that both share. */
struct guardian {
	pid_t pid; /* of the guardian; for the guarded one */
	atomic_bool busy;
};

/* What others wait for the end of must not stay open, and Ctrl-C is not meant for it. */
static void detach_from_terminal(void)
{
	_cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	prctl(PR_SET_NAME, "gpuprobe-undo");
	for (int fd = 0; fd <= 2; fd++)
		dup2(null, fd);
}

static void undo(const struct guardian_work *work, bool was_busy)
{
	struct open_returns open_returns = {0};

	bool single = work->targets.single && !work->has_multi;

	bpf_source_set_window(work->source, false);
	/* Of single ones at most one stayed behind; to take all of them off again is better than that only for few. */
	if (was_busy && (!single || work->targets.plan->function_count <= SINGLE_MAX)) {
		struct source_targets targets = work->targets;

		targets.single = single;
		(void)bpf_source_attach(work->source, &targets, NULL);
		bpf_source_detach(work->source, NULL, NULL);
	}
	if (plan_hijacks_returns(work->targets.plan))
		open_returns_put_back(work->source, &open_returns);
}

static _Noreturn void guard(const struct guardian_work *work, const struct guardian *guardian,
			    int guarded_pidfd)
{
	struct pollfd poll_fd = {.fd = guarded_pidfd, .events = POLLIN};

	detach_from_terminal();
	agents_free(work->agents);
	while (poll(&poll_fd, 1, -1) < 0 && errno == EINTR)
		;
	/* It is gone, and its links with it. */
	undo(work, atomic_load(&guardian->busy));
	_exit(0);
}

struct guardian *guardian_start(const struct guardian_work *work)
{
	_cleanup_close_ int guarded = (int)syscall(SYS_pidfd_open, getpid(), 0);
	struct guardian *guardian;
	pid_t pid;

	if (guarded < 0)
		return NULL;
	guardian = mmap(NULL, sizeof(*guardian), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (guardian == MAP_FAILED)
		return NULL;
	atomic_store(&guardian->busy, true);
	pid = fork();
	if (pid == 0)
		guard(work, guardian, guarded);
	guardian->pid = pid;
	if (pid > 0)
		return guardian;
	munmap(guardian, sizeof(*guardian));
	return NULL;
}

void guardian_set_busy(struct guardian *guardian, bool busy)
{
	if (guardian)
		atomic_store(&guardian->busy, busy);
}

struct guardian *guardian_stop(struct guardian *guardian)
{
	if (!guardian)
		return NULL;
	kill(guardian->pid, SIGKILL);
	while (waitpid(guardian->pid, NULL, 0) < 0 && errno == EINTR)
		;
	munmap(guardian, sizeof(*guardian));
	return NULL;
}
