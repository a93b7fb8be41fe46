/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Graphs, by nodes or by capture. A launch is one piece of work on its stream; its nodes run as soon as those that
 * they depend on have ended, so branches overlap.
 */
#include <stdlib.h>
#include <string.h>
#include "driver.h"
#include <cupti_callbacks.h>

#define NODE_GAP_NS 900
#define SET_RATE    2500000
#define DEVICE_RATE 1500000
#define HOST_RATE   25000
#define SETUP_NS    1500

enum node_kind {
	NODE_EMPTY,
	NODE_DEVICE, /* kernel, copy or set: an activity */
};

struct CUgraphNode_st {
	CUgraph graph;
	enum node_kind kind;
	struct sim_activity activity;
	uint64_t duration_ns;
	uint32_t *after; /* indices of nodes before this one */
	size_t after_count;
	uint32_t index;
};

struct CUgraph_st {
	uint32_t id;
	CUgraphNode *nodes;
	size_t count;
};

struct CUgraphExec_st {
	uint32_t id;
	struct CUgraphNode_st *nodes;
	size_t count;
	unsigned references; /* launches that are not done, and the application's */
};

struct sim_graph_run {
	CUgraphExec exec;
	struct sim_activity *activities;
};

static uint32_t last_graph_id;

uint32_t sim_graph_id(CUgraph graph)
{
	return graph ? graph->id : 0;
}

uint32_t sim_graph_exec_id(CUgraphExec exec)
{
	return exec ? exec->id : 0;
}

uint64_t sim_graph_node_id(CUgraphNode node)
{
	return node ? (uint64_t)node->graph->id << 32 | (node->index + 1) : 0;
}

static void tell(const struct sim_resource *resource)
{
	sim_tools_resource(resource);
}

static CUgraph new_graph(void)
{
	CUgraph graph = calloc(1, sizeof(*graph));

	graph->id = __atomic_add_fetch(&last_graph_id, 1, __ATOMIC_RELAXED);
	return graph;
}

static CUgraphNode add_node(CUgraph graph, enum node_kind kind, const CUgraphNode *after,
			    size_t after_count)
{
	CUgraphNode node = calloc(1, sizeof(*node));

	node->graph = graph;
	node->kind = kind;
	node->index = (uint32_t)graph->count;
	node->after = calloc(after_count + 1, sizeof(node->after[0]));
	for (size_t i = 0; i < after_count; i++)
		node->after[node->after_count++] = after[i]->index;
	graph->nodes = realloc(graph->nodes, (graph->count + 1) * sizeof(graph->nodes[0]));
	graph->nodes[graph->count++] = node;
	return node;
}

static void free_graph(CUgraph graph)
{
	for (size_t i = 0; i < graph->count; i++) {
		free(graph->nodes[i]->after);
		free(graph->nodes[i]);
	}
	free(graph->nodes);
	free(graph);
}

CUresult run_cuGraphCreate(const cuGraphCreate_params *params)
{
	struct sim_resource resource = {.cbid = CUPTI_CBID_RESOURCE_GRAPH_CREATED};

	*params->phGraph = new_graph();
	resource.graph = *params->phGraph;
	tell(&resource);
	return CUDA_SUCCESS;
}

CUresult run_cuGraphDestroy(const cuGraphDestroy_params *params)
{
	struct sim_resource resource = {.cbid = CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING,
					.graph = params->hGraph};

	if (!params->hGraph)
		return CUDA_ERROR_INVALID_HANDLE;
	tell(&resource);
	free_graph(params->hGraph);
	return CUDA_SUCCESS;
}

static void tell_node(CUgraphNode node)
{
	struct sim_resource resource = {
		.cbid = CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, .graph = node->graph, .node = node};

	tell(&resource);
}

CUresult run_cuGraphAddKernelNode_v2(const cuGraphAddKernelNode_v2_params *params)
{
	const CUDA_KERNEL_NODE_PARAMS *kernel = params->nodeParams;
	const uint32_t grid[3] = {kernel->gridDimX, kernel->gridDimY, kernel->gridDimZ};
	const uint32_t block[3] = {kernel->blockDimX, kernel->blockDimY, kernel->blockDimZ};
	CUgraphNode node;

	if (!params->hGraph || !kernel->func)
		return CUDA_ERROR_INVALID_HANDLE;
	node = add_node(params->hGraph, NODE_DEVICE, params->dependencies, params->numDependencies);
	node->activity.kind = SIM_KERNEL;
	sim_kernel_describe(&node->activity, kernel->func, grid, block, kernel->sharedMemBytes);
	node->duration_ns = sim_kernel_duration_ns(sim_function_name(kernel->func), grid, block,
						   kernel->kernelParams);
	*params->phGraphNode = node;
	tell_node(node);
	return CUDA_SUCCESS;
}

static uint8_t memory_kind(CUmemorytype type)
{
	return type == CU_MEMORYTYPE_HOST ? 1 : 3;
}

CUresult run_cuGraphAddMemcpyNode(const cuGraphAddMemcpyNode_params *params)
{
	const CUDA_MEMCPY3D *copy = params->copyParams;
	CUgraphNode node;

	if (!params->hGraph)
		return CUDA_ERROR_INVALID_HANDLE;
	node = add_node(params->hGraph, NODE_DEVICE, params->dependencies, params->numDependencies);
	node->activity.kind = SIM_MEMCPY;
	node->activity.memcpy.source_kind = memory_kind(copy->srcMemoryType);
	node->activity.memcpy.destination_kind = memory_kind(copy->dstMemoryType);
	node->activity.memcpy.copy_kind = copy->srcMemoryType == CU_MEMORYTYPE_HOST   ? 1
					  : copy->dstMemoryType == CU_MEMORYTYPE_HOST ? 2
										      : 8;
	node->activity.memcpy.async = true;
	node->activity.memcpy.bytes = copy->WidthInBytes * copy->Height * copy->Depth;
	node->duration_ns =
		SETUP_NS + node->activity.memcpy.bytes * 1000 /
				   (node->activity.memcpy.copy_kind == 8 ? DEVICE_RATE : HOST_RATE);
	*params->phGraphNode = node;
	tell_node(node);
	return CUDA_SUCCESS;
}

CUresult run_cuGraphAddMemsetNode(const cuGraphAddMemsetNode_params *params)
{
	const CUDA_MEMSET_NODE_PARAMS *set = params->memsetParams;
	CUgraphNode node;

	if (!params->hGraph)
		return CUDA_ERROR_INVALID_HANDLE;
	node = add_node(params->hGraph, NODE_DEVICE, params->dependencies, params->numDependencies);
	node->activity.kind = SIM_MEMSET;
	node->activity.memset.value = set->value;
	node->activity.memset.bytes = set->elementSize * set->width * set->height;
	node->activity.memset.memory_kind = 3;
	node->activity.memset.async = true;
	node->duration_ns = SETUP_NS + node->activity.memset.bytes * 1000 / SET_RATE;
	*params->phGraphNode = node;
	tell_node(node);
	return CUDA_SUCCESS;
}

CUresult run_cuGraphAddEmptyNode(const cuGraphAddEmptyNode_params *params)
{
	if (!params->hGraph)
		return CUDA_ERROR_INVALID_HANDLE;
	*params->phGraphNode =
		add_node(params->hGraph, NODE_EMPTY, params->dependencies, params->numDependencies);
	tell_node(*params->phGraphNode);
	return CUDA_SUCCESS;
}

CUresult run_cuGraphGetNodes(const cuGraphGetNodes_params *params)
{
	if (!params->hGraph)
		return CUDA_ERROR_INVALID_HANDLE;
	for (size_t i = 0; params->nodes && i < *params->numNodes && i < params->hGraph->count; i++)
		params->nodes[i] = params->hGraph->nodes[i];
	*params->numNodes = params->hGraph->count;
	return CUDA_SUCCESS;
}

static CUresult instantiate(CUgraphExec *exec, CUgraph graph)
{
	struct sim_resource resource = {.cbid = CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED,
					.graph = graph};

	if (!graph)
		return CUDA_ERROR_INVALID_HANDLE;
	*exec = calloc(1, sizeof(**exec));
	(*exec)->id = __atomic_add_fetch(&last_graph_id, 1, __ATOMIC_RELAXED);
	(*exec)->references = 1;
	(*exec)->count = graph->count;
	(*exec)->nodes = calloc(graph->count + 1, sizeof((*exec)->nodes[0]));
	for (size_t i = 0; i < graph->count; i++) {
		struct CUgraphNode_st *node = &(*exec)->nodes[i];

		*node = *graph->nodes[i];
		node->after = calloc(node->after_count + 1, sizeof(node->after[0]));
		memcpy(node->after, graph->nodes[i]->after,
		       node->after_count * sizeof(node->after[0]));
		node->activity.graph_id = (*exec)->id;
		node->activity.graph_node_id = (uint64_t)(*exec)->id << 32 | (i + 1);
	}
	resource.exec = *exec;
	tell(&resource);
	return CUDA_SUCCESS;
}

CUresult run_cuGraphInstantiateWithFlags(const cuGraphInstantiateWithFlags_params *params)
{
	return instantiate(params->phGraphExec, params->hGraph);
}

CUresult run_cuGraphInstantiateWithParams(const cuGraphInstantiateWithParams_params *params)
{
	return instantiate(params->phGraphExec, params->hGraph);
}

CUresult run_cuGraphUpload(const cuGraphUpload_params *params)
{
	return params->hGraph ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static void put_exec(CUgraphExec exec)
{
	if (--exec->references)
		return;
	for (size_t i = 0; i < exec->count; i++)
		free(exec->nodes[i].after);
	free(exec->nodes);
	free(exec);
}

CUresult run_cuGraphExecDestroy(const cuGraphExecDestroy_params *params)
{
	struct sim_resource resource = {.cbid = CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING,
					.exec = params->hGraphExec};

	if (!params->hGraphExec)
		return CUDA_ERROR_INVALID_HANDLE;
	tell(&resource);
	pthread_mutex_lock(&sim_lock);
	put_exec(params->hGraphExec);
	pthread_mutex_unlock(&sim_lock);
	return CUDA_SUCCESS;
}

/* What the launch makes of the node: on its stream, with the launch's correlation. */
static void prepare_node(struct sim_activity *activity, const struct CUgraphNode_st *node,
			 CUstream stream)
{
	*activity = node->activity;
	activity->device = (uint32_t)stream->context->device->ordinal;
	activity->context_id = stream->context->id;
	activity->stream_id = stream->id;
	activity->priority = stream->priority;
	activity->channel_id = 8 + stream->id % 8;
	activity->channel_type =
		activity->kind == SIM_MEMCPY ? SIM_CHANNEL_COPY : SIM_CHANNEL_COMPUTE;
	if (node->kind != NODE_DEVICE)
		return;
	activity->start_ns = 0;
	activity->end_ns = node->duration_ns;
	sim_truth_activity(activity);
	sim_tools_submit(activity);
}

CUresult run_cuGraphLaunch(const cuGraphLaunch_params *params)
{
	CUgraphExec exec = params->hGraph;
	struct sim_graph_run *run;
	struct sim_work *work;
	CUstream stream;

	if (!exec)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&sim_lock);
	stream = sim_resolve_stream(params->hStream);
	if (!stream) {
		pthread_mutex_unlock(&sim_lock);
		return CUDA_ERROR_INVALID_CONTEXT;
	}
	work = sim_work_new(stream, SIM_GRAPH);
	work->is_recorded = true;
	work->activity.graph_id = exec->id;
	run = calloc(1, sizeof(*run));
	run->exec = exec;
	run->activities = calloc(exec->count + 1, sizeof(run->activities[0]));
	exec->references++;
	for (size_t i = 0; i < exec->count; i++)
		prepare_node(&run->activities[i], &exec->nodes[i], stream);
	work->graph = run;
	sim_truth_activity(&work->activity);
	sim_tools_submit(&work->activity);
	sim_work_submit(work);
	pthread_mutex_unlock(&sim_lock);
	return CUDA_SUCCESS;
}

uint64_t sim_graph_schedule(struct sim_graph_run *run, uint64_t start_ns)
{
	uint64_t end_ns = start_ns;

	/* Nodes depend on nodes before them only. */
	for (size_t i = 0; i < run->exec->count; i++) {
		const struct CUgraphNode_st *node = &run->exec->nodes[i];
		struct sim_activity *activity = &run->activities[i];

		activity->start_ns = start_ns;
		for (size_t j = 0; j < node->after_count; j++) {
			uint64_t after_ns = run->activities[node->after[j]].end_ns + NODE_GAP_NS;

			if (after_ns > activity->start_ns)
				activity->start_ns = after_ns;
		}
		activity->end_ns = activity->start_ns + node->duration_ns;
		if (activity->end_ns > end_ns)
			end_ns = activity->end_ns;
	}
	return end_ns;
}

void sim_graph_done(struct sim_graph_run *run)
{
	for (size_t i = 0; i < run->exec->count; i++)
		if (run->exec->nodes[i].kind == NODE_DEVICE)
			sim_tools_done(&run->activities[i]);
	put_exec(run->exec);
	free(run->activities);
	free(run);
}

static void set_tail(CUstream stream, CUgraphNode node)
{
	free(stream->capture_tail);
	stream->capture_tail = calloc(1, sizeof(node));
	stream->capture_tail[0] = node;
	stream->capture_tail_count = 1;
}

bool sim_capture_work(struct sim_work *work)
{
	CUstream stream = work->stream;
	CUgraphNode node;

	if (!stream->capture)
		return false;
	node = add_node(stream->capture, work->is_recorded ? NODE_DEVICE : NODE_EMPTY,
			stream->capture_tail, stream->capture_tail_count);
	node->activity = work->activity;
	node->duration_ns = work->duration_ns;
	set_tail(stream, node);
	sim_point_put(work->point);
	free(work);
	return true;
}

bool sim_capture_event_record(CUstream stream, CUevent event)
{
	if (!stream->capture)
		return false;
	event->capture = stream->capture;
	event->capture_node = stream->capture_tail_count ? stream->capture_tail[0] : NULL;
	return true;
}

/* The stream joins the capture that the event comes from. */
bool sim_capture_event_wait(CUstream stream, CUevent event)
{
	if (!event->capture)
		return false;
	stream->capture = event->capture;
	if (event->capture_node) {
		stream->capture_tail =
			realloc(stream->capture_tail,
				(stream->capture_tail_count + 1) * sizeof(stream->capture_tail[0]));
		stream->capture_tail[stream->capture_tail_count++] = event->capture_node;
	}
	return true;
}

static CUresult begin(CUstream stream, CUgraph graph)
{
	pthread_mutex_lock(&sim_lock);
	stream->capture = graph;
	stream->capture_tail_count = 0;
	pthread_mutex_unlock(&sim_lock);
	return CUDA_SUCCESS;
}

CUresult run_cuStreamBeginCapture_v2(const cuStreamBeginCapture_v2_params *params)
{
	if (!params->hStream || params->hStream->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	return begin(params->hStream, new_graph());
}

CUresult run_cuStreamEndCapture(const cuStreamEndCapture_params *params)
{
	CUgraph graph = params->hStream ? params->hStream->capture : NULL;
	struct sim_resource resource = {.cbid = CUPTI_CBID_RESOURCE_GRAPH_CREATED, .graph = graph};

	if (!graph)
		return CUDA_ERROR_ILLEGAL_STATE;
	pthread_mutex_lock(&sim_lock);
	for (CUcontext context = sim_contexts; context; context = context->next) {
		for (CUstream stream = context->streams; stream; stream = stream->next) {
			if (stream->capture != graph)
				continue;
			free(stream->capture_tail);
			stream->capture_tail = NULL;
			stream->capture_tail_count = 0;
			stream->capture = NULL;
		}
	}
	pthread_mutex_unlock(&sim_lock);
	*params->phGraph = graph;
	tell(&resource);
	return CUDA_SUCCESS;
}

CUresult run_cuStreamIsCapturing(const cuStreamIsCapturing_params *params)
{
	CUstream stream;

	pthread_mutex_lock(&sim_lock);
	stream = sim_resolve_stream(params->hStream);
	*params->captureStatus = stream && stream->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE
							   : CU_STREAM_CAPTURE_STATUS_NONE;
	pthread_mutex_unlock(&sim_lock);
	return CUDA_SUCCESS;
}
