/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that wait with a time limit are stopped again and again, while signals come that they ignore: no wait ends early. */
#include "process/thread_stop.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "unit.h"

#define STOPS	      200
#define WAIT_MS	      5
#define STOP_LIMIT_NS (20 * NS_PER_SECOND)

struct shared {
	volatile bool over;
	volatile int error; /* with which a wait ended */
	volatile unsigned long rounds;
};

/* Each: 0 when its time was over, else -1 and errno. */
static const struct timespec span = {0, WAIT_MS * 1000000L};

static int by_nanosleep(void)
{
	return nanosleep(&span, NULL);
}

static int by_clock_nanosleep(void)
{
	errno = clock_nanosleep(CLOCK_MONOTONIC, 0, &span, NULL);
	return errno ? -1 : 0;
}

static int by_poll(void)
{
	return poll(NULL, 0, WAIT_MS);
}

static int by_futex(void)
{
	u32 word = 0;

	return syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &span, NULL, 0) &&
			       errno != ETIMEDOUT
		       ? -1
		       : 0;
}

static int by_epoll(void)
{
	static int fd = -1;
	struct epoll_event event;

	if (fd < 0)
		fd = epoll_create1(EPOLL_CLOEXEC);
	return epoll_wait(fd, &event, 1, WAIT_MS);
}

/* The kernel can't write what is left of the time, so it does not begin it again by itself. */
static int by_select(void)
{
	static struct timespec *left;

	if (!left) {
		left = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		*left = span;
		mprotect(left, 4096, PROT_READ);
	}
	return (int)syscall(SYS_pselect6, 0, NULL, NULL, NULL, left, NULL);
}

static int by_semaphore(void)
{
	struct sembuf down = {0, -1, 0};
	int set = semget(IPC_PRIVATE, 1, 0600), result, error;

	result = semtimedop(set, &down, 1, &span);
	error = errno;
	semctl(set, 0, IPC_RMID);
	errno = error;
	return result && error != EAGAIN ? -1 : 0;
}

/* To a socket that is full. */
static int by_send(void)
{
	static int ends[2] = {-1, -1};
	struct timeval limit = {0, WAIT_MS * 1000};
	char bytes[4096] = "";

	if (ends[0] < 0) {
		if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends))
			return -1;
		while (send(ends[0], bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
			;
		setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	}
	return send(ends[0], bytes, sizeof(bytes), 0) < 0 && errno != EAGAIN ? -1 : 0;
}

static void wait_on(struct shared *shared, int (*wait_once)(void))
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!shared->over) {
		if (wait_once())
			shared->error = errno;
		shared->rounds++;
	}
	_exit(0);
}

static void send_signals(const struct shared *shared, pid_t pid)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!shared->over)
		kill(pid, SIGWINCH);
	_exit(0);
}

static void check_waits(const char *name, int (*wait_once)(void))
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t waiter, sender;
	unsigned stops = 0;

	CHECK(shared != MAP_FAILED);
	waiter = fork();
	if (!waiter)
		wait_on(shared, wait_once);
	sender = fork();
	if (!sender)
		send_signals(shared, waiter);
	while (stops < STOPS) {
		struct thread_stop stop;

		if (thread_stop((u32)waiter, STOP_LIMIT_NS, &stop)) {
			UNIT_FAIL("%s: can't be stopped", name);
			break;
		}
		thread_go_on(&stop);
		nanosleep(&(struct timespec){0, 300000}, NULL);
		stops++;
	}
	shared->over = true;
	CHECK(waitpid(waiter, NULL, 0) == waiter && waitpid(sender, NULL, 0) == sender);
	if (shared->error)
		UNIT_FAIL("%s ended with errno %d", name, shared->error);
	CHECK(shared->rounds > 0);
	munmap(shared, sizeof(*shared));
}

#define WAITS(name)                            \
	TEST(name##_goes_on)                   \
	{                                      \
		check_waits(#name, by_##name); \
	}
WAITS(nanosleep)
WAITS(clock_nanosleep)
WAITS(poll)
WAITS(futex)
WAITS(epoll)
WAITS(select)
WAITS(semaphore)
WAITS(send)

UNIT_MAIN()
