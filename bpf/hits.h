/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counting the hits of probes. */
#ifndef GPUPROBE_BPF_HITS_H
#define GPUPROBE_BPF_HITS_H

#include "arch_x86_64.h"
#include "displaced_execute.h"
#include "emit.h"
#include "price.h"

/* As bpf_get_current_pid_tgid(), without the call. */
static __always_inline u64 task_pid_tgid(const struct task_struct *task)
{
	return (u64)task->tgid << 32 | (u32)task->pid;
}

static __always_inline u32 cookie_site_kind(u64 cookie)
{
	return (cookie >> COOKIE_SITE_SHIFT) & COOKIE_SITE_MASK;
}

static __always_inline u32 cookie_detail(u64 cookie)
{
	return (cookie >> COOKIE_DETAIL_SHIFT) & 0xf;
}

/* NULL never happens: there is one for each probe. */
static __always_inline struct probe_hits *probe_hits_of(u64 cookie)
{
	u32 probe = cookie & PROBE_ID_MASK;

	return bpf_map_lookup_elem(&probe_hits, &probe);
}

/* False when it is not to be recorded. known: the thread has been seen as a target's; only the others have to be looked
 * up. */
static __always_inline bool hit_is_ours(struct counters *mine, bool known, u32 tgid)
{
	if (!known && !is_target(tgid)) {
		mine->strangers++;
		return false;
	}
	return window_open && (known || !is_own_thread((u32)bpf_get_current_pid_tgid()));
}

/* One that a jump back to its place makes is none. */
static __always_inline bool is_first(const struct pt_regs *registers, u64 cookie)
{
	return cookie_site_kind(cookie) != COOKIE_SITE_RESTART ||
	       !arch_condition_holds(registers, cookie_detail(cookie));
}

/* Counts the hit of a function's entry. False when it is not to be recorded. */
static __always_inline bool entry_begins(const struct pt_regs *registers, u64 cookie,
					 const struct thread_state *state, u32 tgid)
{
	struct counters *mine = counters_get();
	struct probe_hits *hits = probe_hits_of(cookie);

	if (!mine || !hits || !hit_is_ours(mine, state, tgid) ||
	    is_switched_off(cookie & COOKIE_PROBE_MASK))
		return false;
	hits->entries++;
	return is_first(registers, cookie);
}

/* Counts the hit of a place whose number is none of a function. False when it is not to be recorded. */
static __always_inline bool place_hit(u64 cookie, bool known, u32 tgid, u32 sort)
{
	struct counters *mine = counters_get();

	if (!mine || sort >= PRICE_SORTS || !hit_is_ours(mine, known, tgid))
		return false;
	if (cookie & COOKIE_STEPPED)
		mine->prices[sort].stepped_entries++;
	else
		mine->prices[sort].entries++;
	return true;
}

/* The same, of a place that a jump may lead back to. */
static __always_inline bool place_begins(const struct pt_regs *registers, u64 cookie,
					 const struct thread_state *state, u32 tgid, u32 sort)
{
	return place_hit(cookie, state, tgid, sort) && is_first(registers, cookie);
}

/* Of an entry of which there is more to know than the cookie says; else NULL. */
static __always_inline const struct entry_site *entry_site_find(u64 cookie)
{
	u32 probe = cookie & PROBE_ID_MASK;

	if (cookie_site_kind(cookie) != COOKIE_SITE_DESCRIBED)
		return NULL;
	return bpf_map_lookup_elem(&entry_sites, &probe);
}

/* At an entry: does the instruction that the program is to do, unless another program on the same site has. */
static __noinline __attribute__((unused)) int entry_displace(struct pt_regs *registers)
{
	u64 cookie = bpf_get_attach_cookie(registers);
	const struct entry_site *site = entry_site_find(cookie);

	if (site && arch_ip_is_at(registers, cookie >> COOKIE_ADDRESS_SHIFT))
		displaced_execute(registers, &site->instruction);
	return 0;
}

#endif
