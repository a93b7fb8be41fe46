/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the driver tells: calls, work, resources; and the subscriber's callbacks. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cupti_sim.h"

/* Nested API exits of this thread: only there is cuptiFinalize safe. */
static __thread unsigned inside_exit;

/* cuptiSubscribe_v2 of 13.2 and later. */
struct subscriber_params {
	size_t size;
	const char *name;
	char *old_name;
	size_t old_name_size;
	uint8_t allow_multiple;
};
#define PARAMS_13_0 32
#define PARAMS_13_2 40

static bool is_subscribed(unsigned domain, unsigned cbid)
{
	return cbid < SIM_MAX_CBIDS && sim_state.callbacks[domain][cbid];
}

static void deliver(unsigned domain, unsigned cbid, const void *data)
{
	for (unsigned i = 0; i < SIM_SUBSCRIBERS; i++) {
		const struct sim_subscriber *subscriber = &sim_state.subscribers[i];
		CUpti_CallbackFunc callback = subscriber->callback;

		if (callback && subscriber->is_active && sim_state.callbacks[domain][cbid] >> i & 1)
			callback(subscriber->user_data, (CUpti_CallbackDomain)domain, cbid, data);
	}
}

void sim_deliver(unsigned domain, unsigned cbid, const void *data)
{
	if (is_subscribed(domain, cbid))
		deliver(domain, cbid, data);
}

static void deliver_call(struct sim_call *call, CUpti_ApiCallbackSite site)
{
	CUpti_CallbackData data = {
		.callbackSite = site,
		.functionName = call->site->name,
		.functionParams = call->params,
		.functionReturnValue = site == CUPTI_API_EXIT ? &call->result : NULL,
		.symbolName = call->symbol,
		.context = call->context,
		.contextUid = call->context_id,
		.correlationData = &call->client_data,
		.correlationId = call->correlation,
	};

	deliver(call->site->domain, call->site->cbid, &data);
}

static bool records_calls(const struct sim_call *call)
{
	return sim_state.api_on[call->site->domain][call->site->cbid];
}

static void enter(struct sim_call *call)
{
	/* A driver call inside a runtime call is the same to CUPTI. */
	if (call->outer && call->outer->tools == call->tools)
		call->correlation = call->outer->correlation;
	else
		call->correlation = atomic_fetch_add(&sim_state.correlation, 1) + 1;
	call->session = sim_state.generation;
	if (!call->outer)
		sim_external_call(call->correlation);
	if (is_subscribed(call->site->domain, call->site->cbid))
		deliver_call(call, CUPTI_API_ENTER);
	if (records_calls(call))
		call->start_ns = sim_clock_now();
}

static void exit_(struct sim_call *call)
{
	if (call->session != sim_state.generation) /* it began before a cuptiFinalize */
		return;
	if (call->start_ns && records_calls(call))
		sim_record_call(call, sim_clock_now());
	if (!is_subscribed(call->site->domain, call->site->cbid))
		return;
	inside_exit++;
	deliver_call(call, CUPTI_API_EXIT);
	inside_exit--;
}

static void submit(const struct sim_call *call, struct sim_activity *activity)
{
	if (activity->kind == SIM_MANAGED ||
	    (activity->kind == SIM_MEMORY &&
	     activity->memory.memory_kind == CUPTI_ACTIVITY_MEMORY_KIND_MANAGED))
		sim_state.managed_used = true;
	activity->record_kind = sim_state.session ? sim_wanted_kind(activity) : 0;
	if (!activity->record_kind)
		return;
	activity->session = sim_state.session;
	activity->subscribers = sim_state.kinds[activity->record_kind];
	if (call && call->tools == &sim_tools)
		activity->correlation = call->correlation;
	else
		activity->correlation = atomic_fetch_add(&sim_state.correlation, 1) + 1;
}

static void done(const struct sim_activity *activity)
{
	if (activity->session && activity->session == sim_state.session)
		sim_buffer_queue(activity);
}

static void resource(const struct sim_call *call, const struct sim_resource *told)
{
	CUpti_ResourceData data = {.context = told->context,
				   .resourceHandle = {.stream = told->stream}};
	CUpti_GraphData graph = {0};
	CUpti_ModuleResourceData module = {0};

	if (told->cbid == CUPTI_CBID_RESOURCE_CONTEXT_CREATED &&
	    sim_state.kinds[CUPTI_ACTIVITY_KIND_CONTEXT]) {
		struct sim_context_facts facts = {sim_state.driver->context_id(told->context),
						  sim_state.driver->context_device(told->context),
						  0};

		facts.null_stream_id = sim_state.driver->stream_id(told->context, NULL, false);
		sim_record_context(&facts);
	}
	if (told->cbid == CUPTI_CBID_RESOURCE_STREAM_CREATED &&
	    sim_state.kinds[CUPTI_ACTIVITY_KIND_STREAM]) {
		struct sim_stream_facts facts = {
			sim_state.driver->stream_id(told->context, told->stream, false),
			sim_state.driver->context_id(told->context), 0, 1};

		sim_record_stream(&facts, call ? call->correlation : 0);
	}
	if (!is_subscribed(CUPTI_CB_DOMAIN_RESOURCE, told->cbid))
		return;
	if (told->module) {
		module.moduleId = (uint32_t)(uintptr_t)told->module;
		data.resourceDescriptor = &module;
	}
	if (told->graph || told->exec) {
		graph.graph = told->graph;
		graph.originalGraph = told->original_graph;
		graph.node = told->node;
		graph.dependency = told->dependency;
		graph.graphExec = told->exec;
		data.resourceDescriptor = &graph;
	}
	deliver(CUPTI_CB_DOMAIN_RESOURCE, told->cbid, &data);
}

static void synchronized(uint32_t cbid, CUcontext context, CUstream stream)
{
	CUpti_SynchronizeData data = {.context = context, .stream = stream};

	sim_deliver(CUPTI_CB_DOMAIN_SYNCHRONIZE, cbid, &data);
}

const struct sim_tools sim_tools = {enter, exit_, submit, done, resource, synchronized};

/* The number of a free place, SIM_SUBSCRIBERS: it is refused. */
static unsigned find_place(bool is_new)
{
	bool shares = sim_state.shared == SIM_SHARED_YES;

	/* The old one's is the first, and before 13.2 there is no other. */
	if (!is_new || sim_version()->code < 13020)
		return shares || sim_state.subscribers[0].is_active ? SIM_SUBSCRIBERS : 0;
	for (unsigned i = 0; i < SIM_SUBSCRIBERS; i++)
		if (sim_state.subscribers[i].is_active && !shares)
			return SIM_SUBSCRIBERS;
	for (unsigned i = 1; i < SIM_SUBSCRIBERS; i++)
		if (!sim_state.subscribers[i].is_active)
			return i;
	return SIM_SUBSCRIBERS;
}

static bool is_any_active(void)
{
	bool any = false;

	for (unsigned i = 0; i < SIM_SUBSCRIBERS; i++)
		any |= sim_state.subscribers[i].is_active;
	return any;
}

static void forget_subscriber(unsigned number)
{
	unsigned char others = (unsigned char)~(1u << number);

	for (unsigned domain = 0; domain < SIM_MAX_DOMAINS; domain++)
		for (unsigned cbid = 0; cbid < SIM_MAX_CBIDS; cbid++)
			sim_state.callbacks[domain][cbid] &= others;
}

static CUptiResult subscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
			     void *user_data, const char *name, bool is_new)
{
	struct sim_subscriber *place;
	CUptiResult result;
	unsigned number;

	sim_pause_ms(sim_cupti_knob("subscribe_ms", 0));
	if (!subscriber || !callback)
		return CUPTI_ERROR_INVALID_PARAMETER;
	number = find_place(is_new);
	if (sim_state.driver->knob_text("busy") || number == SIM_SUBSCRIBERS ||
	    (!is_new && is_any_active()))
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	result = sim_attach();
	if (result)
		return result;
	forget_subscriber(number);
	place = &sim_state.subscribers[number];
	place->user_data = user_data;
	place->callback = callback;
	snprintf(place->name, sizeof(place->name), "CUPTI for %s", name);
	place->is_active = true;
	sim_state.subscriber_died = false;
	*subscriber = (CUpti_SubscriberHandle)place;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
			   void *user_data)
{
	CUptiResult result = sim_gate(__func__);

	if (result)
		return result;
	/* 13.3: who does not share has come by the new function. */
	if (sim_version()->code >= 13030 && sim_state.shared == SIM_SHARED_NO &&
	    !sim_state.old_was_called)
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	result = subscribe(subscriber, callback, user_data, "<not provided>", false);
	sim_state.old_was_called |= !result;
	return result;
}

/* Whether it may be shared the first decides who says so at all; a driver before r610 (13.3) serves one. */
static CUptiResult decide_sharing(const struct subscriber_params *params)
{
	if (params->size <= PARAMS_13_0)
		return CUPTI_SUCCESS;
	if (params->allow_multiple && sim_cupti_knob("driver_version", 13000) < sim_version()->code)
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	if (sim_state.shared != SIM_SHARED_OPEN && sim_state.shared != params->allow_multiple)
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	if (params->allow_multiple && sim_state.subscribers[0].is_active)
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	sim_state.shared = params->allow_multiple;
	return CUPTI_SUCCESS;
}

static const char *holder(void)
{
	const char *tool = sim_state.driver->knob_text("busy");

	for (unsigned i = 0; i < SIM_SUBSCRIBERS && !tool; i++)
		if (sim_state.subscribers[i].is_active)
			tool = sim_state.subscribers[i].name;
	return tool ? tool : "";
}

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
			      void *user_data, CUpti_SubscriberParams *parameters)
{
	CUptiResult result = sim_gate(__func__);
	struct subscriber_params *params = (struct subscriber_params *)parameters;

	if (result)
		return result;
	if (params->size != PARAMS_13_0 &&
	    (params->size != PARAMS_13_2 || sim_version()->code < 13020))
		return CUPTI_ERROR_INVALID_PARAMETER;
	result = decide_sharing(params);
	if (!result)
		result = subscribe(subscriber, callback, user_data,
				   params->name ? params->name : "<not provided>", true);
	if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && params->old_name)
		snprintf(params->old_name, params->old_name_size, "%s", holder());
	return result;
}

/* SIM_SUBSCRIBERS: it is none. */
static unsigned number_of(CUpti_SubscriberHandle subscriber)
{
	struct sim_subscriber *place = (struct sim_subscriber *)subscriber;

	if (place < sim_state.subscribers || place >= sim_state.subscribers + SIM_SUBSCRIBERS)
		return SIM_SUBSCRIBERS;
	if (sim_state.subscriber_died) {
		fprintf(stderr, "simulated CUPTI: a subscriber that cuptiFinalize has freed: the "
				"real one may crash here\n");
		abort();
	}
	return place->is_active ? (unsigned)(place - sim_state.subscribers) : SIM_SUBSCRIBERS;
}

static bool is_handle(CUpti_SubscriberHandle subscriber)
{
	return number_of(subscriber) < SIM_SUBSCRIBERS;
}

static void set_callback(unsigned subscriber, unsigned domain, unsigned cbid, bool on)
{
	unsigned char bit = (unsigned char)(1u << subscriber);

	if (on)
		sim_state.callbacks[domain][cbid] |= bit;
	else
		sim_state.callbacks[domain][cbid] &= (unsigned char)~bit;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
	CUptiResult result = sim_gate(__func__);
	unsigned number;

	if (result)
		return result;
	number = number_of(subscriber);
	if (number == SIM_SUBSCRIBERS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	forget_subscriber(number);
	sim_state.subscribers[number].is_active = false;
	if (number)
		sim_activity_forget(number);
	/* The last one; who calls the old functions stays in the list, subscribed or not. */
	if (!is_any_active() && !sim_state.old_was_called) {
		sim_state.shared = SIM_SHARED_OPEN;
		sim_state.family = SIM_FAMILY_NONE;
	}
	return CUPTI_SUCCESS;
}

static unsigned domain_limit(CUpti_CallbackDomain domain)
{
	const struct sim_version *version = sim_version();

	switch (domain) {
	case CUPTI_CB_DOMAIN_DRIVER_API:
		return version->driver_cbids;
	case CUPTI_CB_DOMAIN_RUNTIME_API:
		return version->runtime_cbids;
	case CUPTI_CB_DOMAIN_RESOURCE:
	case CUPTI_CB_DOMAIN_SYNCHRONIZE:
	case CUPTI_CB_DOMAIN_NVTX:
		return 128;
	default:
		return 0;
	}
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
				CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	CUptiResult result = sim_gate(__func__);
	unsigned number;

	if (result)
		return result;
	number = number_of(subscriber);
	if (number == SIM_SUBSCRIBERS || cbid >= domain_limit(domain))
		return CUPTI_ERROR_INVALID_PARAMETER;
	set_callback(number, domain, cbid, enable);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
			      CUpti_CallbackDomain domain)
{
	CUptiResult result = sim_gate(__func__);
	unsigned number;

	if (result)
		return result;
	number = number_of(subscriber);
	if (number == SIM_SUBSCRIBERS || !domain_limit(domain))
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (unsigned cbid = 0; cbid < domain_limit(domain); cbid++)
		set_callback(number, domain, cbid, enable);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle subscriber)
{
	CUptiResult result = sim_gate(__func__);

	for (unsigned domain = CUPTI_CB_DOMAIN_DRIVER_API;
	     !result && domain <= CUPTI_CB_DOMAIN_NVTX; domain++)
		result = cuptiEnableDomain(enable, subscriber, (CUpti_CallbackDomain)domain);
	return result;
}

CUptiResult cuptiGetCallbackState(uint32_t *enable, CUpti_SubscriberHandle subscriber,
				  CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	CUptiResult result = sim_gate(__func__);

	if (result)
		return result;
	if (!is_handle(subscriber) || cbid >= domain_limit(domain))
		return CUPTI_ERROR_INVALID_PARAMETER;
	*enable = sim_state.callbacks[domain][cbid] >> number_of(subscriber) & 1;
	return CUPTI_SUCCESS;
}

/*
 * Safe from the exit of an API call. From elsewhere it is safe only where nothing runs: the real one may crash
 * otherwise, so this one does (knob finalize_unsafe=1: it does not).
 */
CUptiResult cuptiFinalize(void)
{
	unsigned code = sim_version()->code;
	CUptiResult result;

	if (!sim_state.driver && code >= 12020 && code < 13000)
		raise(SIGSEGV);
	result = sim_gate_free(__func__);
	if (result || !sim_state.driver)
		return result;
	sim_pause_ms(sim_cupti_knob("finalize_ms", 0));
	if (!inside_exit && !sim_cupti_knob("finalize_unsafe", 0) &&
	    (sim_state.driver->calls_active() || sim_state.driver->work_pending())) {
		fprintf(stderr, "simulated CUPTI: cuptiFinalize outside the exit of an API call, "
				"with work under way: "
				"the real one may crash here\n");
		abort();
	}
	if (sim_state.is_attached)
		sim_state.driver->detach(&sim_tools);
	sim_buffer_stop();
	sim_state.subscriber_died = is_any_active();
	sim_reset();
	return CUPTI_SUCCESS;
}
