/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/bpf/open_returns.h"

#define SINGLE_MAX  100 /* 0.1 s for each */
#define FDS_AT_ONCE 200 /* the kernel passes 253 */

/* In memory that both share. */
struct guardian {
	pid_t pid; /* of the guardian; for the guarded one */
	atomic_bool busy;
	int socket; /* of each its own end, of messages */
	/* For the guarded one: how often it was asked to close what it had been sent, and how often it has answered. */
	u32 closings, closed;
};

/* A message to the guardian has descriptors, or says that the sender has closed its own and it is to close all; so does its
 * answer. Of two that have a link the one that closes it last waits for the kernel. */
struct closing_message {
	u32 last;
};

/* What the guardian has been sent so far. */
struct taken_links {
	int *fds;
	size_t count, capacity;
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

/* ---- links that are handed over ---- */

union fd_message {
	char bytes[CMSG_SPACE(FDS_AT_ONCE * sizeof(int))];
	struct cmsghdr aligned;
};

static int send_fds(int socket, const int *fds, size_t count, bool last)
{
	struct closing_message words = {last};
	struct iovec vector = {&words, sizeof(words)};
	union fd_message control = {0};
	struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};

	if (count) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
		*CMSG_FIRSTHDR(&message) =
			(struct cmsghdr){.cmsg_level = SOL_SOCKET,
					 .cmsg_type = SCM_RIGHTS,
					 .cmsg_len = CMSG_LEN(count * sizeof(int))};
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), fds, count * sizeof(int));
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Adds what came to taken. *ret_last: that was all. False: nothing will come any more. */
static bool receive_fds(int socket, struct taken_links *taken, bool *ret_last)
{
	struct closing_message words = {0};
	struct iovec vector = {&words, sizeof(words)};
	union fd_message control;
	struct msghdr message = {.msg_iov = &vector,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	ssize_t size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	struct cmsghdr *header = size > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	size_t count;

	if (size < 0 && errno == EINTR)
		return true;
	*ret_last = words.last;
	if (!header || header->cmsg_type != SCM_RIGHTS)
		return size > 0;
	/* Where there is no room for all of them the kernel has let go of the others. */
	count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	if (!array_reserve(&taken->fds, &taken->capacity, taken->count + count)) {
		memcpy(taken->fds + taken->count, CMSG_DATA(header), count * sizeof(int));
		taken->count += count;
	} else {
		uprobe_close_links((const int *)CMSG_DATA(header), count);
	}
	return true;
}

static void close_taken(struct taken_links *taken)
{
	uprobe_close_links(taken->fds, taken->count);
	free(taken->fds);
	*taken = (struct taken_links){0};
}

/* Until the guarded process is gone. own: what it was born with, to be closed like what it is sent. */
static void wait_and_close(int guarded_pidfd, int socket, struct taken_links *own)
{
	struct pollfd poll_fds[] = {{.fd = guarded_pidfd, .events = POLLIN},
				    {.fd = socket, .events = POLLIN}};
	struct taken_links taken = *own;
	bool last = false;

	for (;;) {
		if (poll(poll_fds, ARRAY_SIZE(poll_fds), -1) < 0)
			continue;
		/* First what it had still to say. */
		if (poll_fds[1].revents) {
			if (!receive_fds(socket, &taken, &last))
				poll_fds[1].fd = -1;
			if (last) {
				close_taken(&taken);
				(void)send_fds(socket, NULL, 0, true);
				last = false;
			}
		} else if (poll_fds[0].revents) {
			break;
		}
	}
	close_taken(&taken);
}

static _Noreturn void guard(const struct guardian_work *work, const struct guardian *guardian,
			    int guarded_pidfd, int socket)
{
	struct taken_links own = {work->own_links, work->own_link_count, work->own_link_count};

	detach_from_terminal();
	agents_free(work->agents);
	wait_and_close(guarded_pidfd, socket, &own);
	/* It is gone, and its links with it. */
	undo(work, atomic_load(&guardian->busy));
	_exit(0);
}

struct guardian *guardian_start(const struct guardian_work *work)
{
	_cleanup_close_ int guarded = (int)syscall(SYS_pidfd_open, getpid(), 0);
	struct guardian *guardian;
	int sockets[2];
	pid_t pid;

	if (guarded < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return NULL;
	guardian = mmap(NULL, sizeof(*guardian), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (guardian != MAP_FAILED) {
		atomic_store(&guardian->busy, true);
		guardian->socket = sockets[0];
		pid = fork();
		if (pid == 0) {
			close(sockets[0]);
			guard(work, guardian, guarded, sockets[1]);
		}
		close(sockets[1]);
		guardian->pid = pid;
		if (pid > 0)
			return guardian;
		munmap(guardian, sizeof(*guardian));
	} else {
		close(sockets[1]);
	}
	close(sockets[0]);
	return NULL;
}

void guardian_set_busy(struct guardian *guardian, bool busy)
{
	if (guardian)
		atomic_store(&guardian->busy, busy);
}

/* One that is gone has closed what it had. */
static void close_here_first(struct guardian *guardian, const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
	guardian->closings++;
	(void)send_fds(guardian->socket, NULL, 0, true);
}

int guardian_close_links(struct guardian *guardian, const int *fds, size_t count)
{
	if (!guardian)
		return -ESRCH;
	for (size_t done = 0, part; done < count; done += part) {
		int result;

		part = count - done < FDS_AT_ONCE ? count - done : FDS_AT_ONCE;
		result = send_fds(guardian->socket, fds + done, part, false);
		/* Whoever got some of them closes these when we end. */
		if (result)
			return result;
	}
	if (count)
		close_here_first(guardian, fds, count);
	return 0;
}

void guardian_close_own_links(struct guardian *guardian, const int *fds, size_t count)
{
	if (guardian && count)
		close_here_first(guardian, fds, count);
	else
		uprobe_close_links(fds, count);
}

static int ms_until(u64 end_ns)
{
	u64 now_ns = clock_monotonic_ns();

	return now_ns < end_ns ? (int)((end_ns - now_ns) / NS_PER_MILLISECOND) : 0;
}

bool guardian_wait_closed(struct guardian *guardian, int timeout_ms, int stop_fd)
{
	u64 end_ns = clock_monotonic_ns() + (u64)timeout_ms * NS_PER_MILLISECOND;
	_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, guardian->pid, 0);
	struct pollfd poll_fds[] = {{.fd = guardian->socket, .events = POLLIN},
				    {.fd = pidfd, .events = POLLIN},
				    {.fd = stop_fd, .events = POLLIN}};
	struct closing_message answer;

	while (guardian->closed < guardian->closings &&
	       poll(poll_fds, ARRAY_SIZE(poll_fds), ms_until(end_ns)) > 0) {
		/* Of one that is killed the kernel closes this before the links, which are all closed when it is gone. */
		if (poll_fds[1].revents)
			guardian->closed = guardian->closings;
		else if (recv(guardian->socket, &answer, sizeof(answer), MSG_DONTWAIT) > 0)
			guardian->closed++;
		else
			poll_fds[0].fd = -1;
		if (poll_fds[2].revents)
			break;
	}
	return guardian->closed == guardian->closings;
}

u32 guardian_pid(const struct guardian *guardian)
{
	return (u32)guardian->pid;
}

struct guardian *guardian_stop(struct guardian *guardian)
{
	if (!guardian)
		return NULL;
	if (guardian_wait_closed(guardian, 0, -1)) {
		kill(guardian->pid, SIGKILL);
		while (waitpid(guardian->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close(guardian->socket);
	munmap(guardian, sizeof(*guardian));
	return NULL;
}
