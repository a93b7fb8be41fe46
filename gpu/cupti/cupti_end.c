/* SPDX-License-Identifier: MIT */
/* The way out: kinds off, what there is handed over, CUPTI taken down or the subscription given back. */
#include "cupti_session.h"

#include "cupti_apis.h"
#include "cupti_family.h"
#include "cupti_finalize.h"
#include "cupti_stacks.h"
#include "cupti_subscription.h"
#include "../base/system.h"
#include "../base/words.h"

#define BUFFERS_TIMEOUT_MS  2000
#define BUFFERS_PAUSE_MS    50
#define THREADS_TIMEOUT_MS  2000
#define WITHDRAW_TIMEOUT_MS 400

/* Who begins to profile meanwhile gets back what it has asked for. */
void cupti_session_disable_kinds(struct cupti_session *session)
{
	session->others.taken_off |= session->kinds_enabled | CUPTI_API_KINDS;
	cupti_session_switch_off(session, ~0ULL);
	cupti_others_repair(session);
}

/* What CUPTI still has, even what is not complete. */
static void drain(struct cupti_session *session)
{
	u64 end_ns = system_now_ns() + BUFFERS_TIMEOUT_MS * NS_PER_MILLISECOND;

	do {
		u32 seen = __atomic_load_n(&session->control->bell, __ATOMIC_ACQUIRE);

		if (cupti_others_look(session))
			break;
		cupti_subscription_follow(session);
		cupti_session_flush(session, FLUSH_FORCED);
		cupti_session_convert(session);
		if (!cupti_buffers_out(&session->buffers))
			break;
		system_wait_shared(&session->control->bell, seen,
				   BUFFERS_PAUSE_MS * NS_PER_MILLISECOND);
	} while (system_now_ns() < end_ns);
	cupti_session_convert(session);
	cupti_session_count_dropped(session);
}

void cupti_session_hand_over(struct cupti_session *session)
{
	if (session && session->registered)
		drain(session);
}

/* CUPTI as it was, as far as it lets us. */
static void restore(struct cupti_session *session)
{
	cupti_session_zero_no_more(session);
	if (session->control->cupti.latency_timestamps)
		cupti_set_latency_timestamps(session, 0);
	if (session->event_timestamps)
		cupti_set_event_timestamps(session, 0);
	if (session->managed_tried)
		cupti_session_count_unified_memory(session, 0);
	cupti_restore_thread_ids(session);
}

/* Somebody else has CUPTI: it is left to that one as it is, but for what nobody but us had switched on. */
static void leave_to_others(struct cupti_session *session, struct words *words)
{
	cupti_session_convert(session);
	if (session->others.down) {
		words_add(words, "CUPTI was taken down by the target itself");
		cupti_subscription_end(session);
		return;
	}
	cupti_others_flush(session, system_now_ns());
	cupti_others_withdraw(session, WITHDRAW_TIMEOUT_MS * NS_PER_MILLISECOND);
	cupti_others_repair(session);
	words_add(words, "CUPTI stays in the target: another user of it has it");
	if (!session->others.withdrawn)
		words_add(words, ", with all kinds of records that were recorded here");
	cupti_subscription_end(session);
}

/* What stays, and why. */
static void stop(struct cupti_session *session, struct words *words)
{
	const char *why_not;
	bool heard;

	cupti_stacks_end(session);
	cupti_others_settle(session);
	if (cupti_others_look(session)) {
		leave_to_others(session, words);
		return;
	}
	cupti_session_disable_kinds(session);
	drain(session);
	cupti_others_judge(session, system_now_ns());
	if (session->others.lost) {
		leave_to_others(session, words);
		return;
	}
	restore(session);
	heard = cupti_others_repair(session);
	/* A library may have come meanwhile. */
	cupti_subscription_follow(session);
	why_not = cupti_finalize_why_not(session);
	if (!why_not && !heard)
		why_not = "may have another user by now, of which nobody tells";
	if (!why_not && session->subscriber && !cupti_others_came(session) &&
	    cupti_finalize(session)) {
		words_add(words, "CUPTI was taken down");
	} else if (cupti_others_look(session)) {
		leave_to_others(session, words);
	} else {
		words_add(words, "CUPTI stays in the target, switched off: it ");
		words_add(words, why_not ? why_not
					 : "told of no call of CUDA on whose return it can be "
					   "taken down");
		cupti_session_keep_clock(session);
	}
	if (session->managed_result) {
		words_add(words, "; it did not record its unified memory (error ");
		words_add_number(words, session->managed_result);
		words_add(words, ")");
	}
	cupti_subscription_end(session);
}

/* Nothing was recorded: what was set for it. */
static void take_back(struct cupti_session *session)
{
	if (session->configured)
		restore(session);
	cupti_session_keep_clock(session);
	cupti_subscription_end(session);
}

static void release(struct cupti_session *session)
{
	/* Our reference only; one that we loaded is never unloaded: CUPTI leaves pointers into itself behind. */
	if (session->library.handle && !session->library.loaded_by_us)
		session->loader.close(session->library.handle);
	texts_close(session->convert.texts);
	streams_close(session->convert.streams);
	instructions_close(session->convert.instructions);
	cupti_stacks_release(session);
	system_unmap(session, sizeof(*session));
}

static void say_buffers(struct words *words, u64 out_bytes)
{
	if (!out_bytes)
		return;
	words_add(words, "; CUPTI has not given all its buffers back: ");
	words_add_number(words, out_bytes >> 10);
	words_add(words, " KiB stay");
}

enum cupti_left cupti_session_end(struct cupti_session *session, char *hint)
{
	char nowhere[AGENT_HINT_BYTES];
	struct words words = words_begin(hint ? hint : nowhere, AGENT_HINT_BYTES);
	enum cupti_left left = CUPTI_LEFT_NOTHING;
	u64 kept_bytes;

	if (!session)
		return left;
	if (session->registered)
		stop(session, &words);
	else
		take_back(session);
	if (session->resident.data) {
		left = CUPTI_LEFT_PAGES;
		if (!resident_disconnect(&session->resident, THREADS_TIMEOUT_MS)) {
			words_add(&words, "; a thread of the target is still inside the agent");
			return CUPTI_LEFT_THREAD;
		}
		words_add(&words, words.length_bytes ? "; " : "");
		words_add(&words, "8 KiB (memfd:gpuprobe-resident) stay for callbacks");
	}
	kept_bytes = cupti_buffers_close(&session->buffers);
	session->control->cupti_facts.kept_bytes = kept_bytes;
	say_buffers(&words, kept_bytes);
	release(session);
	return left;
}
