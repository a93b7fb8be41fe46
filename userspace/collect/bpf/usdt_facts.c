/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/bpf/usdt_facts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan_usdt.h"
#include "plan/usdt_arguments.h"
#include "base/clock.h"
#include "base/cleanup.h"

/* The texts that BPF programs refer to: see site_of() in bpf_source_usdt.c. */
static int put_names(struct batch *batch, const struct plan *plan, size_t index)
{
	const struct plan_usdt *usdt = &plan->usdt[index];
	u32 id = (u32)(plan->function_count + 1 + USDT_TEXTS_PER_PROBE * index);
	_cleanup_free_ char *span = plan_usdt_span_name(usdt), *name = NULL;
	int result;

	if (!span || asprintf(&name, "%s:%s", usdt->provider, usdt->name) < 0)
		return -ENOMEM;
	result = batch_add_text(batch, RECORD_SOURCE_BPF, id, name, strlen(name));
	if (!result && usdt->role == VALUE_usdt_role_begin)
		result = batch_add_text(batch, RECORD_SOURCE_BPF, id + 1, span, strlen(span));
	return result;
}

static int put_fact(struct recording_facts *facts, struct batch *batch, const struct plan *plan,
		    size_t index)
{
	const struct plan_usdt *usdt = &plan->usdt[index];
	const struct plan_usdt_site *first = usdt->sites;
	struct text arguments _cleanup_text_ = {0};
	struct record_usdt fact = {
		.header = {.size_bytes = sizeof(fact),
			   .kind = KIND_usdt,
			   .source = RECORD_SOURCE_BPF,
			   .ts = clock_monotonic_ns(),
			   .name = (u32)(plan->function_count + 1 + USDT_TEXTS_PER_PROBE * index)},
		.id = (u32)index + 1,
		.sites = (u32)usdt->site_count,
		.partner = usdt->role == VALUE_usdt_role_point ? 0 : (u32)usdt->partner + 1,
		.role = usdt->role,
		.annotation = usdt->annotation,
	};
	int result = text_ids_get(&facts->probes, batch, usdt->provider, &fact.provider);

	if (first)
		usdt_arguments_append(first->arguments, first->argument_count, &arguments);
	if (arguments.failed)
		return -ENOMEM;
	if (!result)
		result = text_ids_get(&facts->probes, batch, plan->modules[usdt->module].path,
				      &fact.binary);
	if (!result && arguments.length)
		result = text_ids_get(&facts->probes, batch, arguments.data, &fact.arguments);
	return result ? result : batch_add(batch, &fact.header);
}

int usdt_facts_put(struct recording_facts *facts, struct batch *batch, const struct plan *plan)
{
	int result = 0;

	for (size_t i = 0; i < plan->usdt_count && !result; i++) {
		result = put_names(batch, plan, i);
		if (!result)
			result = put_fact(facts, batch, plan, i);
	}
	return result;
}
