/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When serving files ends by itself (tests/integration/test_open asks it over and over). */
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/file_server.h"
#include "net/listener.h"

static int run(int stop_fd, u64 patience_ns, size_t file_count)
{
	struct served_file file = {.path = "/x", .fd = -1};
	struct file_server server = {.origin = "https://a",
				     .files = &file,
				     .file_count = file_count,
				     .stop_fd = stop_fd,
				     .patience_ns = patience_ns};
	struct err err = {0};
	int result;

	CHECK_OK(listener_open(LISTENER_LOOPBACK, 0, &server.fd, &err), err);
	result = file_server_run(&server, &err);
	CHECK(!file.fetched);
	close(server.fd);
	return result;
}

TEST(it_ends_when_nobody_asks)
{
	CHECK(run(-1, 20 * NS_PER_MILLISECOND, 1) == -ETIMEDOUT);
}

TEST(it_ends_when_it_is_told_to)
{
	int stop_fd = eventfd(1, EFD_CLOEXEC);

	CHECK(run(stop_fd, 3600 * NS_PER_SECOND, 1) == -EINTR);
	close(stop_fd);
}

TEST(without_files_there_is_nothing_to_wait_for)
{
	CHECK(run(-1, 3600 * NS_PER_SECOND, 0) == 0);
}

UNIT_MAIN()
