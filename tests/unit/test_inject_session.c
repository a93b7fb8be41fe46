/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that do not stop in the time that there is, and are let go on: their wait does not end by that. */
#include "inject/inject_session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "unit.h"

#define LATE_STOPS 50
#define TRIES_MAX  100000

struct shared {
	volatile int error; /* with which a wait ended */
	volatile bool waits;
};

static struct shared *shared_make(void)
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(shared != MAP_FAILED);
	return shared;
}

/* Its time is over, or nobody wants it any more. */
enum late { LATE_BY_TIME, LATE_GIVEN_UP };

/* The thread has no time to stop: whether it is late is a matter of who runs first. True: it was. */
static bool taken_too_late(pid_t pid, int memory_fd, enum late late)
{
	const u64 given_up_ns = 1;
	const struct inject_session_thread thread = {
		.pid = (u32)pid,
		.tid = (u32)pid,
		.given_up_ns = late == LATE_GIVEN_UP ? &given_up_ns : NULL};
	u64 left_ns = late == LATE_GIVEN_UP ? 600 * NS_PER_SECOND : 0;
	struct inject_session session;
	struct err err = {0};
	int result = inject_session_begin(&session, &thread, memory_fd,
					  clock_monotonic_ns() + left_ns, &err);

	if (!result)
		CHECK(!inject_session_end(&session, NULL));
	else if (result != -ETIMEDOUT && result != -EAGAIN)
		UNIT_FAIL("%s", err.message);
	return result == -ETIMEDOUT;
}

static int memory_open(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	return open(path, O_RDWR | O_CLOEXEC);
}

static void check_late(enum late kind)
{
	struct shared *shared = shared_make();
	unsigned late = 0;
	pid_t pid = fork();
	int memory_fd;

	if (!pid) {
		struct epoll_event event;
		int fd = epoll_create1(EPOLL_CLOEXEC);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			shared->waits = true;
			if (epoll_wait(fd, &event, 1, 60000))
				shared->error = errno;
		}
	}
	while (!shared->waits)
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	memory_fd = memory_open(pid);
	for (int i = 0; i < TRIES_MAX && late < LATE_STOPS && !shared->error; i++) {
		late += taken_too_late(pid, memory_fd, kind);
		nanosleep(&(struct timespec){0, 100000}, NULL);
	}
	close(memory_fd);
	CHECK_U64(late, LATE_STOPS);
	CHECK_U64((unsigned)shared->error, 0);
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, NULL, 0) == pid);
	munmap(shared, sizeof(*shared));
}

TEST(a_wait_goes_on_that_was_stopped_too_late)
{
	check_late(LATE_BY_TIME);
}

TEST(a_wait_goes_on_of_a_thread_that_was_given_up)
{
	check_late(LATE_GIVEN_UP);
}

UNIT_MAIN()
