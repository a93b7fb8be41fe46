/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the main thread of a session waits for: one epoll over signals, the timer, the targets and what the threads tell. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "session/session_parts.h"

#define TICK_NS (250 * NS_PER_MILLISECOND)

int session_waits_add(struct session *session, int fd, enum session_wait what, u32 index)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = (u64)what << 32 | index};

	return epoll_ctl(session->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

void session_signals(sigset_t *ret_signals)
{
	sigemptyset(ret_signals);
	sigaddset(ret_signals, SIGINT);
	sigaddset(ret_signals, SIGTERM);
	sigaddset(ret_signals, SIGHUP);
	sigaddset(ret_signals, SIGQUIT);
}

int session_waits_open(struct session *session, struct err *err)
{
	sigset_t signals;

	session_signals(&signals);
	sigprocmask(SIG_BLOCK, &signals, &session->old_signals);
	session->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	session->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	session->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (session->epoll_fd < 0 || session->signal_fd < 0 || session->timer_fd < 0 ||
	    session_waits_add(session, session->signal_fd, SESSION_WAIT_SIGNAL, 0) ||
	    session_waits_add(session, session->timer_fd, SESSION_WAIT_TIMER, 0))
		return err_errno(err, -errno, "can't prepare the main loop");
	for (size_t i = 0; i < session->config->target_count; i++)
		if (session_waits_add(session, session->config->targets[i].pidfd,
				      SESSION_WAIT_TARGET, i))
			return err_errno(err, -errno, "can't watch process %u",
					 session->config->targets[i].pid);
	return 0;
}

void session_waits_start_ticks(struct session *session)
{
	struct itimerspec tick = {.it_value.tv_nsec = TICK_NS, .it_interval.tv_nsec = TICK_NS};

	timerfd_settime(session->timer_fd, 0, &tick, NULL);
}

void session_waits_take_signals(const struct session *session)
{
	struct signalfd_siginfo info;

	while (read(session->signal_fd, &info, sizeof(info)) > 0)
		;
}

void session_waits_close(struct session *session)
{
	cleanup_close(&session->epoll_fd);
	/* A second Ctrl-C, while the first one was being obeyed, asks for nothing more. Where agents have failed another session comes, for
	 * which it is. */
	if (session->signal_fd >= 0 && !session->result.agents_failed)
		session_waits_take_signals(session);
	cleanup_close(&session->signal_fd);
	cleanup_close(&session->timer_fd);
	sigprocmask(SIG_SETMASK, &session->old_signals, NULL);
}
