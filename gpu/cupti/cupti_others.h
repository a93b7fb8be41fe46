/* SPDX-License-Identifier: MIT */
/*
 * Another user of CUPTI who comes while it records (control->cupti_others, which gpuprobe fills at once). What it takes is
 * its own from then on: no kind that it uses is switched off, no buffer that is out is touched or freed; and once
 * it has called cuptiFinalize no function of CUPTI is called any more, since each would start it anew.
 */
#ifndef GPUPROBE_GPU_CUPTI_OTHERS_H
#define GPUPROBE_GPU_CUPTI_OTHERS_H

#include "../shared.h"

/* As many are kept as there may be until news of another user have come. */
#define CUPTI_OWN_FLUSHES 16

struct cupti_session;

struct cupti_others {
	bool lost;	/* CUPTI's records are not ours any more */
	bool down;	/* it was finalized: no call of it any more */
	bool withdrawn; /* what only we had switched on is off */
	bool unheard;	/* news did not come in time: they are waited for less long from then on */
	u64 taken_off; /* kinds that we have switched off */
	u32 flushes;	/* of our buffers, to whom they go now */
	u64 flushed_ns;
	/* While CUPTI was ours: the last flushes, the oldest is overwritten by the next. */
	struct {
		u64 begun_ns, ended_ns;
	} own_flushes[CUPTI_OWN_FLUSHES];
	u32 own_flush_count;
};

/* On any thread: has somebody taken CUPTI, or taken it down? */
bool cupti_others_came(const struct cupti_session *session);
/* Looks for them; true: from now on CUPTI is not ours. */
bool cupti_others_look(struct cupti_session *session);
/* All that had ended at begun_ns was handed over by a flush that ended at ended_ns, if CUPTI was ours all that time: that is known
 * later. */
void cupti_others_flushed(struct cupti_session *session, u64 begun_ns, u64 ended_ns);
/* After a flush by the agent, and, last, after the end: looks whether what was recorded says that it is not ours (cupti_canary.h). */
void cupti_others_judge(struct cupti_session *session, u64 now_ns);
/* CUPTI is lost: its records still go into the buffers of ours that are out, where the other one does not look for them, until
 * these are handed over. So they are flushed, some times and no more. */
void cupti_others_flush(struct cupti_session *session, u64 now_ns);
/* CUPTI is lost: how long to wait at most before the next of all this. */
u64 cupti_others_timeout(const struct cupti_session *session, u64 timeout_ns);
/* CUPTI is lost: switches off what nobody else wants, once it is known what others do. Waits for at most wait_ns. */
void cupti_others_withdraw(struct cupti_session *session, u64 wait_ns);
/* Waits for the news of others that are under way: a call of our own that does nothing tells, since they come one after the
 * other. false: nobody tells us of them, or not in time. */
bool cupti_others_hear(struct cupti_session *session);
/* Before and after callbacks are registered, in place of whose are there: who has come since the session began keeps his, or gets
 * them back. true: somebody has. since_ns: when ours were registered; 0: they are not. */
bool cupti_others_were_first(struct cupti_session *session, u64 since_ns);
/* Before anything is switched off: knows of all that others have done by now, and lets one who has just begun come to an end
 * of that, for less than half a second. */
void cupti_others_settle(struct cupti_session *session);
/* Of the kinds that we have switched off, those that somebody has switched on meanwhile are switched on again. false: as of
 * cupti_others_hear(). */
bool cupti_others_repair(struct cupti_session *session);

#endif
