/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Links that are handed to the guardian: any descriptors, as far as it is concerned. */
#include "../../userspace/session/guardian.c" /* in place of the library's */

#include <sys/resource.h>

#include "session/session_parts.h"
#include "unit.h"

#define SENT 20
#define ROOM 5

/* It is sent more descriptors than it may have. */
TEST(only_descriptors_that_came_are_taken)
{
	struct taken_links taken = {0};
	struct rlimit before, few;
	int sockets[2], fds[SENT], lowest;
	bool last = false;

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets));
	for (size_t i = 0; i < SENT; i++)
		fds[i] = sockets[0];
	CHECK(!send_fds(sockets[0], fds, SENT, true));
	lowest = dup(sockets[0]);
	close(lowest);
	CHECK(!getrlimit(RLIMIT_NOFILE, &before));
	few = (struct rlimit){(rlim_t)lowest + ROOM, before.rlim_max};
	CHECK(!setrlimit(RLIMIT_NOFILE, &few));
	CHECK(receive_fds(sockets[1], &taken, &last));
	CHECK(!setrlimit(RLIMIT_NOFILE, &before));
	CHECK(last);
	CHECK_U64(taken.count, ROOM);
	for (size_t i = 0; i < taken.count; i++)
		CHECK_U64(taken.fds[i], lowest + i);
	close_taken(&taken);
	close(sockets[0]);
	close(sockets[1]);
}

/* Of one that is killed the kernel closes descriptors one by one, the socket's before those of links. */
TEST(one_that_hangs_up_has_not_closed_them_before_it_ends)
{
	struct guardian guardian = {.closings = 1};
	int sockets[2];

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets));
	guardian.socket = sockets[0];
	guardian.pid = fork();
	if (!guardian.pid) {
		pause();
		_exit(0);
	}
	close(sockets[1]);
	/* The child has a copy of the other end. */
	CHECK(!guardian_wait_closed(&guardian, 20, -1));
	CHECK(!shutdown(sockets[0], SHUT_RDWR));
	CHECK(!guardian_wait_closed(&guardian, 20, -1));
	kill(guardian.pid, SIGKILL);
	CHECK(guardian_wait_closed(&guardian, 10000, -1));
	waitpid(guardian.pid, NULL, 0);
	close(sockets[0]);
}

/* A link's end is waited for by who closes it last: 3 s for one recording in four, one link after the other, while the guardian's were
 * already closed. */
TEST(the_guardian_closes_when_the_guarded_one_has)
{
	struct guardian guardian = {.pid = getpid()};
	struct taken_links taken = {0};
	int sockets[2], pipe_fds[2];
	bool last = true;
	char byte;

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets));
	CHECK(!pipe2(pipe_fds, O_CLOEXEC));
	guardian.socket = sockets[0];
	CHECK(!guardian_close_links(&guardian, &pipe_fds[1], 1));
	/* The descriptors come first, and are kept; */
	CHECK(receive_fds(sockets[1], &taken, &last));
	CHECK(!last);
	CHECK_U64(taken.count, 1);
	/* by the time that it is to close them the other ones are closed. */
	CHECK(receive_fds(sockets[1], &taken, &last));
	CHECK(last);
	CHECK_U64(taken.count, 1);
	CHECK_U64(guardian.closings, 1);
	close_taken(&taken);
	CHECK_U64(read(pipe_fds[0], &byte, 1), 0);
	close(pipe_fds[0]);
	close(sockets[0]);
	close(sockets[1]);
}

/* So are those that it was born with. */
TEST(links_of_calibration_are_closed_by_the_guardian)
{
	struct guardian guardian = {.pid = getpid()};
	struct taken_links taken = {0};
	int sockets[2], pipe_fds[2];
	bool last = false;

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets));
	CHECK(!pipe2(pipe_fds, O_CLOEXEC));
	guardian.socket = sockets[0];
	guardian_close_own_links(&guardian, pipe_fds, 2);
	CHECK(receive_fds(sockets[1], &taken, &last));
	CHECK(last);
	CHECK(fcntl(pipe_fds[0], F_GETFD) < 0 && fcntl(pipe_fds[1], F_GETFD) < 0);
	CHECK_U64(taken.count, 0);
	CHECK_U64(guardian.closings, 1);
	close(sockets[0]);
	close(sockets[1]);
}

TEST(the_answer_says_that_they_are_closed)
{
	struct guardian guardian = {.pid = getpid(), .closings = 2};
	int sockets[2];

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets));
	guardian.socket = sockets[0];
	CHECK(!guardian_wait_closed(&guardian, 20, -1));
	CHECK(!send_fds(sockets[1], NULL, 0, true));
	/* What it was asked last is not closed yet. */
	CHECK(!guardian_wait_closed(&guardian, 20, -1));
	CHECK(!send_fds(sockets[1], NULL, 0, true));
	CHECK(guardian_wait_closed(&guardian, 10000, -1));
	close(sockets[0]);
	close(sockets[1]);
}

TEST(a_signal_ends_the_waiting)
{
	struct guardian guardian = {.pid = getpid(), .closings = 1};
	int sockets[2], signal[2];

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets));
	CHECK(!pipe2(signal, O_CLOEXEC));
	guardian.socket = sockets[0];
	CHECK_U64(write(signal[1], "", 1), 1);
	CHECK(!guardian_wait_closed(&guardian, 600000, signal[0]));
	for (size_t i = 0; i < 2; i++) {
		close(sockets[i]);
		close(signal[i]);
	}
}

/* Else it would put all probes in again, and out, where gpuprobe is killed while it writes the end of the capture. */
TEST(detached_probes_are_not_undone)
{
	struct guardian guardian = {.closings = 1, .closed = 1};
	const struct plan plan = {0};
	const struct session_config config = {.plan = &plan};
	struct session session = {.config = &config, .guardian = &guardian, .links_handed = 1};

	guardian_set_busy(&guardian, true);
	session_detach_end(&session);
	CHECK(!atomic_load(&guardian.busy));
	CHECK_U64(session.result.status.links_left, 0);
}

UNIT_MAIN()
