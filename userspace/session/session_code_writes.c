/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Targets that change code in which there are probes: these are taken out for good, if possible before anything is written there,
 * since the kernel does the file's instruction at a probe, and puts breakpoints back over what was written (docs/uprobes.md).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "code/site_bytes.h"
#include "session/code_repair.h"
#include "session/probed_pieces.h"
#include "session/session_parts.h"

#define NAMED_MAX     16 /* of what goes at a time */
#define LOOK_APART_NS 20000
/* Where a breakpoint was overwritten its memory does not tell when the kernel has forgotten it: 100 took it 0.2 ms. */
#define FORGET_NS (10 * NS_PER_MILLISECOND)

/* ---- what goes ---- */

struct place {
	u64 address;
	size_t piece;
};

struct retiring {
	struct session *session;
	const struct target *target;
	struct code_memory *memory;
	struct probed_pieces *pieces;
	struct code_write_event event;
	bool *functions; /* of the plan, that go */
	size_t function_count;
	bool sorts[PRICE_SORTS]; /* that go */
	struct place *places;	 /* with breakpoints that have to go */
	size_t place_count, place_capacity;
	size_t piece; /* whose places are added */
	bool overwritten;
	const char *why; /* NULL: it changes that code */
};

static int add_place(void *data, u64 address, u8 file_byte)
{
	struct retiring *retiring = data;
	u8 byte;

	if (site_byte_is_breakpoint(file_byte))
		return 0;
	if (!code_memory_read(retiring->memory, address, &byte, 1) ||
	    !site_byte_is_breakpoint(byte))
		retiring->overwritten = true;
	if (array_reserve(&retiring->places, &retiring->place_capacity, retiring->place_count + 1))
		return -ENOMEM;
	retiring->places[retiring->place_count++] = (struct place){address, retiring->piece};
	return 0;
}

static bool goes(const struct retiring *retiring, const struct probed_piece *piece)
{
	struct code_piece_owner owner = probed_piece_owner(retiring->pieces, piece);

	if (!owner.function)
		return retiring->sorts[PRICE_USDT];
	return piece->heap ? retiring->sorts[PRICE_HEAP] : retiring->functions[piece->number];
}

/* What was switched off before has no probe any more. */
static void choose_sort(struct retiring *retiring, enum price_sort sort, struct probed_piece *piece)
{
	if (bpf_source_sort_is_off(retiring->session->source, sort))
		piece->gone = true;
	else
		retiring->sorts[sort] = true;
}

static void choose(struct retiring *retiring, struct probed_piece *piece)
{
	struct code_piece_owner owner = probed_piece_owner(retiring->pieces, piece);

	if (piece->gone || (owner.function ? owner.function->changed : owner.site->changed))
		return;
	if (!owner.function) {
		choose_sort(retiring, PRICE_USDT, piece);
	} else if (piece->heap) {
		choose_sort(retiring, PRICE_HEAP, piece);
	} else if (bpf_source_is_off(retiring->session->source, piece->number)) {
		piece->gone = true;
	} else if (!retiring->functions[piece->number]) {
		retiring->functions[piece->number] = true;
		retiring->function_count++;
	}
}

static void choose_changed(struct retiring *retiring, bool heap, size_t number, u64 address)
{
	for (size_t i = 0; i < retiring->pieces->count; i++) {
		struct probed_piece *piece = &retiring->pieces->items[i];

		if (piece->heap == heap && piece->number == number && piece->start == address)
			choose(retiring, piece);
	}
}

static void on_changed(void *data, size_t number, u64 address)
{
	choose_changed(data, false, number, address);
}

static void on_heap_changed(void *data, size_t number, u64 address)
{
	choose_changed(data, true, number, address);
}

static int choose_written(struct retiring *retiring)
{
	const struct probed_pieces *pieces = retiring->pieces;
	int result = code_pieces_compare(pieces->plan, retiring->memory, on_changed, retiring);

	if (!result && pieces->heap_plan)
		result = code_pieces_compare(pieces->heap_plan, retiring->memory, on_heap_changed,
					     retiring);
	return result;
}

static int choose_range(struct retiring *retiring)
{
	const struct probed_pieces *pieces = retiring->pieces;

	for (size_t i = 0; i < pieces->count; i++)
		if (pieces->items[i].start < retiring->event.end &&
		    pieces->items[i].end > retiring->event.start)
			choose(retiring, &pieces->items[i]);
	return 0;
}

static int choose_patched(struct retiring *retiring)
{
	const struct probed_pieces *pieces = retiring->pieces;
	u64 patchers = plan_patchers_mapped(retiring->target);

	for (size_t i = 0; i < pieces->count; i++) {
		struct code_piece_owner owner = probed_piece_owner(pieces, &pieces->items[i]);
		const char *why = NULL;

		if (owner.function)
			why = plan_is_patched(pieces->items[i].heap ? pieces->heap_plan
								    : pieces->plan,
					      owner.function, patchers);
		if (why)
			choose(retiring, &pieces->items[i]);
		retiring->why = retiring->why ? retiring->why : why;
	}
	return 0;
}

static int choose_none(struct retiring *retiring)
{
	return 0;
}

static int (*const choosers[])(struct retiring *retiring) = {
	[CODE_REPLACED] = choose_range,	 [CODE_PROTECTED] = choose_none,
	[CODE_WRITTEN] = choose_written, [CODE_PATCHER] = choose_patched,
	[CODE_MAPPED] = choose_none,	 [CODE_EXECUTED] = choose_none,
};

/* All pieces of what goes, not only those that were changed. */
static int collect_places(struct retiring *retiring)
{
	int result = 0;

	for (size_t i = 0; i < retiring->pieces->count && !result; i++) {
		struct probed_piece *piece = &retiring->pieces->items[i];

		if (piece->gone || !goes(retiring, piece))
			continue;
		piece->gone = true;
		retiring->piece = i;
		result = probed_piece_places(retiring->pieces, piece, add_place, retiring);
	}
	return result;
}

/* ---- taking it out ---- */

static void release(const struct retiring *retiring)
{
	bpf_source_release_code(retiring->session->source, &retiring->event);
}

static bool is_out(const struct retiring *retiring, const struct place *place)
{
	u8 byte;

	return !code_memory_read(retiring->memory, place->address, &byte, 1) ||
	       !site_byte_is_breakpoint(byte);
}

/* Which is long before the kernel is done with the links. False: it may not have forgotten all. */
static bool wait_until_out(const struct retiring *retiring)
{
	const struct timespec pause = {.tv_nsec = LOOK_APART_NS};
	const u64 begin_ns = clock_monotonic_ns();
	size_t i = 0;

	while (i < retiring->place_count && !session_has_departed(retiring->session))
		if (is_out(retiring, &retiring->places[i]))
			i++;
		else
			nanosleep(&pause, NULL);
	while (retiring->overwritten && !session_has_departed(retiring->session) &&
	       clock_monotonic_ns() < begin_ns + FORGET_NS)
		nanosleep(&pause, NULL);
	return !retiring->overwritten || session_has_departed(retiring->session);
}

/* What stays when the kernel is done is another one's. */
static void find_shared(const struct retiring *retiring)
{
	for (size_t i = 0; i < retiring->place_count; i++)
		if (!is_out(retiring, &retiring->places[i]))
			retiring->pieces->items[retiring->places[i].piece].shared = true;
}

/* Where another mapping lies by now, or something else was written in between, copies of breakpoints may have come with it. */
static void repair_copies(struct retiring *retiring)
{
	bool moved = retiring->event.kind == CODE_REPLACED;
	bool anywhere = retiring->event.kind == CODE_WRITTEN;

	retiring->session->repaired_count +=
		code_repair_copies(retiring->target, retiring->memory, retiring->pieces,
				   anywhere ? 0 : retiring->event.start,
				   anywhere ? UINT64_MAX : retiring->event.end, moved);
}

static void repair_jumps(struct retiring *retiring)
{
	retiring->session->repaired_count +=
		code_repair_jumps(retiring->target, retiring->memory, retiring->pieces);
}

/* Who does not wait, or no longer, may have written already, and the kernel over it; so it may where it has not forgotten a breakpoint. */
static void repair_what_kernel_wrote(struct retiring *retiring)
{
	struct session *session = retiring->session;

	if (session->code_unforgotten ||
	    !bpf_source_is_code_held(session->source, &retiring->event))
		repair_jumps(retiring);
}

/* Meanwhile who changes any mapping waits until what the kernel did then is repaired. */
static void note_unforgotten(struct session *session)
{
	bpf_source_add_code_late(session->source);
	session->code_unforgotten++;
}

/* Who waits goes on when the bytes are out. */
static void let_go(void *data)
{
	struct retiring *retiring = data;

	if (wait_until_out(retiring))
		find_shared(retiring);
	else
		note_unforgotten(retiring->session);
	repair_copies(retiring);
	repair_what_kernel_wrote(retiring);
	release(retiring);
}

static void tell(const struct retiring *retiring, const char *name, u64 now_ns, size_t count)
{
	struct session *session = retiring->session;
	struct site_changes *changes = &session->result.status.changes;

	/* Behind the window nothing is missing. */
	if (session->window_end_ns)
		return;
	if (session->result.window_opened) {
		session_put_loss(session, VALUE_loss_reason_code_written, name, now_ns, count);
		return;
	}
	/* Before it, it is as what was left out from the start. */
	if (!changes->count) {
		struct text text _cleanup_text_ = {0};

		text_append_terminal(&text, name, strlen(name));
		snprintf(changes->first, sizeof(changes->first), "%s: %s", text_string(&text),
			 retiring->why ? retiring->why
				       : "the process changed its code while the probes "
					 "were put in");
	}
	changes->count += count;
}

static void tell_all(const struct retiring *retiring, u64 now_ns)
{
	static const char *const sorts[PRICE_SORTS] = {
		[PRICE_HEAP] = "allocations of host memory", [PRICE_USDT] = "USDT probes"};
	struct session *session = retiring->session;
	const struct session_config *config = session->config;
	const struct plan *plan = config->plan;
	const char *first = NULL;
	size_t told = 0, all = retiring->function_count;

	for (size_t i = 0; i < PRICE_SORTS; i++) {
		if (!retiring->sorts[i])
			continue;
		session_budget_note_end(session, SIZE_MAX, (enum price_sort)i, now_ns);
		tell(retiring, sorts[i], now_ns, 1);
		first = sorts[i];
		all++;
	}
	for (size_t i = 0; i < plan->function_count; i++) {
		if (!retiring->functions[i])
			continue;
		session_budget_note_end(session, i, PRICE_SORTS, now_ns);
		first = told ? first : plan->functions[i].name;
		if (told++ < NAMED_MAX)
			tell(retiring, plan->functions[i].name, now_ns, 1);
	}
	if (told > NAMED_MAX)
		tell(retiring, "other functions", now_ns, told - NAMED_MAX);
	if (first && session->result.window_opened && !session->window_end_ns &&
	    config->on_code_changed)
		config->on_code_changed(config->callback_data, first, all - 1,
					retiring->target->pid, retiring->why,
					now_ns - session->window_start_ns);
}

/* All side by side, and waited for once. */
static int take_out(struct retiring *retiring, u64 now_ns)
{
	struct session *session = retiring->session;
	const struct session_meanwhile nothing = {NULL, NULL}, meanwhile = {let_go, retiring};
	_cleanup_free_ size_t *functions = calloc(retiring->function_count + 1, sizeof(*functions));
	_cleanup_free_ u32 *tags = calloc(retiring->function_count + 1, sizeof(*tags));
	size_t count = 0;

	if (!functions || !tags)
		return -ENOMEM;
	for (size_t i = 0; i < session->config->plan->function_count; i++)
		if (retiring->functions[i])
			functions[count++] = i;
	for (enum price_sort sort = 0; sort < PRICE_SORTS; sort++)
		if (retiring->sorts[sort])
			session_take_sort_off(session, sort, &nothing);
	if (count)
		session_take_probes_off(session, functions, count, now_ns, tags, &meanwhile);
	else
		let_go(retiring);
	return 0;
}

static bool has_any(const struct retiring *retiring)
{
	return retiring->function_count || retiring->sorts[PRICE_USDT] ||
	       retiring->sorts[PRICE_HEAP];
}

static int retire(struct retiring *retiring)
{
	u64 now_ns = clock_monotonic_ns();
	int result = choosers[retiring->event.kind](retiring);

	if (!result &&
	    (has_any(retiring) || retiring->event.held || retiring->session->code_unforgotten))
		repair_what_kernel_wrote(retiring);
	if (!result && has_any(retiring))
		result = collect_places(retiring);
	if (!result && has_any(retiring))
		result = take_out(retiring, now_ns);
	else
		repair_copies(retiring);
	release(retiring);
	tell_all(retiring, now_ns);
	return result;
}

/* ---- events ---- */

/* Also where it is not known yet: a child has what its parent had. */
static int look_before(struct session *session, const struct retiring *retiring,
		       struct watched_process **ret_process)
{
	struct watched_process *known = watched_code_find(&session->watched, retiring->target);
	const u32 kind = retiring->event.kind;

	if (kind == CODE_MAPPED && known && !retiring->event.held)
		known->stale = true;
	else if (kind == CODE_MAPPED || kind == CODE_EXECUTED || !known || known->stale)
		return watched_code_look(&session->watched, retiring->target, retiring->memory,
					 kind == CODE_EXECUTED, ret_process);
	*ret_process = known;
	return 0;
}

static int handle_in(struct retiring *retiring)
{
	struct session *session = retiring->session;
	struct watched_process *process;
	int result = code_memory_open(retiring->target, &retiring->memory);

	retiring->functions = calloc(session->config->plan->function_count + 1, sizeof(bool));
	if (!result)
		result = retiring->functions ? look_before(session, retiring, &process) : -ENOMEM;
	if (!result) {
		retiring->pieces = &process->pieces;
		result = retire(retiring);
	}
	code_memory_close(retiring->memory);
	free(retiring->functions);
	free(retiring->places);
	return result;
}

static int handle_event(struct session *session, const struct code_write_event *event)
{
	struct session_process process;
	struct retiring retiring = {.session = session, .event = *event};
	int result = session_process_open(session, event->pid, &process);

	retiring.target = process.target;
	if (!result)
		result = handle_in(&retiring);
	release(&retiring);
	target_close(&process.opened);
	return result;
}

struct events {
	struct code_write_event *items;
	size_t count, capacity;
	const struct bpf_source *source;
	bool lost; /* some of them */
};

static void on_event(void *data, const struct code_write_event *event)
{
	struct events *events = data;

	if (event->kind < ARRAY_SIZE(choosers) && choosers[event->kind] &&
	    !array_reserve(&events->items, &events->capacity, events->count + 1)) {
		events->items[events->count++] = *event;
		return;
	}
	events->lost = true;
	bpf_source_release_code(events->source, event);
}

/* What they say where nobody waits is said once for those that follow each other. */
static bool is_as_last(const struct events *events, size_t i)
{
	const struct code_write_event *last = &events->items[i - 1], *event = &events->items[i];

	return !event->held && event->kind == CODE_WRITTEN && last->kind == CODE_WRITTEN &&
	       event->pid == last->pid;
}

int session_code_look_at_all(struct session *session)
{
	const struct session_config *config = session->config;
	int result = 0;

	for (size_t t = 0; t < config->target_count && !result; t++) {
		struct code_write_event event = {.kind = CODE_WRITTEN,
						 .pid = config->targets[t].pid};

		result = handle_event(session, &event);
	}
	return result;
}

void session_code_handle(struct session *session)
{
	/* What they did before they went on, or before the kernel forgot, is told by now. */
	const u32 forgotten = session_has_departed(session) ? session->code_unforgotten : 0;
	const u32 late = bpf_source_code_late(session->source) - session->code_unforgotten;
	struct events events = {.source = session->source};

	events.lost |= bpf_source_take_code_writes(session->source, on_event, &events);
	for (size_t i = 0; i < events.count; i++)
		if (!i || !is_as_last(&events, i))
			(void)handle_event(session, &events.items[i]);
	if (events.lost)
		(void)session_code_look_at_all(session);
	session->code_unforgotten -= forgotten;
	bpf_source_answer_code_late(session->source, late + forgotten);
	free(events.items);
}
