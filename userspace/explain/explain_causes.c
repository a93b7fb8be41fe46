/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Causes of idle time to findings. */
#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "explain/explain_parts.h"
#include "why/why_describe.h"

/* Between two operations of a stream a GPU takes less than this; more is waiting. */
#define QUEUE_NS 10000
/* From so much on what a thread does itself is a finding. */
#define HOST_LEAST_PERCENT 5
/* Names of calls of CUDA are shorter. */
#define CALL_CHARS 128

static const enum explain_finding of_sort[WHY_SORTS] = {
#define OF_SORT(sort, finding) [WHY_##sort] = EXPLAIN_##finding + 1,
#include "explain/causes.def"
};

static const enum explain_finding of_wait[WHY_WAITS] = {
#define OF_WAIT(wait, finding) [WHY_WAIT_##wait] = EXPLAIN_##finding + 1,
#include "explain/causes.def"
};

static const enum explain_finding of_doing[WHY_DOINGS] = {
#define OF_DOING(doing, finding) [WHY_DOING_##doing] = EXPLAIN_##finding + 1,
#include "explain/causes.def"
};

static const struct {
	const char *pattern;
	enum explain_finding finding;
} of_call[] = {
#define OF_CALL(pattern, finding) {pattern, EXPLAIN_##finding},
#include "explain/causes.def"
};

enum explain_finding explain_finding_of_call(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(of_call); i++)
		if (!fnmatch(of_call[i].pattern, name, 0))
			return of_call[i].finding;
	return EXPLAIN_FINDINGS;
}

/* Of a call with the code that made it, whatever that is called. */
static enum explain_finding finding_of_words(const char *words)
{
	char call[CALL_CHARS];
	size_t length = why_describe_call_length(words);

	if (length >= sizeof(call))
		return EXPLAIN_FINDINGS;
	memcpy(call, words, length);
	call[length] = '\0';
	return explain_finding_of_call(call);
}

static bool may_have_waited(const struct why_cause *cause)
{
	return cause->sort == WHY_CODE_OR_WAIT && cause->is_long;
}

static enum explain_finding finding_of_doing(const struct why_cause *cause)
{
	enum explain_finding finding =
		cause->sort == WHY_CODE ? of_doing[why_doing_of_words(cause->what)] : 0;

	return finding ? finding - 1 : EXPLAIN_FINDINGS;
}

/* Of the call that held it, which waits for a GPU or a copy. Who has no CPU, or waits for somebody, would do so behind any call, and garbage is collected
 * behind any, too. */
static enum explain_finding finding_of_held(const struct why *why, const struct why_cause *cause)
{
	if (cause->held == WHY_NOT_HELD || of_sort[cause->sort] || of_wait[cause->wait] ||
	    may_have_waited(cause) || finding_of_doing(cause) != EXPLAIN_FINDINGS)
		return EXPLAIN_FINDINGS;
	return finding_of_words(why->whats.strings[cause->held]);
}

/* What the thread that launches does itself. */
static enum explain_finding finding_of_own(const struct why_cause *cause)
{
	enum explain_finding finding = EXPLAIN_FINDINGS;
	bool is_launch;

	if (cause->sort == WHY_QUEUED && cause->ns / (cause->gaps ?: 1) >= QUEUE_NS)
		finding = EXPLAIN_STREAM;
	else if (cause->sort == WHY_QUEUED)
		finding = EXPLAIN_KERNEL_GAPS;
	else if (cause->sort == WHY_CALL || cause->sort == WHY_SYNC || cause->sort == WHY_LAUNCH ||
		 cause->sort == WHY_BEGIN)
		finding = finding_of_words(cause->what);
	else
		finding = finding_of_doing(cause);
	/* In the call that launches, or behind it, it runs no other code, as long as that takes no longer than launches do. */
	is_launch = (cause->sort == WHY_LAUNCH || cause->sort == WHY_BEGIN) &&
		    cause->ns / (cause->gaps ?: 1) < WHY_LONG_NS;
	if (finding == EXPLAIN_FINDINGS && cause->is_long && !is_launch)
		finding = cause->sort == WHY_CODE_OR_WAIT ? EXPLAIN_CODE_OR_WAITS : EXPLAIN_CODE;
	return finding == EXPLAIN_FINDINGS ? EXPLAIN_LAUNCH : finding;
}

static enum explain_finding finding_without_call(const struct why_cause *cause)
{
	if (of_sort[cause->sort])
		return of_sort[cause->sort] - 1;
	return of_wait[cause->wait] ? of_wait[cause->wait] - 1 : finding_of_own(cause);
}

size_t explain_cause_shares(const struct why *why, const struct why_cause *cause,
			    struct explain_share ret_shares[EXPLAIN_SHARES_MAX])
{
	enum explain_finding held = finding_of_held(why, cause), own = finding_without_call(cause);
	u64 held_ns = held == EXPLAIN_FINDINGS ? 0 : cause->held_ns;
	u64 own_gaps = held_ns && held == own ? 0 : cause->gaps;
	size_t count = 0;

	/* A copy that its caller waited for: for the time being, see settle(). */
	if (held == EXPLAIN_COPIES) {
		held = EXPLAIN_READBACK;
		own = own == EXPLAIN_COPIES ? EXPLAIN_READBACK : own;
	}
	if (held_ns)
		ret_shares[count++] =
			(struct explain_share){held, held_ns, cause->gaps, .by_call = true};
	if (held_ns < cause->ns)
		ret_shares[count++] = (struct explain_share){own, cause->ns - held_ns, own_gaps,
							     .by_call = false};
	return count;
}

/* The wait of who waits says nothing of who has the GIL. */
static bool is_own_wait_for_gil(const struct why_cause *cause)
{
	return cause->wait == WHY_WAIT_GIL && cause->sort == WHY_WAIT &&
	       cause->waiter == WHY_NO_ROW;
}

/* Of a cause of which nothing more is known: where most of it is. */
static const char *nameless_place(enum why_sort sort)
{
	switch (sort) {
	case WHY_CODE:
		return "code without a name";
	case WHY_UNSAMPLED:
		return "code that is not known";
	case WHY_CODE_OR_WAIT:
		return "code or waits that are not known";
	default:
		return why_words(sort);
	}
}

/* Is that the name of the call alone? */
static bool is_of_call(const char *call, const char *what)
{
	size_t length = why_describe_call_length(call);

	return strlen(what) == length && !memcmp(what, call, length);
}

/* ", 61 % at line 27" of code that begins far before that. */
static void append_line(const struct why *why, const struct why_cause *cause, u32 what,
			struct text *text)
{
	const u64 *line = cause->sort == WHY_CODE ? map_find(&why->hot_lines, what, 0) : NULL;

	if (line)
		text_appendf(text, ", %u %% at line %u", (u32)*line, (u32)(*line >> 32));
}

/* " (loader)"; ranks have one name all: " in python (7, rank 3)". Returns the process that is to be told of the former; 0: none. */
static u32 append_whose(const struct explain *explain, const struct why_cause *cause,
			struct text *text)
{
	const struct view_row *rows = explain->survey->rows;

	if (cause->row_index == WHY_NO_ROW)
		return 0;
	if (cause->wait != WHY_WAIT_PEER) {
		text_appendf(text, " (%s)", rows[cause->row_index].name);
		return explain->is_shared[cause->row_index] ? rows[cause->row_index].pid : 0;
	}
	text_append(text, " in ");
	explain_process_append_short(explain, rows[cause->row_index].pid, text);
	return 0;
}

/* "decode work.py:11 (loader)", "cudaDeviceSynchronize", "behind cudaDeviceSynchronize"; returns explain_place.what. ret_pid: 0 at first, the process
 * that is to be told. */
static u32 name_place(const struct explain *explain, const struct why *why,
		      const struct why_cause *cause, bool by_call, struct text *text, u32 *ret_pid)
{
	const char *call = cause->held == WHY_NOT_HELD ? "" : why->whats.strings[cause->held];
	u32 what = (u32)string_table_find(&why->whats, cause->what, strlen(cause->what));

	if (is_own_wait_for_gil(cause)) {
		text_append(text, "not known");
		return 0;
	}
	if (*call && (by_call || !*cause->what)) {
		text_appendf(text, "%s%s", by_call ? "" : "behind ", call);
		return cause->held + 1;
	}
	if (*call && is_of_call(call, cause->what)) {
		text_append(text, call);
		return cause->held + 1;
	}
	text_append(text, *cause->what ? cause->what : nameless_place(cause->sort));
	append_line(why, cause, what, text);
	*ret_pid = append_whose(explain, cause, text);
	return *cause->what ? what + 1 : 0;
}

static int add_place(const struct explain *explain, const struct why *why,
		     const struct why_cause *cause, bool by_call, const struct explain_share *share,
		     struct explain_places *places)
{
	_cleanup_text_ struct text place = {0};
	u32 pid = 0, what = name_place(explain, why, cause, by_call, &place, &pid);

	if (place.failed ||
	    explain_places_add_what(places, text_string(&place), what, share->ns, share->gaps))
		return -ENOMEM;
	return pid ? explain_places_add_pid(places, text_string(&place), pid, share->ns) : 0;
}

int explain_share_place_add(const struct explain *explain, const struct why *why,
			    const struct why_cause *cause, const struct explain_share *share,
			    struct explain_places *places)
{
	return add_place(explain, why, cause, share->by_call, share, places);
}

/* Who is waited for where that is no thread of those that are recorded. */
static void append_stranger(const struct why_cause *cause, struct text *text)
{
	const char *waker = why_describe_waker(cause->what);

	if (!waker)
		text_append(text, "what is not known");
	else
		text_appendf(text, "%s%s", waker,
			     why_describe_is_stranger(waker) ? ", not recorded" : "");
}

static int add_names(struct explain *explain, const struct why_cause *cause,
		     const struct explain_share *share, struct explain_evidence *evidence)
{
	size_t waiter = cause->waiter == WHY_NO_ROW ? cause->row_index : cause->waiter;
	_cleanup_text_ struct text name = {0};

	if (explain_share_place_add(explain, &explain->why, cause, share, &evidence->places))
		return -ENOMEM;
	if (share->by_call && cause->sort == WHY_CODE && *cause->what &&
	    add_place(explain, &explain->why, cause, false, share, &evidence->behind))
		return -ENOMEM;
	if (cause->at &&
	    explain_places_add(&evidence->at, explain->why.whats.strings[cause->at - 1],
			       (u64)((double)share->ns * cause->at_share), share->gaps))
		return -ENOMEM;
	if (cause->row_index == WHY_NO_ROW)
		return 0;
	if (explain_add_thread(explain, waiter, share->ns, share->gaps, &evidence->waiters))
		return -ENOMEM;
	if (cause->sort != WHY_WAIT || cause->wait != WHY_WAIT_OTHER || cause->waiter != WHY_NO_ROW)
		return explain_add_thread(explain, cause->row_index, share->ns, share->gaps,
					  &evidence->threads);
	append_stranger(cause, &name);
	return name.failed || explain_places_add(&evidence->threads, text_string(&name), share->ns,
						 share->gaps)
		       ? -ENOMEM
		       : 0;
}

static int add_share(struct explain *explain, const struct why_cause *cause,
		     const struct explain_share *share)
{
	struct explain_evidence *evidence = &explain->evidence[share->finding];
	const char *seen = why_seen(cause->sort);

	evidence->idle_ns += share->ns;
	evidence->count += share->gaps;
	evidence->seen_ns += strcmp(seen, "seen") ? 0 : share->ns;
	evidence->sampled_ns += strcmp(seen, "sampled") ? 0 : share->ns;
	return add_names(explain, cause, share, evidence);
}

static int add(struct explain *explain, const struct why_cause *cause)
{
	struct explain_share shares[EXPLAIN_SHARES_MAX];
	size_t count = explain_cause_shares(&explain->why, cause, shares);

	for (size_t i = 0; i < count; i++)
		if (add_share(explain, cause, &shares[i]))
			return -ENOMEM;
	return 0;
}

int explain_causes_add(struct explain *explain)
{
	const struct why *why = &explain->why;

	for (unsigned i = 0; i < EXPLAIN_FINDINGS; i++)
		explain->final[i] = i;
	for (size_t i = 0; i < why->gpu_count; i++) {
		explain->recorded_ns += why->gpus[i].recorded_ns;
		explain->busy_ns += why->gpus[i].busy_ns;
		explain->unseen_ns += why->gpus[i].unseen_ns;
	}
	for (size_t i = 0; i < why->count; i++) {
		if (!why_is_known(why->causes[i].sort))
			explain->unknown_ns +=
				why_is_idle(why->causes[i].sort) ? why->causes[i].ns : 0;
		else if (add(explain, &why->causes[i]))
			return -ENOMEM;
	}
	return 0;
}

/* ---- behind the run over the work ---- */

/* All of one finding to another one. */
static int merge(struct explain *explain, enum explain_finding from_finding,
		 enum explain_finding to_finding)
{
	struct explain_evidence *from = &explain->evidence[from_finding];
	struct explain_evidence *to = &explain->evidence[to_finding];

	if (from == to)
		return 0;
	for (unsigned i = 0; i < EXPLAIN_FINDINGS; i++)
		if (explain->final[i] == from_finding)
			explain->final[i] = to_finding;
	to->idle_ns += from->idle_ns;
	to->count += from->count;
	to->seen_ns += from->seen_ns;
	to->sampled_ns += from->sampled_ns;
	if (explain_places_merge(&from->places, &to->places) ||
	    explain_places_merge(&from->threads, &to->threads) ||
	    explain_places_merge(&from->waiters, &to->waiters) ||
	    explain_places_merge(&from->behind, &to->behind) ||
	    explain_places_merge(&from->at, &to->at))
		return -ENOMEM;
	explain_evidence_free(from);
	*from = (struct explain_evidence){0};
	return 0;
}

/* Larger ones are copies of data, where they are few among others. */
static bool has_read_backs(const struct explain *explain)
{
	const struct explain_copies *found = &explain->read_backs;
	u64 copies = 0;

	for (unsigned i = 0; i < COPY_SORTS; i++)
		copies += explain->copies[i].count;
	return found->count &&
	       (found->bytes <= found->count * EXPLAIN_TINY_BYTES || 4 * found->count >= copies);
}

/* What calls that wait for a GPU wait for. */
static int settle_syncs(struct explain *explain)
{
	/* Gaps behind copies that were waited for: are there any by which the host can read? */
	if (!has_read_backs(explain) && merge(explain, EXPLAIN_READBACK, EXPLAIN_COPIES))
		return -ENOMEM;
	if (2 * explain->readback_ns >= explain->waited_ns && explain->readback_ns)
		return merge(explain, EXPLAIN_SYNC, EXPLAIN_READBACK);
	return 0;
}

enum explain_finding explain_finding_of_copies(enum explain_copy_sort sort)
{
	static const enum explain_finding findings[COPY_SORTS] = {
		[COPY_TINY] = EXPLAIN_TINY,
		[COPY_PAGEABLE] = EXPLAIN_PAGEABLE,
		[COPY_OTHER] = EXPLAIN_COPIES,
	};

	return findings[sort];
}

static double share_of(const struct explain *explain, enum explain_finding finding)
{
	return explain->recorded_ns ? 100.0 * (double)explain->evidence[finding].idle_ns /
					      (double)explain->recorded_ns
				    : 0;
}

int explain_causes_settle(struct explain *explain)
{
	const struct explain_copies *copies = explain->copies;
	u64 count = 0, ns = 0;
	enum explain_finding most = EXPLAIN_COPIES;

	if (settle_syncs(explain))
		return -ENOMEM;
	for (unsigned i = 0; i < COPY_SORTS; i++) {
		count += copies[i].count;
		ns += copies[i].ns;
	}
	/* Many tiny ones count by their number, large ones by their time. */
	if (2 * copies[COPY_PAGEABLE].ns >= ns && copies[COPY_PAGEABLE].count)
		most = EXPLAIN_PAGEABLE;
	else if (2 * copies[COPY_TINY].count >= count && count)
		most = EXPLAIN_TINY;
	if (explain->stream_turns.streams && merge(explain, EXPLAIN_LAUNCH, EXPLAIN_STREAM_TURNS))
		return -ENOMEM;
	if (merge(explain, EXPLAIN_COPIES, most))
		return -ENOMEM;
	/* Neither would be told of alone. */
	if (share_of(explain, EXPLAIN_CODE) < HOST_LEAST_PERCENT &&
	    share_of(explain, EXPLAIN_CODE_OR_WAITS) < HOST_LEAST_PERCENT &&
	    explain->evidence[EXPLAIN_CODE_OR_WAITS].idle_ns &&
	    merge(explain, EXPLAIN_CODE, EXPLAIN_CODE_OR_WAITS))
		return -ENOMEM;
	for (unsigned i = 0; i < COPY_SORTS; i++)
		explain->evidence[explain_finding_of_copies(i)].busy_ns += copies[i].alone_ns;
	return 0;
}
