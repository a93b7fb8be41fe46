/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/bpf/cookie.h"

#include "../bpf/shared.h"
#include "collect/bpf/entry_sites.h"

u64 cookie_of_entry(const struct plan_function *function, size_t index)
{
	u64 cookie = (index + 1) | (function->counted ? PROBE_COUNTED : 0) |
		     (function->cost == COST_STEPPED ? COOKIE_STEPPED : 0) |
		     (u64)function->entry_only_reason << COOKIE_REASON_SHIFT;

	if (function->allocator)
		cookie |= COOKIE_ALLOCATOR;
	if (function->launch && !function->launch_only)
		cookie |= COOKIE_LAUNCH;
	if (plan_reads_sizes(function))
		cookie |= COOKIE_MATMUL;
	if (entry_site_is_needed(function))
		cookie |= COOKIE_SITE_DESCRIBED << COOKIE_SITE_SHIFT |
			  (function->file_offset & 0xfff) << COOKIE_ADDRESS_SHIFT;
	if (function->restarts)
		cookie |= COOKIE_SITE_RESTART << COOKIE_SITE_SHIFT | (u64)function->condition
									     << COOKIE_DETAIL_SHIFT;
	return cookie;
}

u64 cookie_of_exit(const struct plan_function *function, const struct return_site *site,
		   size_t index, bool emulated)
{
	static const struct {
		u64 cookie, emulated; /* COOKIE_SITE_* */
		bool stepped;	      /* unless emulated */
	} kinds[] = {
		[RETURN_SITE_RET] = {COOKIE_SITE_RETURN, COOKIE_SITE_RETURN_EMULATED, true},
		[RETURN_SITE_JUMP] = {COOKIE_SITE_JUMP, 0, false},
		[RETURN_SITE_JUMP_CONDITIONAL] = {COOKIE_SITE_CONDITION, 0, false},
		[RETURN_SITE_JUMP_REGISTER] = {COOKIE_SITE_JUMP, COOKIE_SITE_JUMP_EMULATED, true},
		[RETURN_SITE_JUMP_MEMORY] = {COOKIE_SITE_JUMP, 0, true},
	};
	u64 detail = site->kind == RETURN_SITE_JUMP_CONDITIONAL ? site->condition
								: site->register_number;
	bool fits = site->popped_bytes % 8 == 0 && site->popped_bytes / 8 < 16;
	bool by_program = emulated && kinds[site->kind].emulated && fits;
	u64 kind = by_program ? kinds[site->kind].emulated : kinds[site->kind].cookie;

	return (index + 1) | (function->counted ? PROBE_COUNTED : 0) | kind << COOKIE_SITE_SHIFT |
	       (detail & 0xf) << COOKIE_DETAIL_SHIFT |
	       (site->file_offset & 0xfff) << COOKIE_ADDRESS_SHIFT |
	       (u64)(fits ? site->popped_bytes / 8 : 0) << COOKIE_POPPED_SHIFT |
	       (function->allocator ? COOKIE_ALLOCATOR : 0) |
	       (kinds[site->kind].stepped && !by_program ? COOKIE_STEPPED : 0);
}
