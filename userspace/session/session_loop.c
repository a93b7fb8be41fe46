/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The main loop of a session: what is done when something has come of what session_waits.c waits for. */
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/session_parts.h"

#define COMMAND_STARTS_NS NS_PER_SECOND
#define COMMAND_LOOK_MS	  10

static bool is_time_over(const struct session *session, u64 now)
{
	u64 duration = session->config->settings->duration_ns;

	return duration && now - session->window_start_ns >= duration;
}

static void on_timer(struct session *session)
{
	const struct session_config *config = session->config;
	u64 expirations;

	if (read(session->timer_fd, &expirations, sizeof(expirations)) < 0)
		return;
	processes_tick(session->processes);
	session_waited_look(session, false);
	session_look_at_any_code(session);
	session_reap_departing(session);
	session_code_tick(session);
	if (session->result.agents)
		agents_follow(session->result.agents);
	session_status_update(session);
	if (config->on_tick)
		config->on_tick(config->callback_data, &session->result.status);
}

static void on_target_ended(struct session *session, u32 index)
{
	epoll_ctl(session->epoll_fd, EPOLL_CTL_DEL, session->config->targets[index].pidfd, NULL);
	if (!session->target_ended[index]) {
		session->target_ended[index] = true;
		session->targets_alive--;
	}
}

static void on_signal(struct session *session)
{
	session_waits_take_signals(session);
	session->result.end = SESSION_SIGNAL;
}

/* Children go on without those that forked them. */
static bool all_ended(struct session *session)
{
	if (session->targets_alive)
		return false;
	processes_handle(session->processes);
	processes_tick(session->processes);
	session->result.end = SESSION_TARGETS_ENDED;
	return !processes_status(session->processes).children_alive;
}

/* True when the event ends the recording. */
static bool handle(struct session *session, const struct epoll_event *event)
{
	switch ((enum session_wait)(event->data.u64 >> 32)) {
	case SESSION_WAIT_TIMER:
		on_timer(session);
		return all_ended(session);
	case SESSION_WAIT_SIGNAL:
		on_signal(session);
		return true;
	case SESSION_WAIT_CAPTURE_ERROR:
		session->result.end = SESSION_FAILED;
		return true;
	case SESSION_WAIT_TARGET:
		on_target_ended(session, (u32)event->data.u64);
		return all_ended(session);
	case SESSION_WAIT_PROCESSES:
		processes_handle(session->processes);
		session_waited_look(session, false);
		session_look_at_unknown_code(session);
		if (session->result.agents)
			agents_follow(session->result.agents);
		return false;
	case SESSION_WAIT_CODE:
		session_code_handle(session);
		return false;
	}
	return false;
}

/* A command maps its libraries at its start, and may have ended before the first tick: how long to wait for anything else. */
static int look_at_command(struct session *session, u64 now, int timeout_ms)
{
	u64 elapsed_ns = now - session->window_start_ns;

	if (!session->config->command || elapsed_ns > COMMAND_STARTS_NS)
		return timeout_ms;
	session_look_at_code(session, false);
	return timeout_ms < 0 || timeout_ms > COMMAND_LOOK_MS ? COMMAND_LOOK_MS : timeout_ms;
}

static int look_at_api(struct session *session, u64 now, int timeout_ms)
{
	u64 next = session_api_look(session, now), wait_ms;

	if (next == UINT64_MAX)
		return timeout_ms;
	wait_ms = next > now ? (next - now + NS_PER_MILLISECOND - 1) / NS_PER_MILLISECOND : 0;
	return timeout_ms < 0 || wait_ms < (u64)timeout_ms ? (int)wait_ms : timeout_ms;
}

static void run(struct session *session)
{
	for (;;) {
		u64 now = clock_monotonic_ns(), end;
		int timeout_ms = -1;
		struct epoll_event event;

		if (is_time_over(session, now)) {
			session->result.end = SESSION_TIME_OVER;
			return;
		}
		if (session->config->settings->duration_ns) {
			end = session->window_start_ns + session->config->settings->duration_ns;
			timeout_ms = (end - now + NS_PER_MILLISECOND - 1) / NS_PER_MILLISECOND;
		}
		timeout_ms = look_at_command(session, now, timeout_ms);
		timeout_ms = look_at_api(session, now, timeout_ms);
		if (epoll_wait(session->epoll_fd, &event, 1, timeout_ms) == 1 &&
		    handle(session, &event))
			return;
	}
}

void session_loop_run(struct session *session)
{
	run(session);
	session_code_hold_no_more(session);
}
