/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every API call passes through sim_call: it is where tools see calls begin and end. */
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>
#include "driver.h"

#define DETACH_TIMEOUT_US 5000000
#define DETACH_PAUSE_US	  50

static _Atomic(const struct sim_tools *) attached;
/* Threads that are inside functions of the tool, and how often this one is. */
static atomic_uint inside;
static __thread unsigned inside_here;
static atomic_uint active_calls;
static __thread struct sim_call *current;
static const char *(*runtime_name_of)(const void *host_function);

struct sim_call *sim_current_call(void)
{
	return current;
}

/* The tool, kept from going away until leave_tool. NULL: none. */
static const struct sim_tools *enter_tool(void)
{
	const struct sim_tools *tools;

	if (!atomic_load_explicit(&attached, memory_order_relaxed))
		return NULL;
	atomic_fetch_add(&inside, 1);
	inside_here++;
	tools = atomic_load(&attached);
	if (!tools) {
		inside_here--;
		atomic_fetch_sub(&inside, 1);
	}
	return tools;
}

static void leave_tool(void)
{
	inside_here--;
	atomic_fetch_sub(&inside, 1);
}

static const char *symbol_of(const struct sim_site *site, const void *params)
{
	void *function;

	if (!site->launches_kernel)
		return NULL;
	memcpy(&function, params, sizeof(function));
	if (site->domain == SIM_DOMAIN_DRIVER)
		return sim_function_name(function);
	return runtime_name_of ? runtime_name_of(function) : NULL;
}

static void call_enter(struct sim_call *call)
{
	const struct sim_tools *tools = enter_tool();

	if (!tools)
		return;
	call->symbol = symbol_of(call->site, call->params);
	call->context = sim_current_context();
	call->context_id = call->context ? call->context->id : 0;
	call->tools = tools;
	tools->enter(call);
	leave_tool();
}

static void call_exit(struct sim_call *call)
{
	const struct sim_tools *tools;

	if (!call->tools)
		return;
	tools = enter_tool();
	if (!tools)
		return;
	if (tools == call->tools) {
		if (!call->context) {
			call->context = sim_current_context();
			call->context_id = call->context ? call->context->id : 0;
		}
		tools->exit(call);
	}
	leave_tool();
}

int sim_call(const struct sim_site *site, int (*run)(const void *params), const void *params,
	     int unsupported)
{
	struct sim_call call = {.site = site, .outer = current, .params = params};

	/* Locks may be held for ever in a child, and its device threads are gone. */
	if (sim_is_forked())
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!call.outer)
		atomic_fetch_add(&active_calls, 1);
	sim_truth_call(site, !call.outer);
	current = &call;
	call_enter(&call);
	call.result = run ? run(params) : unsupported;
	call_exit(&call);
	current = call.outer;
	if (!call.outer)
		atomic_fetch_sub(&active_calls, 1);
	return call.result;
}

void sim_tools_submit(struct sim_activity *activity)
{
	const struct sim_tools *tools = enter_tool();

	if (!tools)
		return;
	tools->submit(current, activity);
	leave_tool();
}

void sim_tools_done(const struct sim_activity *activity)
{
	const struct sim_tools *tools = enter_tool();

	sim_truth_done(activity);
	if (!tools)
		return;
	tools->done(activity);
	leave_tool();
}

void sim_tools_resource(const struct sim_resource *resource)
{
	const struct sim_tools *tools = enter_tool();

	if (!tools)
		return;
	tools->resource(current, resource);
	leave_tool();
}

void sim_tools_synchronized(uint32_t cbid, CUcontext context, CUstream stream)
{
	const struct sim_tools *tools = enter_tool();

	if (!tools)
		return;
	tools->synchronized(cbid, context, stream);
	leave_tool();
}

static int attach(const struct sim_tools *tools)
{
	const struct sim_tools *none = NULL;

	return atomic_compare_exchange_strong(&attached, &none, tools) ? 0 : -EBUSY;
}

static void detach(const struct sim_tools *tools)
{
	const struct sim_tools *ours = tools;
	unsigned waited_us = 0;

	atomic_compare_exchange_strong(&attached, &ours, NULL);
	while (atomic_load(&inside) > inside_here && waited_us < DETACH_TIMEOUT_US) {
		usleep(DETACH_PAUSE_US);
		waited_us += DETACH_PAUSE_US;
	}
}

static unsigned calls_active(void)
{
	return atomic_load(&active_calls) - (current != NULL);
}

static unsigned work_pending(void)
{
	unsigned pending = 0;

	pthread_mutex_lock(&sim_lock);
	for (int i = 0; i < sim_device_count; i++)
		pending += sim_devices[i].pending;
	pthread_mutex_unlock(&sim_lock);
	return pending;
}

static void set_runtime_symbols(const char *(*name_of)(const void *host_function))
{
	runtime_name_of = name_of;
}

static size_t list_devices(struct sim_device_facts *facts, size_t capacity)
{
	for (int i = 0; i < sim_device_count && (size_t)i < capacity; i++)
		facts[i] = sim_devices[i].facts;
	return (size_t)sim_device_count;
}

static size_t list_contexts(struct sim_context_facts *facts, size_t capacity)
{
	size_t count = 0;

	pthread_mutex_lock(&sim_lock);
	for (CUcontext context = sim_contexts; context; context = context->next, count++)
		if (count < capacity)
			facts[count] = (struct sim_context_facts){
				context->id, (uint32_t)context->device->ordinal,
				context->null_stream->id};
	pthread_mutex_unlock(&sim_lock);
	return count;
}

static size_t list_streams(struct sim_stream_facts *facts, size_t capacity)
{
	size_t count = 0;

	pthread_mutex_lock(&sim_lock);
	for (CUcontext context = sim_contexts; context; context = context->next)
		for (CUstream stream = context->streams; stream; stream = stream->next, count++)
			if (count < capacity)
				facts[count] = (struct sim_stream_facts){
					stream->id, context->id, stream->priority,
					stream->is_null				 ? 3u
					: stream->flags & CU_STREAM_NON_BLOCKING ? 2u
										 : 1u};
	pthread_mutex_unlock(&sim_lock);
	return count;
}

static uint32_t context_id(CUcontext context)
{
	return context ? context->id : 0;
}

static uint32_t context_device(CUcontext context)
{
	return context ? (uint32_t)context->device->ordinal : 0;
}

static uint32_t stream_id(CUcontext context, CUstream handle, bool per_thread)
{
	CUstream stream;

	pthread_mutex_lock(&sim_lock);
	if (!handle && !per_thread && context)
		stream = context->null_stream;
	else
		stream = sim_resolve_stream(!handle && per_thread ? CU_STREAM_PER_THREAD : handle);
	pthread_mutex_unlock(&sim_lock);
	return stream ? stream->id : UINT32_MAX;
}

const struct sim_interface sim_interface = {
	.version = SIM_INTERFACE_VERSION,
	.call = sim_call,
	.set_runtime_symbols = set_runtime_symbols,
	.attach = attach,
	.detach = detach,
	.current_call = sim_current_call,
	.calls_active = calls_active,
	.work_pending = work_pending,
	.knob = sim_knob,
	.knob_text = sim_knob_text,
	.devices = list_devices,
	.contexts = list_contexts,
	.streams = list_streams,
	.context_id = context_id,
	.context_device = context_device,
	.stream_id = stream_id,
	.graph_id = sim_graph_id,
	.graph_exec_id = sim_graph_exec_id,
	.graph_node_id = sim_graph_node_id,
};
