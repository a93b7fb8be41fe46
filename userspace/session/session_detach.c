/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Letting go of the probes while the agents leave and names are looked up. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "session/processes.h"
#include "session/session_parts.h"

/* Taking the probes off takes a few hundred ms where there is time. From the first ones on, and of the last ones. */
#define DETACH_WAIT_NS	(2 * NS_PER_SECOND)
#define DETACH_LEAST_NS (300 * NS_PER_MILLISECOND)
/* What tells us to stop may come twice (timeout does that): so long no signal says that we should not wait. */
#define DETACH_QUIET_MS 300

void session_guard(struct session *session, struct guardian_work *work)
{
	_cleanup_free_ int *fds = NULL;
	size_t count = 0;

	if (!uprobe_set_take_links(&session->own_links, &fds, &count)) {
		work->own_links = fds;
		work->own_link_count = count;
	}
	session->guardian = guardian_start(work);
	guardian_close_own_links(session->guardian, fds, count);
	uprobe_detach(&session->own_links, NULL, NULL);
}

/* By the guardian, where there is one and memory for it; what is left stays in links. */
static void let_close(struct session *session, struct uprobe_set *links)
{
	_cleanup_free_ int *fds = NULL;
	size_t count = 0;

	if (uprobe_set_take_links(links, &fds, &count))
		return;
	if (guardian_close_links(session->guardian, fds, count))
		uprobe_close_links(fds, count);
	else
		session->links_handed += count;
}

/* Single ones are taken off here: that takes long, but no longer than is told. */
void session_detach_begin(struct session *session)
{
	const struct session_config *config = session->config;
	struct uprobe_set links = {0};

	guardian_set_busy(session->guardian, true);
	session->detach_end_ns = clock_monotonic_ns() + DETACH_WAIT_NS;
	bpf_source_hand_over(session->source, &links);
	processes_hand_over(session->processes, &links);
	pythons_hand_over(&session->pythons, session->source, &links);
	let_close(session, &links);
	uprobe_detach(&links, config->on_detach, config->callback_data);
	/* What there was no memory for to hand over. */
	bpf_source_detach(session->source, config->on_detach, config->callback_data);
	processes_detach(session->processes);
	python_ends_free(&session->pythons.ends);
	log_phase("probes are being detached");
	/* An exception through one whose return address is overwritten ends the target: they do not wait. */
	if (plan_hijacks_returns(config->plan))
		session_detach_end(session);
}

void session_detach_watch(struct session *session)
{
	struct uprobe_set links = {0};

	if (!session->result.agents)
		return;
	agents_watch_end(session->result.agents, &links);
	if (!links.link_count)
		return;
	guardian_set_busy(session->guardian, true);
	let_close(session, &links);
	uprobe_detach(&links, NULL, NULL);
	session->detached = false;
}

static int wait_ms(const struct session *session)
{
	u64 now_ns = clock_monotonic_ns(), least_ns = now_ns + DETACH_LEAST_NS;
	u64 end_ns = session->detach_end_ns > least_ns ? session->detach_end_ns : least_ns;

	return (int)((end_ns - now_ns) / NS_PER_MILLISECOND);
}

static bool wait_closed(struct session *session)
{
	int most_ms = wait_ms(session);

	return guardian_wait_closed(session->guardian, DETACH_QUIET_MS, -1) ||
	       guardian_wait_closed(session->guardian, most_ms - DETACH_QUIET_MS,
				    session->signal_fd);
}

/* Return addresses are put back by the guardian where it takes longer: when it has closed them all, and we are gone. */
void session_detach_end(struct session *session)
{
	struct session_status *status = &session->result.status;

	if (session->detached)
		return;
	session->detached = true;
	status->links_left = 0;
	if (session->links_handed && !wait_closed(session)) {
		status->links_left = session->links_handed;
		status->guardian_pid = guardian_pid(session->guardian);
	} else if (!session->returns_put_back && plan_hijacks_returns(session->config->plan)) {
		open_returns_put_back(session->source, &status->open_returns);
		session->returns_put_back = true;
	}
	/* Nothing is left of which breakpoints could stay behind, or the guardian has it. */
	guardian_set_busy(session->guardian, false);
	log_phase("probes detached");
}
