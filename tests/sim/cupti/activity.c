/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kinds on and off, flushes, attributes, ids. */
#include <stdio.h>
#include <string.h>
#include "chosen.h"
#include "subscriber.h"
#include "names.h"

#define MAX_STREAMS	     1024
#define EXTERNAL_DEPTH	     64
#define EXTERNAL_KINDS	     16
#define COLLECTOR_TIMEOUT_MS 2002

struct external_stack {
	uint64_t ids[EXTERNAL_DEPTH];
	unsigned depth;
};

static __thread struct external_stack external[EXTERNAL_KINDS];

static CUptiResult check_kind(unsigned kind)
{
	if (kind >= SIM_MAX_KINDS || !sim_record_size(kind))
		return CUPTI_ERROR_INVALID_KIND;
	return CUPTI_SUCCESS;
}

static void dump_devices(void)
{
	struct sim_device_facts facts[SIM_MAX_DEVICES];
	size_t count = sim_state.driver->devices(facts, SIM_MAX_DEVICES);

	for (size_t i = 0; i < count && i < SIM_MAX_DEVICES; i++)
		sim_record_device(&facts[i], (uint32_t)i);
}

static void dump_contexts(void)
{
	struct sim_context_facts facts[SIM_MAX_DEVICES * 4];
	size_t count = sim_state.driver->contexts(facts, SIM_MAX_DEVICES * 4);

	for (size_t i = 0; i < count && i < SIM_MAX_DEVICES * 4; i++)
		sim_record_context(&facts[i]);
}

static void dump_streams(void)
{
	struct sim_stream_facts facts[MAX_STREAMS];
	size_t count = sim_state.driver->streams(facts, MAX_STREAMS);

	for (size_t i = 0; i < count && i < MAX_STREAMS; i++)
		sim_record_stream(&facts[i], 0);
}

static bool records_anything(void)
{
	bool anything = false;

	for (unsigned i = 0; i < SIM_MAX_KINDS; i++)
		anything |= sim_state.kinds[i];
	for (unsigned i = 0; i < sizeof(sim_state.api_on); i++)
		anything |= ((const atomic_uchar *)sim_state.api_on)[i] != 0;
	return anything;
}

/* Before the first of what is recorded is switched on. */
static CUptiResult begin(void)
{
	static atomic_uint last_session;
	CUptiResult result = sim_attach();

	if (result)
		return result;
	if (!records_anything()) {
		sim_buffer_start();
		sim_clock_session_begin();
	}
	if (!sim_state.session)
		sim_state.session = atomic_fetch_add(&last_session, 1) + 1;
	return CUPTI_SUCCESS;
}

static void set_bit(atomic_uchar *bits, unsigned subscriber, bool on)
{
	if (on)
		atomic_fetch_or(bits, (unsigned char)(1u << subscriber));
	else
		atomic_fetch_and(bits, (unsigned char)~(1u << subscriber));
}

/* A kind is all of its numbers: it overrides what was switched by number before, on and off [headers of 12.5]. */
static void switch_kind(unsigned subscriber, unsigned kind, bool on)
{
	unsigned domain =
		kind == CUPTI_ACTIVITY_KIND_DRIVER ? SIM_DOMAIN_DRIVER : SIM_DOMAIN_RUNTIME;

	set_bit(&sim_state.kinds[kind], subscriber, on);
	if (kind == CUPTI_ACTIVITY_KIND_DRIVER || kind == CUPTI_ACTIVITY_KIND_RUNTIME)
		for (unsigned cbid = 0; cbid < SIM_MAX_CBIDS; cbid++)
			set_bit(&sim_state.api_on[domain][cbid], subscriber, on);
}

void sim_activity_forget(unsigned subscriber)
{
	sim_chosen_forget(subscriber);
	for (unsigned kind = 0; kind < SIM_MAX_KINDS; kind++)
		set_bit(&sim_state.kinds[kind], subscriber, false);
	for (unsigned domain = 0; domain < 3; domain++)
		for (unsigned cbid = 0; cbid < SIM_MAX_CBIDS; cbid++)
			set_bit(&sim_state.api_on[domain][cbid], subscriber, false);
}

static CUptiResult enable(unsigned subscriber, unsigned kind)
{
	CUptiResult result = check_kind(kind);

	if (!result)
		result = begin();
	if (result)
		return result;
	switch_kind(subscriber, kind, true);
	if (kind == CUPTI_ACTIVITY_KIND_DEVICE)
		dump_devices();
	return CUPTI_SUCCESS;
}

static CUptiResult dump(unsigned kind)
{
	if (kind == CUPTI_ACTIVITY_KIND_CONTEXT)
		dump_contexts();
	if (kind == CUPTI_ACTIVITY_KIND_STREAM)
		dump_streams();
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	CUptiResult result = sim_gate_old(__func__);

	return result ? result : enable(0, kind);
}

CUptiResult cuptiActivityEnableAndDump(CUpti_ActivityKind kind)
{
	CUptiResult result = sim_gate_old(__func__);

	/* As the real one does, by its own function that everybody calls. */
	if (!result)
		result = cuptiActivityEnable(kind);
	return result ? result : dump(kind);
}

CUptiResult sim_ActivityEnable_v2(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind,
				  void *config)
{
	unsigned number;
	CUptiResult result = sim_gate_new("cuptiActivityEnable_v2", subscriber, &number);

	if (!result)
		result = sim_chosen_enable(number, kind, config);
	return result ? result : enable(number, kind);
}

CUptiResult sim_ActivityEnableAndDump_v2(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind,
					 void *config)
{
	unsigned number;
	CUptiResult result = sim_gate_new("cuptiActivityEnableAndDump_v2", subscriber, &number);

	if (!result)
		result = sim_chosen_enable(number, kind, config);
	if (!result)
		result = enable(number, kind);
	return result ? result : dump(kind);
}

/*
 * What collects unified memory counters sleeps until managed memory is used for the first time: the real library waits so
 * long for its answer (sem_timedwait in 12.6 to 13.1).
 */
static void stop_collector(void)
{
	if (!sim_state.managed_used)
		sim_pause_ms(sim_cupti_knob("collector_ms", COLLECTOR_TIMEOUT_MS));
}

static CUptiResult disable(unsigned subscriber, unsigned kind)
{
	CUptiResult result = check_kind(kind);

	if (result)
		return result;
	if (kind == CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER && sim_state.kinds[kind])
		stop_collector();
	/* What is done already is still recorded. */
	switch_kind(subscriber, kind, false);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
	CUptiResult result = sim_gate_old(__func__);

	return result ? result : disable(0, kind);
}

CUptiResult sim_ActivityDisable_v2(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind,
				   void *config)
{
	unsigned number;
	CUptiResult result = sim_gate_new("cuptiActivityDisable_v2", subscriber, &number);

	return result ? result : disable(number, kind);
}

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	CUptiResult result = sim_gate(__func__);

	/* As it does while a GPU hangs. */
	while (sim_cupti_knob("flush_hangs", 0))
		sim_pause_ms(10);
	if (!result)
		sim_buffer_flush(flag != 0);
	return result;
}

/* Without the kind too [read in the code of 13.0: a byte a number, and no look at the kind]. */
static CUptiResult switch_api(unsigned subscriber, unsigned domain, uint32_t limit, uint32_t cbid,
			      bool on)
{
	CUptiResult result = CUPTI_SUCCESS;

	if (!cbid || cbid >= limit)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (on)
		result = begin();
	if (!result)
		set_bit(&sim_state.api_on[domain][cbid], subscriber, on);
	return result;
}

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t on)
{
	CUptiResult result = sim_gate_old(__func__);

	return result ? result
		      : switch_api(0, SIM_DOMAIN_RUNTIME, sim_version()->runtime_cbids, cbid, on);
}

CUptiResult sim_ActivityEnableRuntimeApi_v2(CUpti_SubscriberHandle subscriber,
					    CUpti_CallbackId cbid, uint8_t on)
{
	unsigned number;
	CUptiResult result = sim_gate_new("cuptiActivityEnableRuntimeApi_v2", subscriber, &number);

	return result ? result
		      : switch_api(number, SIM_DOMAIN_RUNTIME, sim_version()->runtime_cbids, cbid,
				   on);
}

CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t on)
{
	CUptiResult result = sim_gate_old(__func__);

	return result ? result
		      : switch_api(0, SIM_DOMAIN_DRIVER, sim_version()->driver_cbids, cbid, on);
}

CUptiResult sim_ActivityEnableDriverApi_v2(CUpti_SubscriberHandle subscriber, CUpti_CallbackId cbid,
					   uint8_t on)
{
	unsigned number;
	CUptiResult result = sim_gate_new("cuptiActivityEnableDriverApi_v2", subscriber, &number);

	return result ? result
		      : switch_api(number, SIM_DOMAIN_DRIVER, sim_version()->driver_cbids, cbid,
				   on);
}

CUptiResult cuptiActivityEnableLatencyTimestamps(uint8_t on)
{
	CUptiResult result = sim_gate_old(__func__);

	if (!result)
		sim_state.latency_timestamps = on;
	return result;
}

CUptiResult cuptiActivityEnableLaunchAttributes(uint8_t on)
{
	return sim_gate(__func__);
}

CUptiResult
cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig *config,
					   uint32_t count)
{
	return sim_gate(__func__);
}

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
	CUptiResult result = sim_gate_old(__func__);

	if (result)
		return result;
	if (type > CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM)
		return CUPTI_ERROR_INVALID_PARAMETER;
	sim_state.thread_id_type = type;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType *type)
{
	CUptiResult result = sim_gate_old(__func__);

	if (!result)
		*type = sim_state.thread_id_type;
	return result;
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t *size, void *value)
{
	CUptiResult result = sim_gate_old(__func__);

	if (result)
		return result;
	if (!size || !value || !*size)
		return CUPTI_ERROR_INVALID_PARAMETER;
	sim_buffer_set_attribute(attribute, *(const uint8_t *)value);
	return CUPTI_SUCCESS;
}

/* Ids of what the driver has. */
CUptiResult cuptiGetContextId(CUcontext context, uint32_t *id)
{
	CUptiResult result = sim_gate(__func__);

	if (!result)
		*id = sim_state.driver->context_id(context);
	return result;
}

CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *id)
{
	CUptiResult result = sim_gate(__func__);

	if (!result)
		*id = sim_state.driver->context_device(context);
	return result;
}

CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread, uint32_t *id)
{
	CUptiResult result = sim_gate(__func__);

	if (!result)
		*id = sim_state.driver->stream_id(context, stream, per_thread);
	return result;
}

CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t *id)
{
	CUptiResult result = sim_gate(__func__);

	if (!result)
		*id = sim_state.driver->graph_id(graph);
	return result;
}

CUptiResult cuptiGetGraphExecId(CUgraphExec exec, uint32_t *id)
{
	CUptiResult result = sim_gate(__func__);

	if (!result)
		*id = sim_state.driver->graph_exec_id(exec);
	return result;
}

CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id)
{
	CUptiResult result = sim_gate(__func__);

	if (!result)
		*id = sim_state.driver->graph_node_id(node);
	return result;
}

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
	CUptiResult result = sim_gate_old(__func__);

	if (result)
		return result;
	if (kind >= EXTERNAL_KINDS || external[kind].depth == EXTERNAL_DEPTH)
		return CUPTI_ERROR_INVALID_PARAMETER;
	external[kind].ids[external[kind].depth++] = id;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
						  uint64_t *last)
{
	CUptiResult result = sim_gate_old(__func__);

	if (result)
		return result;
	if (kind >= EXTERNAL_KINDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!external[kind].depth)
		return CUPTI_ERROR_QUEUE_EMPTY;
	external[kind].depth--;
	if (last)
		*last = external[kind].ids[external[kind].depth];
	return CUPTI_SUCCESS;
}

void sim_external_call(uint32_t correlation)
{
	if (!sim_state.kinds[CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION])
		return;
	for (unsigned kind = 0; kind < EXTERNAL_KINDS; kind++)
		if (external[kind].depth)
			sim_record_external(kind, external[kind].ids[external[kind].depth - 1],
					    correlation);
}

static const struct {
	CUptiResult code;
	const char *name;
} results[] = {
	{CUPTI_SUCCESS, "CUPTI_SUCCESS"},
	{CUPTI_ERROR_INVALID_PARAMETER, "CUPTI_ERROR_INVALID_PARAMETER"},
	{CUPTI_ERROR_INVALID_OPERATION, "CUPTI_ERROR_INVALID_OPERATION"},
	{CUPTI_ERROR_MAX_LIMIT_REACHED, "CUPTI_ERROR_MAX_LIMIT_REACHED"},
	{CUPTI_ERROR_NOT_COMPATIBLE, "CUPTI_ERROR_NOT_COMPATIBLE"},
	{CUPTI_ERROR_NOT_INITIALIZED, "CUPTI_ERROR_NOT_INITIALIZED"},
	{CUPTI_ERROR_QUEUE_EMPTY, "CUPTI_ERROR_QUEUE_EMPTY"},
	{CUPTI_ERROR_INVALID_KIND, "CUPTI_ERROR_INVALID_KIND"},
	{CUPTI_ERROR_NOT_SUPPORTED, "CUPTI_ERROR_NOT_SUPPORTED"},
	{CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"},
	{CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
	 "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"},
	{CUPTI_ERROR_UNKNOWN, "CUPTI_ERROR_UNKNOWN"},
};

CUptiResult cuptiGetResultString(CUptiResult code, const char **text)
{
	CUptiResult result = sim_gate_free(__func__);

	if (result)
		return result;
	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
		if (results[i].code == code) {
			*text = results[i].name;
			return CUPTI_SUCCESS;
		}
	}
	return CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attribute, size_t *size, void *value)
{
	CUptiResult result = sim_gate_old(__func__);

	if (result)
		return result;
	if (!size || !value || !*size)
		return CUPTI_ERROR_INVALID_PARAMETER;
	memset(value, 0, *size);
	sim_buffer_get_attribute(attribute, value);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t on)
{
	CUptiResult result = sim_gate_old(__func__);

	if (!result)
		sim_state.event_timestamps = on;
	return result;
}
