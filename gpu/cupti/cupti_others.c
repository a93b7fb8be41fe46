/* SPDX-License-Identifier: MIT */
#include "cupti_session.h"

#include "cupti_apis.h"
#include "cupti_canary.h"
#include "cupti_family.h"
#include "cupti_others.h"
#include "../base/system.h"

/* A profiler that begins makes all its calls within that time of one another. */
#define QUIET_NS (300 * NS_PER_MILLISECOND)
#define PAUSE_NS (10 * NS_PER_MILLISECOND)
/* How long one is waited for at most who has just called. */
#define SETTLE_NS (400 * NS_PER_MILLISECOND)
/* News come within tens of microseconds, on a busy machine within milliseconds, on one with ten times as many threads as processors once
 * in a thousand times later than 100 ms: a kind that is switched off without them is another's. gpuprobe may be dead, too. */
#define HEAR_FIRST_NS NS_PER_SECOND
#define HEAR_NS	      (100 * NS_PER_MILLISECOND)
#define HEAR_PAUSE_NS (NS_PER_MILLISECOND / 20)
/* What is not complete is not handed over, and a buffer may just have been asked of us: twice as long to each next one. */
#define FLUSHES	       8
#define FLUSH_FIRST_NS NS_PER_MILLISECOND

static u32 uses_of(const struct cupti_session *session)
{
	return __atomic_load_n(&session->control->cupti_others.uses, __ATOMIC_ACQUIRE);
}

static u64 kinds_of(const struct cupti_session *session)
{
	return __atomic_load_n(&session->control->cupti_others.kinds, __ATOMIC_ACQUIRE);
}

/* Who shares CUPTI by the new family takes nothing, but by cuptiFinalize; who calls the old one is refused. */
static u32 harmful(const struct cupti_session *session)
{
	return session->several ? CUPTI_USE_FINALIZES : CUPTI_USE_REGISTERS | CUPTI_USE_FINALIZES;
}

bool cupti_others_came(const struct cupti_session *session)
{
	return uses_of(session) & harmful(session);
}

void cupti_others_flushed(struct cupti_session *session, u64 begun_ns, u64 ended_ns)
{
	struct cupti_others *others = &session->others;
	u32 i = others->own_flush_count++ % CUPTI_OWN_FLUSHES;

	others->own_flushes[i].begun_ns = begun_ns;
	others->own_flushes[i].ended_ns = ended_ns;
	__atomic_store_n(&session->control->cupti_facts.handed_over_ns, begun_ns, __ATOMIC_RELEASE);
}

/* News of another user come late: what was flushed since he came went to him. */
static u64 handed_over(const struct cupti_others *others, u64 lost_ns)
{
	u64 latest_ns = 0;

	for (u32 i = 0; i < CUPTI_OWN_FLUSHES; i++)
		if (others->own_flushes[i].ended_ns < lost_ns &&
		    others->own_flushes[i].begun_ns > latest_ns)
			latest_ns = others->own_flushes[i].begun_ns;
	return latest_ns;
}

static void lose(struct cupti_session *session, u32 reason, u64 since_ns)
{
	struct agent_cupti_facts *facts = &session->control->cupti_facts;

	if (session->others.lost)
		return;
	session->others.lost = true;
	facts->lost_reason = reason;
	since_ns = since_ns ? since_ns : system_now_ns();
	__atomic_store_n(&facts->handed_over_ns, handed_over(&session->others, since_ns),
			 __ATOMIC_RELEASE);
	__atomic_store_n(&facts->lost_ns, since_ns, __ATOMIC_RELEASE);
}

void cupti_others_judge(struct cupti_session *session, u64 now_ns)
{
	u64 since_ns;
	u32 reason = cupti_canary_judge(session, now_ns, &since_ns);

	if (reason)
		lose(session, reason, since_ns);
}

bool cupti_others_look(struct cupti_session *session)
{
	struct agent_cupti_others *others = &session->control->cupti_others;
	u32 uses = uses_of(session) & harmful(session);

	if (uses & CUPTI_USE_FINALIZES) {
		session->others.down = true;
		lose(session, CUPTI_LOST_FINALIZED, session->several ? 0 : others->lost_ns);
	} else if (uses & CUPTI_USE_REGISTERS) {
		cupti_session_zero_no_more(session);
		cupti_session_keep_clock(session);
		lose(session, CUPTI_LOST_TAKEN, others->lost_ns);
	}
	return session->others.lost;
}

void cupti_others_flush(struct cupti_session *session, u64 now_ns)
{
	struct cupti_others *others = &session->others;

	if (others->flushes == FLUSHES || others->down ||
	    session->control->cupti_facts.lost_reason != CUPTI_LOST_TAKEN ||
	    now_ns - others->flushed_ns < FLUSH_FIRST_NS << others->flushes >> 1)
		return;
	others->flushes++;
	others->flushed_ns = now_ns;
	cupti_session_flush(session, 0);
}

u64 cupti_others_timeout(const struct cupti_session *session, u64 timeout_ns)
{
	const struct cupti_others *others = &session->others;
	u64 wanted_ns =
		others->flushes < FLUSHES ? FLUSH_FIRST_NS << others->flushes >> 1 : 2 * PAUSE_NS;

	return others->down || others->withdrawn || wanted_ns > timeout_ns ? timeout_ns : wanted_ns;
}

bool cupti_others_hear(struct cupti_session *session)
{
	const struct agent_cupti_others *others = &session->control->cupti_others;
	u64 called_ns = system_now_ns();
	u64 end_ns = called_ns + (session->others.unheard ? HEAR_NS : HEAR_FIRST_NS);
	u32 never = 0;

	/* Nothing can be taken over; or every call would start it anew. */
	if (session->several || uses_of(session) & CUPTI_USE_FINALIZES)
		return true;
	if (!__atomic_load_n(&others->watched, __ATOMIC_ACQUIRE))
		return false;
	cupti_disable(session, CUPTI_NO_KIND);
	while (__atomic_load_n(&others->own_ns, __ATOMIC_ACQUIRE) < called_ns) {
		if (system_now_ns() >= end_ns) {
			session->others.unheard = true;
			return false;
		}
		system_wait(&never, 0, HEAR_PAUSE_NS);
	}
	return true;
}

bool cupti_others_were_first(struct cupti_session *session, u64 since_ns)
{
	const struct agent_cupti_others *others = &session->control->cupti_others;
	u64 registered_ns;

	cupti_others_hear(session);
	if (!since_ns || session->several)
		return cupti_others_came(session);
	registered_ns = __atomic_load_n(&others->registered_ns, __ATOMIC_ACQUIRE);
	if (!registered_ns || uses_of(session) & CUPTI_USE_FINALIZES)
		return cupti_others_came(session);
	/* Who came after ours is not ours to put back; who came at that moment has his already, or gets them. */
	if (registered_ns <= since_ns)
		session->library.calls.ActivityRegisterCallbacks(
			(cupti_requested)others->registered[0],
			(cupti_completed)others->registered[1]);
	return true;
}

/* true: nobody has called for so long that what he has begun is done. */
static bool await_quiet(struct cupti_session *session, u64 end_ns)
{
	const u64 *last_ns = &session->control->cupti_others.last_ns;
	u64 now_ns = system_now_ns();
	u32 never = 0;

	/* One may have come since. */
	while (now_ns < __atomic_load_n(last_ns, __ATOMIC_ACQUIRE) + QUIET_NS) {
		if (now_ns >= end_ns)
			return false;
		if (cupti_others_look(session))
			cupti_others_flush(session, now_ns);
		system_wait(&never, 0, PAUSE_NS);
		now_ns = system_now_ns();
	}
	return true;
}

void cupti_others_settle(struct cupti_session *session)
{
	cupti_others_hear(session);
	await_quiet(session, system_now_ns() + SETTLE_NS);
}

void cupti_others_withdraw(struct cupti_session *session, u64 wait_ns)
{
	u64 unwanted;

	/* Unseen by the probes somebody may want any of them. */
	if (session->others.withdrawn ||
	    session->control->cupti_facts.lost_reason == CUPTI_LOST_SILENT)
		return;
	if (!await_quiet(session, system_now_ns() + wait_ns))
		return;
	cupti_others_look(session);
	session->others.withdrawn = true;
	unwanted = ~kinds_of(session);
	session->others.taken_off |= (session->kinds_enabled & unwanted) | CUPTI_API_KINDS;
	if (!session->others.down)
		cupti_session_switch_off(session, unwanted);
	session->kinds_enabled = 0;
	cupti_others_repair(session);
}

bool cupti_others_repair(struct cupti_session *session)
{
	bool heard = cupti_others_hear(session);
	u64 wanted = session->several ? 0 : session->others.taken_off & kinds_of(session);
	for (u32 kind = 0; kind < AGENT_ACTIVITY_KINDS; kind++)
		if (wanted >> kind & 1 && !(uses_of(session) & CUPTI_USE_FINALIZES))
			cupti_enable(session, kind);
	session->others.taken_off &= ~wanted;
	return heard;
}
