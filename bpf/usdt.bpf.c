/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes that programs carry (USDT): a nop of theirs with a uprobe on it. Two programs, by how they are attached:
 * usdt_hit by uprobe_multi, usdt_hit_single one perf event a site.
 *
 * A probe that begins a span (query__start) is kept, with its arguments, until its partner (query__done) is hit in the same
 * thread: then both become one record. Spans nest. The end of one can go unseen (longjmp out of it, an exception): it is
 * given up when a span around it ends, or when it begins again at the same place with the same sp.
 */
#include "emit.h"
#include "displaced_execute.h"
#include "hits.h"
#define PREEMPTION_FLAVOUR usdt
#include "preemption.h"
#define SPAN_SCRATCH usdt_stack_scratch
#include "span_stacks.h"
#include "threads.h"
#include "usdt_thread.h"

struct usdt_begun_key {
	u32 tid;
	u32 depth;
};

struct usdt_begun {
	u8 args[USDT_ARGS_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct usdt_thread);
} usdt_threads SEC(".maps");

/* Arguments of the spans that are open. Sized by userspace. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct usdt_begun_key);
	__type(value, struct usdt_begun);
} usdt_begun SEC(".maps");

/* Sized by userspace. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct usdt_site);
} usdt_sites SEC(".maps");

/* ---- arguments ---- */

static __always_inline void take_registers(struct usdt_thread *thread,
					   const struct pt_regs *registers)
{
#define TAKE(number, name) thread->registers[number] = displaced_read(registers, number);
	DISPLACED_REGISTERS(TAKE)
#undef TAKE
	thread->registers[USDT_REGISTER_NONE] = 0;
}

struct args_builder {
	struct usdt_thread *thread;
	const struct usdt_site *site;
	u32 used_bytes;	 /* of scratch.args */
	u32 limit_bytes; /* at most 2 * USDT_ARGS_BYTES */
	u32 group;
	u32 cut;
};

static __always_inline u64 register_value(const struct usdt_thread *thread, u8 number)
{
	return thread->registers[number & (USDT_REGISTERS - 1)];
}

/* False: it can't be read. */
static __always_inline bool argument_value(const struct usdt_thread *thread,
					   const struct usdt_argument *argument, u64 *ret_value)
{
	u64 value = argument->value;
	u32 unused_bits = 64 - 8 * argument->size_bytes;

	if (argument->kind == USDT_UNREADABLE)
		return false;
	if (argument->kind == USDT_REGISTER)
		value = register_value(thread, argument->base) >> (argument->shift_bits & 63);
	if (argument->kind == USDT_MEMORY) {
		u64 address = value + register_value(thread, argument->base) +
			      register_value(thread, argument->index) * argument->scale;

		if (bpf_probe_read_user(&value, sizeof(value), (void *)address)) {
			/* The value may lie at the end of what is mapped. */
			value = 0;
			if (bpf_probe_read_user(&value, argument->size_bytes & 7,
						(void *)address) ||
			    !(argument->size_bytes & 7))
				return false;
		}
	}
	value <<= unused_bits & 63;
	if (argument->is_signed)
		value = (s64)value >> (unused_bits & 63);
	else
		value >>= unused_bits & 63;
	*ret_value = value;
	return true;
}

#define ARGS_MASK (2 * USDT_ARGS_BYTES - 1)

static __always_inline struct record_arg *arg_at(struct usdt_thread *thread, u32 at)
{
	__asm__ volatile("" : "+r"(at));
	return (void *)&thread->scratch.args[at & ARGS_MASK];
}

/* The string at address behind the argument that begins at `at`, cut to what fits. Its length, or < 0. */
static __always_inline long read_string(struct args_builder *builder, u32 at, u64 address)
{
	struct record_arg *arg = arg_at(builder->thread, at);
	u32 room = builder->limit_bytes - at - sizeof(*arg);
	long length;

	if (room > USDT_STRING_BYTES)
		room = USDT_STRING_BYTES;
	/* For the verifier, hidden from the compiler, which knows that room is small. */
	__asm__ volatile("" : "+r"(room));
	room &= 2 * USDT_STRING_BYTES - sizeof(u64);
	if (!room)
		return -1;
	length = bpf_probe_read_user_str(arg + 1, room, (void *)address);
	if (length <= 0)
		return -1;
	arg->type = RECORD_ARG_STRING;
	if (length == room) {
		u8 next = 0;

		if (!bpf_probe_read_user(&next, sizeof(next), (void *)(address + length - 1)) &&
		    next)
			arg->type = RECORD_ARG_STRING_CUT;
	}
	return length - 1;
}

/* Zeros behind it up to the next multiple of 8, where earlier strings have left something. */
static __always_inline void pad_string(struct args_builder *builder, u32 at, u32 length)
{
	u64 *last = (u64 *)arg_at(builder->thread, at + sizeof(struct record_arg) + (length & ~7U));

	if (length & 7)
		*last &= (1ULL << (8 * (length & 7))) - 1;
}

/* The mask, hidden from the compiler's knowledge, shows the verifier that place is inside. */
static __always_inline const struct usdt_argument *argument_at(const struct usdt_site *site,
							       u32 place)
{
	__asm__ volatile("" : "+r"(place));
	return &site->arguments[place & (USDT_ARGUMENTS_ROOM - 1)];
}

static long add_argument(u32 place, struct args_builder *builder)
{
	const struct usdt_argument *argument;
	u32 at = builder->used_bytes;
	struct record_arg *arg;
	u64 value = 0;
	long length;

	if (place >= USDT_ARGUMENTS_MAX || place >= builder->site->argument_count)
		return 1;
	argument = argument_at(builder->site, place);
	if (at + sizeof(*arg) + sizeof(u64) > builder->limit_bytes) {
		builder->cut = 1;
		return 1;
	}
	arg = arg_at(builder->thread, at);
	arg->type = RECORD_ARG_UNREADABLE;
	arg->place = place;
	arg->group = builder->group;
	arg->pad = 0;
	arg->length_bytes = 0;
	arg->pad2 = 0;
	builder->used_bytes = at + sizeof(*arg);
	if (!argument_value(builder->thread, argument, &value))
		return 0;
	/* Of a null pointer the attempt alone would be a page fault, which costs more than all the rest. */
	if (argument->as_string && value) {
		length = read_string(builder, at, value);
		if (length >= 0) {
			arg->length_bytes = length;
			pad_string(builder, at, length);
			builder->used_bytes += ((u32)length + 7) & ~7U;
			return 0;
		}
	}
	arg->type = argument->is_signed ? RECORD_ARG_SIGNED : RECORD_ARG_UNSIGNED;
	arg->length_bytes = sizeof(value);
	*(u64 *)(arg + 1) = value;
	builder->used_bytes += sizeof(value);
	return 0;
}

/* Behind the first used_bytes of scratch.args; returns how many are used then. */
static __always_inline u32 add_arguments(struct usdt_thread *thread, const struct usdt_site *site,
					 u32 used_bytes, u32 group)
{
	struct args_builder builder = {.thread = thread,
				       .site = site,
				       .used_bytes = used_bytes,
				       .limit_bytes = used_bytes + USDT_ARGS_BYTES,
				       .group = group};

	bpf_loop(USDT_ARGUMENTS_MAX, add_argument, &builder, 0);
	if (builder.cut)
		count_loss(VALUE_loss_reason_usdt_args_cut);
	return builder.used_bytes;
}

/* ---- records ---- */

static __always_inline u32 bounded_args(u32 args_bytes)
{
	return args_bytes > 2 * USDT_ARGS_BYTES ? 2 * USDT_ARGS_BYTES : args_bytes;
}

static __always_inline void emit_point(struct usdt_thread *thread, const struct usdt_site *site,
				       u64 ts, u64 pid_tgid, u32 args_bytes)
{
	struct record_usdt_point *point = &thread->scratch.point;
	u32 size_bytes = sizeof(*point) + bounded_args(args_bytes);

	fill_header(&point->header, size_bytes, KIND_usdt_point, ts, 0, pid_tgid, site->name);
	point->header.stack = thread->stack;
	point->usdt = site->usdt;
	point->args_bytes = bounded_args(args_bytes);
	emit(&point->header, size_bytes);
}

/* The arguments of a span that is open, into scratch.args. How many bytes they are. */
static __always_inline u32 take_begun(struct usdt_thread *thread, const struct usdt_open *open,
				      u32 tid, u32 depth)
{
	struct usdt_begun_key key = {tid, depth};
	struct usdt_begun *begun;

	if (!open->args_bytes)
		return 0;
	begun = bpf_map_lookup_elem(&usdt_begun, &key);
	if (!begun)
		return 0;
	bpf_probe_read_kernel(thread->scratch.args, sizeof(begun->args), begun->args);
	return open->args_bytes;
}

static __always_inline void fill_span(struct record_usdt_span *span, const struct usdt_open *open,
				      u64 pid_tgid, u64 end_ts, u8 ended, u32 args_bytes)
{
	u64 dur = ended == VALUE_usdt_ended_open ? RECORD_DURATION_OPEN : end_ts - open->ts;

	fill_header(&span->header, sizeof(*span) + args_bytes, KIND_usdt_span, open->ts, dur,
		    pid_tgid, open->name);
	span->header.stack = open->stack;
	span->usdt = open->begin;
	span->ended = ended;
	__builtin_memset(span->pad, 0, sizeof(span->pad));
	span->args_bytes = args_bytes;
}

static __always_inline void emit_span(struct usdt_thread *thread, const struct usdt_open *open,
				      u64 pid_tgid, u64 end_ts, u8 ended, u32 args_bytes)
{
	args_bytes = bounded_args(args_bytes);
	fill_span(&thread->scratch.span, open, pid_tgid, end_ts, ended, args_bytes);
	emit(&thread->scratch.span.header, sizeof(struct record_usdt_span) + args_bytes);
}

/* ---- spans ---- */

static __always_inline struct usdt_open *open_at(struct usdt_thread *thread, u32 index)
{
	__asm__ volatile("" : "+r"(index));
	return &thread->open[index & (USDT_DEPTH_MAX - 1)];
}

struct usdt_search {
	struct usdt_thread *thread;
	u64 pid_tgid;
	u64 ts;
	u64 sp;	   /* of what begins */
	u32 begin; /* of what ends: the fact of the probe that begins it */
	u32 site;  /* of what begins; 0: something ends */
	u32 found; /* its depth + 1 */
	u8 ended;
};

/* From the innermost outwards. */
static long search_step(u32 step, struct usdt_search *search)
{
	u32 index = search->thread->depth - 1 - step;
	struct usdt_open *open;

	if (index >= USDT_DEPTH_MAX)
		return 1;
	open = open_at(search->thread, index);
	if (search->site ? open->site == search->site && open->sp == search->sp
			 : open->begin == search->begin) {
		search->found = index + 1;
		return 1;
	}
	return 0;
}

/* Ends the innermost one, without arguments of an end. */
static __always_inline void pop(struct usdt_thread *thread, u64 pid_tgid, u64 ts, u8 ended)
{
	u32 depth = thread->depth - 1;
	struct usdt_begun_key key = {(u32)pid_tgid, depth};
	struct usdt_open *open;
	u32 args_bytes;

	if (depth >= USDT_DEPTH_MAX)
		return;
	open = open_at(thread, depth);
	args_bytes = take_begun(thread, open, (u32)pid_tgid, depth);
	emit_span(thread, open, pid_tgid, ts, ended, args_bytes);
	if (open->args_bytes)
		bpf_map_delete_elem(&usdt_begun, &key);
	thread->depth = depth;
}

/* Down to and without that of search->found. */
static long give_up_step(u32 step, struct usdt_search *search)
{
	if (search->thread->depth <= search->found)
		return 1;
	if (search->ended == VALUE_usdt_ended_unseen)
		count_loss(VALUE_loss_reason_usdt_end_unseen);
	pop(search->thread, search->pid_tgid, search->ts, search->ended);
	return 0;
}

/* One that began again at the same place has lost its end. */
static __noinline int give_up_lost(struct usdt_thread *thread, const struct usdt_site *site,
				   u32 site_number, u64 ts)
{
	struct usdt_search search = {.thread = thread,
				     .pid_tgid = bpf_get_current_pid_tgid(),
				     .ts = ts,
				     .site = site_number,
				     .ended = VALUE_usdt_ended_unseen};

	if (!thread || !site || !thread->depth || site->repeats)
		return 0;
	search.sp = thread->registers[4];
	bpf_loop(USDT_DEPTH_MAX, search_step, &search, 0);
	if (!search.found)
		return 0;
	search.found--;
	bpf_loop(USDT_DEPTH_MAX, give_up_step, &search, 0);
	return 0;
}

/* False: there is no room for it. */
static __always_inline bool span_begins(struct usdt_thread *thread, const struct usdt_site *site,
					u32 site_number, u64 pid_tgid, u32 args_bytes)
{
	struct usdt_begun_key key = {(u32)pid_tgid, thread->depth};
	struct usdt_open *open;

	if (thread->depth >= USDT_DEPTH_MAX) {
		count_loss(VALUE_loss_reason_usdt_too_deep);
		return false;
	}
	open = open_at(thread, thread->depth);
	*open = (struct usdt_open){.sp = thread->registers[4],
				   .site = site_number,
				   .begin = site->begin,
				   .name = site->span_name,
				   .args_bytes = args_bytes,
				   .stack = thread->stack};
	if (args_bytes && bpf_map_update_elem(&usdt_begun, &key, thread->scratch.args, BPF_ANY)) {
		open->args_bytes = 0;
		count_loss(VALUE_loss_reason_usdt_args_cut);
	}
	/* The clock is read last: what we spent so far is not part of the span. */
	open->ts = bpf_ktime_get_ns();
	thread->depth++;
	return true;
}

/* The innermost span that ends here, without those inside it: its depth + 1, 0 when it was not seen to begin. */
static __noinline u32 span_ending(struct usdt_thread *thread, const struct usdt_site *site, u64 ts)
{
	struct usdt_search search = {.thread = thread,
				     .pid_tgid = bpf_get_current_pid_tgid(),
				     .ts = ts,
				     .ended = VALUE_usdt_ended_unseen};

	if (!thread || !site)
		return 0;
	search.begin = site->begin;
	if (thread->depth)
		bpf_loop(USDT_DEPTH_MAX, search_step, &search, 0);
	if (search.found)
		bpf_loop(USDT_DEPTH_MAX, give_up_step, &search, 0);
	else
		count_loss(VALUE_loss_reason_usdt_end_unmatched);
	return search.found;
}

static __always_inline void span_ends(struct usdt_thread *thread, u32 depth, u64 pid_tgid, u64 ts,
				      u32 args_bytes)
{
	struct usdt_begun_key key = {(u32)pid_tgid, depth};
	struct usdt_open *open = open_at(thread, depth);

	emit_span(thread, open, pid_tgid, ts, VALUE_usdt_ended_ended, args_bytes);
	if (open->args_bytes)
		bpf_map_delete_elem(&usdt_begun, &key);
	thread->depth = depth;
}

/* ---- hits ---- */

/* In three steps, so that the verifier goes through the arguments once: spans that are over, the arguments, the record. */
static __noinline int usdt_site_hit(struct usdt_thread *thread, const struct usdt_site *site,
				    u32 number, u64 ts)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	u32 args_bytes = 0, ending = 0;

	if (!thread || !site)
		return 0;
	if (site->role == VALUE_usdt_role_begin)
		give_up_lost(thread, site, number, ts);
	else if (site->role == VALUE_usdt_role_end)
		ending = span_ending(thread, site, ts);
	if (ending)
		args_bytes =
			take_begun(thread, open_at(thread, ending - 1), (u32)pid_tgid, ending - 1);
	if (args_bytes > USDT_ARGS_BYTES)
		args_bytes = USDT_ARGS_BYTES;
	args_bytes = add_arguments(thread, site, args_bytes,
				   ending ? RECORD_ARG_OF_END : RECORD_ARG_OF_BEGIN);
	if (ending)
		span_ends(thread, ending - 1, pid_tgid, ts, args_bytes);
	else if (site->role != VALUE_usdt_role_begin ||
		 !span_begins(thread, site, number, pid_tgid, args_bytes))
		emit_point(thread, site, ts, pid_tgid, args_bytes);
	return 0;
}

static __noinline int usdt_record(struct pt_regs *registers)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 cookie = bpf_get_attach_cookie(registers), pid_tgid = task_pid_tgid(task);
	struct thread_state *state = thread_state_find(task);
	u32 number = cookie & COOKIE_PROBE_MASK;
	struct usdt_thread *thread;
	struct usdt_site *site;
	u64 ts, begin_ns;

	if (!place_begins(registers, cookie, state, task->tgid, PRICE_USDT))
		return 0;
	begin_ns = price_begin(PRICE_USDT);
	ts = bpf_ktime_get_ns();
	site = bpf_map_lookup_elem(&usdt_sites, &number);
	if (!site)
		return 0;
	thread_state_get(state, task, pid_tgid); /* for its name */
	thread = bpf_task_storage_get(&usdt_threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread) {
		count_loss(VALUE_loss_reason_no_storage);
		return 0;
	}
	take_registers(thread, registers);
	/* Of one that ends a span it is that of its beginning, as a rule. */
	thread->stack = takes_usdt_stacks && site->role != VALUE_usdt_role_end
				? span_stack(registers, pid_tgid)
				: 0;
	usdt_site_hit(thread, site, number, ts);
	price_end(PRICE_USDT, begin_ns);
	return 0;
}

static __always_inline int usdt(struct pt_regs *registers)
{
	preemption_off();
	usdt_record(registers);
	preemption_on();
	return 0;
}

SEC("uprobe.multi")
int usdt_hit(struct pt_regs *registers)
{
	return usdt(registers);
}

SEC("uprobe")
int usdt_hit_single(struct pt_regs *registers)
{
	return usdt(registers);
}

/* ---- ends that are no probe's ---- */

static __always_inline int end_spans(u8 ended)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct usdt_thread *thread;
	struct usdt_search search = {.pid_tgid = bpf_get_current_pid_tgid(), .ended = ended};

	if (!window_open || !is_target(search.pid_tgid >> 32))
		return 0;
	thread = bpf_task_storage_get(&usdt_threads, task, 0, 0);
	if (!thread || !thread->depth)
		return 0;
	search.thread = thread;
	search.ts = bpf_ktime_get_ns();
	bpf_loop(USDT_DEPTH_MAX, give_up_step, &search, 0);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int usdt_thread_exit(void *context)
{
	return end_spans(VALUE_usdt_ended_thread_exit);
}

SEC("tp_btf/sched_process_exec")
int usdt_exec(void *context)
{
	return end_spans(VALUE_usdt_ended_exec);
}

/* A span with all its arguments, as the iterator gives it: of one size, so that reads end between them. */
#define OPEN_RECORD_BYTES (sizeof(struct record_usdt_span) + USDT_ARGS_BYTES)

/* Read after detaching: nothing changes them any more. */
SEC("iter/task")
int open_usdt_spans(struct bpf_iter__task *context)
{
	struct seq_file *seq = context->meta->seq;
	struct task_struct *task = context->task;
	struct usdt_thread *thread;
	u64 pid_tgid;

	if (!task || !is_target(task->tgid))
		return 0;
	thread = bpf_task_storage_get(&usdt_threads, task, 0, 0);
	if (!thread)
		return 0;
	pid_tgid = (u64)task->tgid << 32 | (u32)task->pid;
	for (u32 i = 0; i < USDT_DEPTH_MAX && i < thread->depth; i++) {
		const struct usdt_open *open = open_at(thread, i);
		u32 args_bytes = take_begun(thread, open, (u32)pid_tgid, i);

		if (args_bytes > USDT_ARGS_BYTES)
			args_bytes = USDT_ARGS_BYTES;
		fill_span(&thread->scratch.span, open, pid_tgid, 0, VALUE_usdt_ended_open,
			  args_bytes);
		bpf_seq_write(seq, &thread->scratch, OPEN_RECORD_BYTES);
	}
	return 0;
}
