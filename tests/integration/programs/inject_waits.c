/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One thread that waits for a while in one kind of system call, over and over while it is disturbed. It tells
 * for each round what the call returned and how long it took.
 *
 *	inject_waits KIND MILLISECONDS ROUNDS
 *
 * "timeout" kinds wait for that time; "data" kinds are woken after it by a child process.
 */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int milliseconds, pipe_fds[2], epoll_fd, listener;
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static socklen_t address_bytes;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static struct timespec span(void)
{
	return (struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000L};
}

/* After a while: a byte, a connection, a signal. */
static void child(int kind)
{
	pid_t parent = getpid();

	if (fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	struct timespec time = span();
	nanosleep(&time, NULL);
	if (kind == 'b' && write(pipe_fds[1], "x", 1) != 1)
		_exit(1);
	if (kind == 'c') {
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);

		_exit(connect(fd, (struct sockaddr *)&address, address_bytes) != 0);
	}
	if (kind == 's')
		kill(parent, SIGUSR1);
	_exit(0);
}

static long taken(long result)
{
	char byte;

	return result == 1 && read(pipe_fds[0], &byte, 1) == 1 ? 1 : result;
}

static long do_poll(void)
{
	return poll(&(struct pollfd){pipe_fds[0], POLLIN, 0}, 1, milliseconds);
}

static long do_poll_data(void)
{
	child('b');
	return taken(poll(&(struct pollfd){pipe_fds[0], POLLIN, 0}, 1, -1));
}

static long do_ppoll(void)
{
	struct timespec time = span();

	return ppoll(&(struct pollfd){pipe_fds[0], POLLIN, 0}, 1, &time, NULL);
}

static long do_select(void)
{
	struct timeval time = {milliseconds / 1000, milliseconds % 1000 * 1000L};

	return select(0, NULL, NULL, NULL, &time);
}

static long do_nanosleep(void)
{
	struct timespec time = span();

	return nanosleep(&time, NULL);
}

static long do_clock_nanosleep(void)
{
	struct timespec time, add = span();

	clock_gettime(CLOCK_MONOTONIC, &time);
	time.tv_sec += add.tv_sec;
	time.tv_nsec += add.tv_nsec;
	if (time.tv_nsec >= 1000000000) {
		time.tv_sec++;
		time.tv_nsec -= 1000000000;
	}
	return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

static long do_epoll_data(void)
{
	struct epoll_event event;

	child('b');
	return taken(epoll_wait(epoll_fd, &event, 1, -1));
}

static long do_epoll(void)
{
	struct epoll_event event;

	return epoll_wait(epoll_fd, &event, 1, milliseconds);
}

static long do_futex(void)
{
	uint32_t word = 0;
	struct timespec time = span();

	return syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &time, NULL, 0);
}

static long do_read(void)
{
	char byte;

	child('b');
	return read(pipe_fds[0], &byte, 1);
}

static long do_accept(void)
{
	int fd;

	child('c');
	fd = accept(listener, NULL, NULL);
	close(fd);
	return fd > 0 ? 1 : fd;
}

static long do_wait(void)
{
	child(0);
	return waitpid(-1, NULL, 0) > 0;
}

static void ignore(int signal_number)
{
}

static long do_pause(void)
{
	child('s');
	return pause();
}

static long do_sigsuspend(void)
{
	sigset_t blocked, before;
	long result;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	child('s');
	result = sigsuspend(&before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return result;
}

static long do_sigtimedwait(void)
{
	sigset_t wanted;
	struct timespec time = span();

	sigemptyset(&wanted);
	sigaddset(&wanted, SIGUSR2);
	return sigtimedwait(&wanted, NULL, &time);
}

static const struct kind {
	const char *name;
	long (*wait)(void);
	long result;
	int error;
} kinds[] = {
	{"poll", do_poll, 0, 0},
	{"poll_data", do_poll_data, 1, 0},
	{"ppoll", do_ppoll, 0, 0},
	{"select", do_select, 0, 0},
	{"nanosleep", do_nanosleep, 0, 0},
	{"clock_nanosleep", do_clock_nanosleep, 0, 0},
	{"epoll", do_epoll, 0, 0},
	{"epoll_data", do_epoll_data, 1, 0},
	{"futex", do_futex, -1, ETIMEDOUT},
	{"read", do_read, 1, 0},
	{"accept", do_accept, 1, 0},
	{"wait", do_wait, 1, 0},
	{"pause", do_pause, -1, EINTR},
	{"sigsuspend", do_sigsuspend, -1, EINTR},
	{"sigtimedwait", do_sigtimedwait, -1, EAGAIN},
};

static void run(const struct kind *kind, int rounds)
{
	printf("ready\n");
	for (int round = 0; round < rounds; round++) {
		double start = now();
		long result;
		int error;

		errno = 0;
		result = kind->wait();
		error = result < 0 ? errno : 0;
		printf("%s %ld %d %.0f\n",
		       result == kind->result && error == kind->error ? "right" : "wrong", result,
		       error, now() - start);
		while (kind->wait != do_wait && waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = ignore};

	if (argc < 4 || pipe(pipe_fds))
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	milliseconds = atoi(argv[2]);
	epoll_fd = epoll_create1(0);
	epoll_ctl(epoll_fd, EPOLL_CTL_ADD, pipe_fds[0], &(struct epoll_event){.events = EPOLLIN});
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	address_bytes =
		(socklen_t)(sizeof(sa_family_t) + 1 +
			    (size_t)snprintf(address.sun_path + 1, 60, "inject_waits%d", getpid()));
	if (bind(listener, (struct sockaddr *)&address, address_bytes) || listen(listener, 5))
		return 2;
	sigaction(SIGUSR1, &action, NULL);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, argv[1])) {
			run(&kinds[i], atoi(argv[3]));
			return 0;
		}
	return 2;
}
