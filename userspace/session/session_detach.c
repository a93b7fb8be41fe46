/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Letting go of the probes while the agents leave and names are looked up. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "session/processes.h"
#include "session/session_parts.h"

/* Taking the probes off takes a few hundred ms where there is time. */
#define DETACH_WAIT_MS 2000

void session_guard(struct session *session, struct guardian_work *work)
{
	_cleanup_free_ int *fds = NULL;
	size_t count = 0;

	if (!uprobe_set_take_links(&session->own_links, &fds, &count)) {
		work->own_links = fds;
		work->own_link_count = count;
	}
	session->guardian = guardian_start(work);
	/* Of two that have a link the one that closes it last waits: that is the other. */
	uprobe_close_links(fds, count);
	uprobe_detach(&session->own_links, NULL, NULL);
}

/* Single ones are taken off here: that takes long, but no longer than is told. */
void session_detach_begin(struct session *session)
{
	const struct session_config *config = session->config;
	struct uprobe_set links = {0};
	_cleanup_free_ int *fds = NULL;
	size_t count = 0;

	guardian_set_busy(session->guardian, true);
	bpf_source_hand_over(session->source, &links);
	processes_hand_over(session->processes, &links);
	if (!uprobe_set_take_links(&links, &fds, &count)) {
		if (guardian_close_links(session->guardian, fds, count))
			uprobe_close_links(fds, count);
		else
			session->links_handed = count;
	}
	uprobe_detach(&links, config->on_detach, config->callback_data);
	/* What there was no memory for to hand over. */
	bpf_source_detach(session->source, config->on_detach, config->callback_data);
	processes_detach(session->processes);
	log_phase("probes are being detached");
	/* An exception through one whose return address is overwritten ends the target: they do not wait. */
	if (plan_hijacks_returns(config->plan))
		session_detach_end(session);
}

/* Return addresses are put back by the guardian where it takes longer: when it has closed them all, and we are gone. */
void session_detach_end(struct session *session)
{
	struct session_status *status = &session->result.status;

	if (session->detached)
		return;
	session->detached = true;
	if (session->links_handed && !guardian_wait_closed(session->guardian, DETACH_WAIT_MS)) {
		status->links_left = session->links_handed;
		status->guardian_pid = guardian_pid(session->guardian);
		guardian_set_busy(session->guardian, false);
	} else if (plan_hijacks_returns(session->config->plan)) {
		open_returns_put_back(session->source, &status->open_returns);
	}
	log_phase("probes detached");
}
