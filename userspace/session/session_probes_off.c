/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Taking probes off inside the window, for good: of functions, or of a sort of records. */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/thread.h"
#include "session/session_parts.h"

void session_put_loss(struct session *session, u8 reason, const char *name, u64 at_ns, u64 count)
{
	struct batch *batch = batch_queue_take_empty(session->queue);
	_cleanup_text_ struct text place = {0};
	u32 id;

	text_appendf(&place, "%s, from %.3f s on", name,
		     (double)(at_ns - session->window_start_ns) / NS_PER_SECOND);
	if (!place.failed && !text_ids_get(&session->facts.tool, batch, text_string(&place), &id))
		recording_facts_loss_at(batch, RECORD_SOURCE_TOOL, reason, id, count, at_ns);
	batch_queue_put_full(session->queue, batch);
}

struct session_departing {
	struct bpf_source *source;
	struct uprobe_set taken;
	pthread_t thread;
	atomic_bool done;
};

/* Some 50 ms. */
static void *detach_main(void *data)
{
	struct session_departing *departing = data;

	bpf_source_detach_taken(departing->source, &departing->taken);
	atomic_store(&departing->done, true);
	return NULL;
}

void session_join_departing(struct session *session)
{
	while (session->departing_count) {
		struct session_departing *departing =
			session->departing[--session->departing_count];

		pthread_join(departing->thread, NULL);
		free(departing);
	}
}

bool session_has_departed(const struct session *session)
{
	for (size_t i = 0; i < session->departing_count; i++)
		if (!atomic_load(&session->departing[i]->done))
			return false;
	return true;
}

/* Until then the guardian would have something to take off. */
void session_reap_departing(struct session *session)
{
	size_t kept = 0, count = session->departing_count;

	for (size_t i = 0; i < count; i++) {
		struct session_departing *departing = session->departing[i];

		if (!atomic_load(&departing->done)) {
			session->departing[kept++] = departing;
			continue;
		}
		pthread_join(departing->thread, NULL);
		free(departing);
	}
	session->departing_count = kept;
	if (count && !kept)
		guardian_set_busy(session->guardian, session->config->settings->children);
}

/* False: it is to be done here. */
static bool detach_beside(struct session *session, struct session_departing *departing)
{
	if (session->departing_count == SESSION_DEPARTING_MAX)
		session_join_departing(session);
	if (thread_start(&departing->thread, detach_main, departing))
		return false;
	session->departing[session->departing_count++] = departing;
	return true;
}

/* Side by side, with many tags and in all processes: one after the other each takes the kernel up to half a second, and the window
 * would go on meanwhile. */
static void take_off(struct session *session, const u32 *tags, size_t count,
		     const struct session_meanwhile *meanwhile)
{
	struct session_departing here = {.source = session->source},
				 *departing = meanwhile ? malloc(sizeof(*departing)) : NULL;
	struct uprobe_set *taken = departing ? &departing->taken : &here.taken;

	if (departing)
		*departing = here;
	for (size_t i = 0; i < count; i++) {
		bpf_source_take_tagged(session->source, tags[i], taken);
		processes_take_tagged(session->processes, tags[i], taken);
	}
	if (!departing || !detach_beside(session, departing)) {
		bpf_source_detach_taken(session->source, taken);
		free(departing);
	}
	if (meanwhile && meanwhile->run)
		meanwhile->run(meanwhile->data);
}

static size_t add_tag(u32 *tags, size_t count, u32 tag)
{
	for (size_t i = 0; i < count; i++)
		if (tags[i] == tag)
			return count;
	tags[count] = tag;
	return count + 1;
}

/* How many tags they have; ret_tags, each once: room for one a function, and one of stacks of launches. */
static size_t silence_all(struct session *session, const size_t *functions, size_t count,
			  u64 now_ns, u32 *ret_tags)
{
	size_t tag_count = 0;

	for (size_t i = 0; i < count; i++) {
		u32 tags[FUNCTION_TAGS_MAX];
		size_t its_count =
			bpf_source_switch_off(session->source, functions[i], now_ns, tags);

		for (size_t t = 0; t < its_count; t++)
			tag_count = add_tag(ret_tags, tag_count, tags[t]);
	}
	return tag_count;
}

void session_take_probes_off(struct session *session, const size_t *functions, size_t count,
			     u64 now_ns, u32 *tags, const struct session_meanwhile *meanwhile)
{
	const struct session_config *config = session->config;
	struct source_targets targets = session_source_targets(session);
	size_t tag_count, others = 0;

	guardian_set_busy(session->guardian, true);
	tag_count = silence_all(session, functions, count, now_ns, tags);
	take_off(session, tags, tag_count, meanwhile);
	for (size_t i = 0; i < tag_count; i++) {
		others += bpf_source_switch_others_on(session->source, &targets, tags[i], now_ns,
						      NULL);
		processes_switch_on(session->processes, tags[i]);
	}
	guardian_set_busy(session->guardian,
			  config->settings->children || session->departing_count);
	if (others && session->result.window_opened)
		session_put_loss(session, VALUE_loss_reason_switched_gap, "functions beside it",
				 now_ns, others);
}

/* Those of allocators and USDT probes have links of their own. */
void session_take_sort_off(struct session *session, enum price_sort sort,
			   const struct session_meanwhile *meanwhile)
{
	u32 tag = bpf_source_switch_sort_off(session->source, sort);

	guardian_set_busy(session->guardian, true);
	take_off(session, &tag, tag != 0, meanwhile);
	guardian_set_busy(session->guardian,
			  session->config->settings->children || session->departing_count);
}
