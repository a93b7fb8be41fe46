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
#include "collect/bpf/open_returns.h"

#define SINGLE_MAX  100 /* 0.1 s for each */
#define FDS_AT_ONCE 200 /* the kernel passes 253 */

/* In memory that both share. */
struct guardian {
	pid_t pid; /* of the guardian; for the guarded one */
	atomic_bool busy;
	int socket;  /* of each its own end, of messages */
	bool closes; /* for the guarded one: it was asked to, */
	bool closed; /* and has answered */
};

/* A message to the guardian: descriptors to close, and whether they are all. Its answer has none. */
struct closing_message {
	u32 fd_count;
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
	struct closing_message words = {(u32)count, last};
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

	if (size < 0 && errno == EINTR)
		return true;
	*ret_last = words.last;
	if (header && header->cmsg_type == SCM_RIGHTS && words.fd_count <= FDS_AT_ONCE &&
	    !array_reserve(&taken->fds, &taken->capacity, taken->count + words.fd_count)) {
		memcpy(taken->fds + taken->count, CMSG_DATA(header), words.fd_count * sizeof(int));
		taken->count += words.fd_count;
	}
	return size > 0;
}

static void close_taken(struct taken_links *taken)
{
	uprobe_close_links(taken->fds, taken->count);
	free(taken->fds);
	*taken = (struct taken_links){0};
}

/* Until the guarded process is gone. */
static void wait_and_close(int guarded_pidfd, int socket)
{
	struct pollfd poll_fds[] = {{.fd = guarded_pidfd, .events = POLLIN},
				    {.fd = socket, .events = POLLIN}};
	struct taken_links taken = {0};
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
	detach_from_terminal();
	agents_free(work->agents);
	uprobe_close_links(work->own_links, work->own_link_count);
	wait_and_close(guarded_pidfd, socket);
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

int guardian_close_links(struct guardian *guardian, const int *fds, size_t count)
{
	if (!guardian)
		return -ESRCH;
	for (size_t done = 0, part; done < count; done += part) {
		int result;

		part = count - done < FDS_AT_ONCE ? count - done : FDS_AT_ONCE;
		result = send_fds(guardian->socket, fds + done, part, done + part == count);
		/* Whoever got some of them closes these when we end. */
		if (result)
			return result;
	}
	guardian->closes = count;
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
	return 0;
}

bool guardian_wait_closed(struct guardian *guardian, int timeout_ms)
{
	struct pollfd poll_fd = {.fd = guardian->socket, .events = POLLIN};
	struct closing_message answer;

	if (!guardian->closes || guardian->closed)
		return true;
	/* One that has ended (an error, or nothing to read) holds none of them any more. */
	if (poll(&poll_fd, 1, timeout_ms) > 0) {
		(void)recv(guardian->socket, &answer, sizeof(answer), MSG_DONTWAIT);
		guardian->closed = true;
	}
	return guardian->closed;
}

u32 guardian_pid(const struct guardian *guardian)
{
	return (u32)guardian->pid;
}

struct guardian *guardian_stop(struct guardian *guardian)
{
	if (!guardian)
		return NULL;
	if (guardian_wait_closed(guardian, 0)) {
		kill(guardian->pid, SIGKILL);
		while (waitpid(guardian->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close(guardian->socket);
	munmap(guardian, sizeof(*guardian));
	return NULL;
}
