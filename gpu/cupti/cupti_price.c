/* SPDX-License-Identifier: MIT */
#include "cupti_price.h"

#include <dlfcn.h>

#include "cupti_apis.h"
#include "cupti_family.h"
#include "../base/system.h"

#define CALLS  64 /* of a round */
#define ROUNDS 9  /* with records and without in turn; the median counts */

typedef u32 (*get_version)(int *version);

struct harmless {
	u32 kind, domain, callback;
	get_version call;
};

static u64 round_ns(get_version call)
{
	u64 begin_ns = system_thread_cpu_ns();
	int version;

	for (int i = 0; i < CALLS; i++)
		call(&version);
	return system_thread_cpu_ns() - begin_ns;
}

static u64 median(u64 values[ROUNDS])
{
	for (int i = 1; i < ROUNDS; i++)
		for (int j = i; j && values[j - 1] > values[j]; j--) {
			u64 larger = values[j - 1];

			values[j - 1] = values[j];
			values[j] = larger;
		}
	return values[ROUNDS / 2];
}

/* 0: CUPTI would not, or the difference is nothing. */
static u32 measure(const struct cupti_session *session, const struct harmless *harmless)
{
	u64 with[ROUNDS], without[ROUNDS], with_ns, without_ns;

	for (int i = 0; i < ROUNDS; i++) {
		if (cupti_switch_call(session, harmless->kind, harmless->callback, 0))
			return 0;
		without[i] = round_ns(harmless->call);
		if (cupti_switch_call(session, harmless->kind, harmless->callback, 1))
			return 0;
		with[i] = round_ns(harmless->call);
	}
	with_ns = median(with);
	without_ns = median(without);
	return with_ns > without_ns ? (with_ns - without_ns) / CALLS : 0;
}

/* By the kinds, or as the canary. */
static bool is_recorded(const struct cupti_session *session, const struct harmless *harmless)
{
	u64 kinds = session->kinds_enabled | session->kinds_by_number;

	return (kinds >> harmless->kind & 1 &&
		api_set_has(&session->convert.apis, harmless->domain, harmless->callback)) ||
	       (harmless->kind == CUPTI_DRIVER && session->canary.on);
}

/* The records of it are thrown away as long as they are only these. */
static u32 measure_and_restore(struct cupti_session *session, const struct harmless *harmless)
{
	u32 price_ns;

	if (!cupti_can_switch_calls(session) || !harmless->call)
		return 0;
	session->convert.thrown_away[harmless->domain - 1] = harmless->callback;
	price_ns = measure(session, harmless);
	cupti_switch_call(session, harmless->kind, harmless->callback,
			  is_recorded(session, harmless));
	cupti_session_flush(session, 0);
	cupti_session_convert(session);
	session->convert.thrown_away[harmless->domain - 1] = 0;
	return price_ns;
}

void cupti_price_measure(struct cupti_session *session)
{
	struct agent_cupti_facts *facts = &session->control->cupti_facts;
	struct loader_match runtime = {.prefix = "libcudart.so"};
	struct harmless harmless = {CUPTI_DRIVER, CUPTI_DOMAIN_DRIVER, CUPTI_DRIVER_GET_VERSION,
				    session->library.driver_get_version};
	void *handle;

	facts->driver_call_ns = measure_and_restore(session, &harmless);
	loader_match(&runtime);
	handle = runtime.count ? session->loader.open(runtime.paths[0], RTLD_NOW | RTLD_NOLOAD)
			       : NULL;
	if (!handle)
		return;
	harmless = (struct harmless){
		CUPTI_RUNTIME, CUPTI_DOMAIN_RUNTIME, CUPTI_RUNTIME_GET_VERSION,
		(get_version)session->loader.symbol(handle, "cudaRuntimeGetVersion")};
	facts->runtime_call_ns = measure_and_restore(session, &harmless);
	session->loader.close(handle);
}
