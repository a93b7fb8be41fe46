/* SPDX-License-Identifier: MIT */
/* The way to the first record: everything that CUPTI must be told, in the order that it wants. */
#include "cupti_session.h"

#include <errno.h>
#include <string.h>

#include "cupti_apis.h"
#include "cupti_attributes.h"
#include "cupti_canary.h"
#include "cupti_family.h"
#include "cupti_others.h"
#include "cupti_finalize.h"
#include "cupti_sizes.h"
#include "cupti_stacks.h"
#include "cupti_subscription.h"
#include "../base/system.h"
#include "../base/words.h"

#define CLOCK_START_POINTS   8
#define CLOCK_START_PAUSE_NS (2 * NS_PER_MILLISECOND)

/* ---- the clock ---- */

static void fit_clock(struct cupti_session *session)
{
	u32 never = 0;

	session->clock.fitted = true;
	for (int i = 0; i < CLOCK_START_POINTS; i++) {
		clock_take_point(&session->clock, cupti_session_read_clock, session);
		system_wait(&never, 0, CLOCK_START_PAUSE_NS);
	}
}

static enum clock_kind give_clock(struct cupti_session *session)
{
	const struct cupti_calls *calls = &session->library.calls;
	u64 (*callback)(void) = resident_timestamp(&session->resident);
	enum clock_kind kind;

	session->timestamps_by_callback = true;
	/* An earlier session's, which told it CLOCK_REALTIME when that left. */
	kind = clock_examine(cupti_session_read_clock, session);
	if (kind == CLOCK_IS_MONOTONIC)
		return kind;
	if (calls->ActivityRegisterTimestampCallback(callback)) {
		cupti_session_keep_clock(session);
		return kind;
	}
	kind = clock_examine(cupti_session_read_clock, session);
	/* It took the callback, so its records have our times, even if its clock has not: the first
	 * record shows it. */
	session->clock.unsure = kind != CLOCK_IS_MONOTONIC;
	return kind;
}

/*
 * A callback is taken back by cuptiFinalize only, so CUPTI gets none where it stays.
 * Registering our callback a second time in a process spoils the first records of a session, and registering it over
 * another client's spoils that one's; so CUPTI's clock is looked at first.
 */
static void start_clock(struct cupti_session *session)
{
	struct agent_cupti_facts *facts = &session->control->cupti_facts;
	const struct cupti_calls *calls = &session->library.calls;
	enum clock_kind kind = clock_examine(cupti_session_read_clock, session);

	session->timestamps_foreign = kind == CLOCK_IS_FOREIGN;
	session->stays = cupti_finalize_why_not(session) != NULL;
	if ((kind == CLOCK_IS_REALTIME || kind == CLOCK_UNREADABLE) && !session->stays &&
	    calls->ActivityRegisterTimestampCallback)
		kind = give_clock(session);
	session->clock.realtime = kind == CLOCK_IS_REALTIME;
	if (kind != CLOCK_IS_MONOTONIC)
		fit_clock(session);
	facts->timestamps_ours = kind == CLOCK_IS_MONOTONIC;
	facts->fit_residual_ns = session->clock.residual_ns;
}

/* ---- kinds ---- */

/* Without times of the device these records have none at all. */
static u32 enable_events(struct cupti_session *session)
{
	u32 result = cupti_set_event_timestamps(session, 1);

	session->event_timestamps = !result;
	return result ? result : cupti_enable(session, CUPTI_CUDA_EVENT);
}

/* Those that exist already are reported too. */
static u32 enable_facts(struct cupti_session *session, u32 kind)
{
	return cupti_enable_and_dump(session, kind) ? cupti_enable(session, kind) : CUPTI_OK;
}

static u32 enable_kind(struct cupti_session *session, u32 kind)
{
	switch (kind) {
	case CUPTI_CUDA_EVENT:
		return enable_events(session);
	case CUPTI_DEVICE:
	case CUPTI_CONTEXT:
	case CUPTI_STREAM:
		return enable_facts(session, kind);
	}
	return cupti_enable(session, kind);
}

static u64 kinds_wanted(struct cupti_session *session)
{
	const struct agent_control *control = session->control;
	u64 wanted = control->cupti.kinds | 1ULL << CUPTI_DEVICE | 1ULL << CUPTI_CONTEXT |
		     1ULL << CUPTI_STREAM;

	/* With it CUPTI leaves out what the graph is made of. */
	if (control->cupti.graph_whole)
		wanted |= 1ULL << CUPTI_GRAPH_TRACE;
	else
		wanted &= ~(1ULL << CUPTI_GRAPH_TRACE);
	return wanted & ~cupti_apis_prepare(session, wanted);
}

/* Each kind has its own answer; one that fails does not take the others with it. */
static void enable_kinds(struct cupti_session *session)
{
	static const u8 facts_first[] = {CUPTI_DEVICE, CUPTI_CONTEXT, CUPTI_STREAM};
	struct words words = words_begin(session->feature->hint, AGENT_HINT_BYTES);
	u64 wanted = kinds_wanted(session), tried = 0;

	for (u32 i = 0; i < ARRAY_SIZE(facts_first) + AGENT_ACTIVITY_KINDS; i++) {
		u32 kind =
			i < ARRAY_SIZE(facts_first) ? facts_first[i] : i - ARRAY_SIZE(facts_first);
		u32 result;

		if (!(wanted >> kind & 1) || tried >> kind & 1 || !cupti_convert_knows(kind) ||
		    kind == CUPTI_UNIFIED_MEMORY)
			continue;
		tried |= 1ULL << kind;
		result = enable_kind(session, kind);
		if (!result) {
			session->kinds_enabled |= 1ULL << kind;
			continue;
		}
		words_add(&words, words.length_bytes
					  ? ", "
					  : "activity kinds that this CUPTI does not record: ");
		words_add_number(&words, kind);
		if (result == CUPTI_NOT_CALLED)
			continue;
		words_add(&words, " (error ");
		words_add_number(&words, result);
		words_add(&words, ")");
	}
	if (session->library.copies > 1) {
		words_add(&words, words.length_bytes ? "; " : "");
		words_add(&words, "a second copy of CUPTI is loaded, one of them is blind: ");
		words_add(&words, session->library.other_path);
	}
}

/* ---- all of it ---- */

static void note_library(struct cupti_session *session)
{
	struct agent_cupti_facts *facts = &session->control->cupti_facts;

	facts->cupti_version = session->version;
	facts->driver_version = session->library.driver_version;
	memcpy(facts->path, session->library.path, sizeof(facts->path));
}

static void configure(struct cupti_session *session)
{
	const struct cupti_calls *calls = &session->library.calls;
	struct agent_cupti_config *config = &session->control->cupti;

	session->configured = true;
	cupti_set_thread_ids(session);
	cupti_sizes_measure(calls, session->version, session->convert.record_bytes);
	start_clock(session);
	/* They hold for everybody's buffers: not where somebody could come who hands out others. */
	if (!session->stays && session->subscriber && !session->others_known)
		session->buffers.zeroed = cupti_attributes_zero_ourselves(calls);
	if (config->latency_timestamps)
		cupti_set_latency_timestamps(session, 1);
}

static bool connect(struct cupti_session *session)
{
	struct resident_slots slots = {session, cupti_session_requested, cupti_session_completed,
				       cupti_finalize_callback};

	cupti_stacks_prepare(session);
	if (session->stacks)
		slots.callback = cupti_stacks_callback;
	if (session->version < CUPTI_VERSION_NO_BUFFER_SAFE)
		resident_keep_spare(&session->resident);
	if (resident_connect(&session->resident, &slots))
		return true;
	/* Nothing of it is ours. */
	session->resident.data = NULL;
	words_set(session->feature->hint, AGENT_HINT_BYTES,
		  "the agent of another gpuprobe is in the target: wait until it is done");
	__atomic_store_n(&session->feature->state, AGENT_FEATURE_FAILED, __ATOMIC_RELEASE);
	return false;
}

/*
 * Where no subscription keeps others out one may begin at the same time: callbacks that are registered last are the ones that count, so his
 * would be gone, and with them all records of his.
 */
static bool give_way(struct cupti_session *session, u64 since_ns)
{
	if (!cupti_others_were_first(session, since_ns))
		return false;
	cupti_subscription_give_way(session);
	return true;
}

static void enable(struct cupti_session *session)
{
	size_t dropped_before;
	u32 result;

	if (give_way(session, 0))
		return;
	result = cupti_register_callbacks(session);
	if (result) {
		if (result == CUPTI_OTHER_FAMILY)
			cupti_subscription_fail_family(session);
		else
			cupti_session_fail(session, AGENT_FEATURE_FAILED,
					   session->several ? "cuptiActivityRegisterCallbacks_v2"
							    : "cuptiActivityRegisterCallbacks",
					   result);
		return;
	}
	if (give_way(session, system_now_ns()))
		return;
	session->registered = true;
	/*
	 * Work that ended after an earlier session lies in a buffer of that one's, which CUPTI would go on to fill; that
	 * agent can no longer read it, and to us it says nothing.
	 */
	cupti_session_flush(session, FLUSH_FORCED);
	/* What it has dropped since then, when nobody gave it a buffer, is not of this one either. */
	cupti_dropped(session, &dropped_before);
	enable_kinds(session);
	cupti_apis_enable(session);
	session->control->cupti_facts.kinds_enabled =
		session->kinds_enabled | session->kinds_by_number;
	if (!(session->control->cupti_facts.kinds_enabled & session->control->cupti.kinds) &&
	    session->control->cupti.kinds) {
		__atomic_store_n(&session->feature->state, AGENT_FEATURE_FAILED, __ATOMIC_RELEASE);
		return;
	}
	cupti_canary_begin(session);
	/* The facts of what exists are there before the first event. */
	cupti_session_flush(session, 0);
	cupti_session_convert(session);
	session->flushed_ns = session->clock_ns = system_now_ns();
	__atomic_store_n(&session->feature->state, AGENT_FEATURE_READY, __ATOMIC_RELEASE);
}

static const char *why_not_resident(int error)
{
	static const struct {
		int error;
		const char *words;
	} reasons[] = {
		{EFBIG, "the target may not write to files, not even in memory (RLIMIT_FSIZE)"},
		{EMFILE, "the target may not open another file (RLIMIT_NOFILE)"},
		{ENOMEM, "no memory for it in the target (RLIMIT_AS, RLIMIT_MEMLOCK)"},
		{EAGAIN, "no memory for it in the target (RLIMIT_AS, RLIMIT_MEMLOCK)"},
	};

	for (u32 i = 0; i < ARRAY_SIZE(reasons); i++)
		if (reasons[i].error == error)
			return reasons[i].words;
	return "the target may not map executable memory (SELinux, vm.memfd_noexec)";
}

void cupti_session_start(struct cupti_session *session)
{
	struct agent_feature *feature = session->feature;
	u32 state =
		cupti_find(&session->library, &session->loader, session->control, feature->hint);
	u32 result;

	if (state != AGENT_FEATURE_READY) {
		__atomic_store_n(&feature->state, state, __ATOMIC_RELEASE);
		return;
	}
	result = resident_open(&session->resident);
	if (result) {
		words_set(feature->hint, AGENT_HINT_BYTES, why_not_resident(-(int)result));
		__atomic_store_n(&feature->state, AGENT_FEATURE_FAILED, __ATOMIC_RELEASE);
		return;
	}
	result = session->library.calls.GetVersion(&session->version);
	session->convert.version = session->version;
	note_library(session);
	if (!connect(session))
		return;
	if (result) {
		cupti_session_fail(session, AGENT_FEATURE_FAILED, "cuptiGetVersion", result);
		return;
	}
	if (cupti_subscription_begin(session)) {
		configure(session);
		enable(session);
		cupti_stacks_begin(session);
	}
}
