/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When the server is handled next, where no client makes it. */
#include <sys/timerfd.h>

#include "base/clock.h"
#include "net/grpc_parts.h"

void grpc_timer_set(struct grpc_server *server, u64 at_ns)
{
	struct itimerspec time = {0};

	if (at_ns != UINT64_MAX) {
		time.it_value.tv_sec = at_ns / NS_PER_SECOND;
		time.it_value.tv_nsec = at_ns % NS_PER_SECOND;
	}
	timerfd_settime(server->timer_fd, TFD_TIMER_ABSTIME, &time, NULL);
}

void grpc_timer_wake(struct grpc_server *server)
{
	server->woken = true;
	grpc_timer_set(server, 1);
}
