/* SPDX-License-Identifier: MIT */
#include "cupti_stacks.h"

#include "api_calls.h"
#include "cupti_finalize.h"
#include "../base/system.h"
#include "../base/words.h"
#include "../stacks/launch_stacks.h"

#define SITE_ENTER	  0 /* CUpti_ApiCallbackSite */
#define INSIDE_TIMEOUT_NS (200 * NS_PER_MILLISECOND)
#define INSIDE_PAUSE_NS	  NS_PER_MILLISECOND

/* CUpti_CallbackData */
struct call_told {
	u32 site;
	const char *function;
	const void *parameters;
	void *result;
	const char *symbol;
	void *context;
	u32 context_number;
	u64 *own_data;
	u32 correlation;
};

_Static_assert(offsetof(struct call_told, correlation) == 64, "as CUPTI has it since CUDA 4.1");

void cupti_stacks_told(void *data, u32 domain, u32 callback, const void *call,
		       struct cupti_session *session, const struct stack_registers *registers);

/*
 * What called us, as a walk of its stack needs it, behind the arguments: the page of resident.h keeps all registers, and has put 8 bytes and a
 * return address between its caller's and ours.
 */
__attribute__((naked)) void cupti_stacks_callback(void *data, u32 domain, u32 callback,
						  const void *call, struct cupti_session *session)
{
	__asm__("endbr64\n\t"
		"push %rbx\n\t"
		"push %rbp\n\t"
		"lea 40(%rsp), %rax\n\t"
		"push %rax\n\t"
		"push 40(%rsp)\n\t"
		"mov %rsp, %r9\n\t"
		"sub $8, %rsp\n\t"
		"call cupti_stacks_told\n\t"
		"add $40, %rsp\n\t"
		"ret");
}

void cupti_stacks_told(void *data, u32 domain, u32 callback, const void *call,
		       struct cupti_session *session, const struct stack_registers *registers)
{
	const struct call_told *told = call;

	if (!session || !session->live || !__atomic_load_n(session->live, __ATOMIC_ACQUIRE) ||
	    !call)
		return;
	if (told->site == SITE_ENTER && __atomic_load_n(&session->stacks_on, __ATOMIC_ACQUIRE))
		launch_stacks_take(session->stacks, registers, told->correlation);
	else if (domain == CUPTI_DOMAIN_DRIVER && callback == CUPTI_DRIVER_GET_VERSION)
		cupti_finalize_callback(data, domain, callback, call, session);
}

static struct agent_feature *feature_of(const struct cupti_session *session)
{
	return &session->control->features[AGENT_FEATURE_STACKS];
}

static void answer(struct cupti_session *session, u32 state, const char *hint)
{
	struct agent_feature *feature = feature_of(session);

	words_set(feature->hint, AGENT_HINT_BYTES, hint);
	__atomic_store_n(&feature->state, state, __ATOMIC_RELEASE);
}

void cupti_stacks_prepare(struct cupti_session *session)
{
	if (!feature_of(session)->wanted)
		return;
	session->stacks = launch_stacks_open(session->control, session->writer->ring,
					     session->control->fixed.total_bytes);
	if (!session->stacks)
		answer(session, AGENT_FEATURE_FAILED, "no memory for it in the target");
}

/* How many calls CUPTI tells of. */
static u32 switch_all(const struct cupti_session *session, u32 enable)
{
	struct api_set set;
	u32 taken = 0;

	api_calls_resolve(&set, API_GROUPS_LAUNCHES, session->convert.callback_name,
			  session->convert.data);
	for (u32 domain = CUPTI_DOMAIN_DRIVER; domain <= CUPTI_DOMAIN_RUNTIME; domain++)
		for (u32 callback = 1; callback < API_CALLS_MAX; callback++)
			if (api_set_has(&set, domain, callback))
				taken += !session->library.calls.EnableCallback(
					enable, session->subscriber, domain, callback);
	return taken;
}

void cupti_stacks_begin(struct cupti_session *session)
{
	if (!session->stacks || session->feature->state != AGENT_FEATURE_READY)
		return;
	if (!session->subscriber) {
		answer(session, AGENT_FEATURE_IGNORED,
		       "they need CUPTI's subscription, which is left to torch.profiler (Kineto): "
		       "--launch-stacks auto takes them without it");
		return;
	}
	__atomic_store_n(&session->stacks_on, 1, __ATOMIC_RELEASE);
	if (session->library.calls.EnableCallback && switch_all(session, 1))
		answer(session, AGENT_FEATURE_READY, "");
	else
		answer(session, AGENT_FEATURE_FAILED, "CUPTI does not tell of calls");
}

/* CUPTI may be taken down next, which no thread that is in a callback of it would survive. */
static bool await_callbacks(const struct cupti_session *session)
{
	u64 end_ns = system_now_ns() + INSIDE_TIMEOUT_NS;
	u32 never = 0;

	while (__atomic_load_n(&session->resident.data->users, __ATOMIC_ACQUIRE) &&
	       system_now_ns() < end_ns)
		system_wait(&never, 0, INSIDE_PAUSE_NS);
	return !__atomic_load_n(&session->resident.data->users, __ATOMIC_ACQUIRE);
}

void cupti_stacks_end(struct cupti_session *session)
{
	if (!session->stacks_on)
		return;
	__atomic_store_n(&session->stacks_on, 0, __ATOMIC_RELEASE);
	if (!session->subscriber || session->others.down)
		return;
	switch_all(session, 0);
	session->stacks_stuck = !await_callbacks(session);
}

void cupti_stacks_lose(struct cupti_session *session)
{
	if (session->stacks && feature_of(session)->state == AGENT_FEATURE_READY)
		words_set(feature_of(session)->hint, AGENT_HINT_BYTES,
			  "from the moment on that PyTorch was loaded, none were taken: its "
			  "profiler may want CUPTI's subscription");
}

void cupti_stacks_release(struct cupti_session *session)
{
	launch_stacks_close(session->stacks);
	session->stacks = NULL;
}
