/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The simulated driver's own structures. One lock (sim_lock) guards all of them; device threads hold it but while
 * they run an application's host function.
 */
#ifndef SIM_DRIVER_H
#define SIM_DRIVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cuda.h>
#include "../interface.h"
#include "generated.h"

#define SIM_MAX_QUEUED	1024 /* work of a stream before a launch blocks, as on real devices */
#define SIM_NO_EVENT	UINT32_MAX
#define SIM_CHANNEL_COMPUTE 1
#define SIM_CHANNEL_COPY    2

/* A moment that work reaches; others wait for it. Counted references, under sim_lock. */
struct sim_point {
	unsigned references;
	bool is_done;
	uint64_t time_ns;
};

/* What serializes: copies of one direction share an engine, kernels do not exclude each other. */
enum sim_engine {
	SIM_ENGINE_NONE,
	SIM_ENGINE_HTOD,
	SIM_ENGINE_DTOH,
	SIM_ENGINE_COUNT,
};

struct sim_graph_run;

struct sim_work {
	struct sim_work *next;
	struct CUstream_st *stream;
	struct sim_activity activity;
	bool is_recorded; /* activity is something that tools and truth know */
	uint64_t ready_ns; /* not before */
	uint64_t duration_ns;
	enum sim_engine engine;
	struct sim_point *point;
	struct sim_point **after;
	size_t after_count;
	bool is_scheduled;
	CUhostFn host_function;
	void *host_data;
	struct sim_graph_run *graph;
};

struct CUstream_st {
	struct CUstream_st *next;
	CUcontext context;
	uint32_t id;
	int priority;
	unsigned flags;
	bool is_null;
	bool is_per_thread;
	bool is_destroyed;
	struct sim_work *head, **tail;
	unsigned queued;
	struct sim_point *last;
	uint64_t last_end_ns;
	/* While it captures. */
	CUgraph capture;
	CUgraphNode *capture_tail;
	size_t capture_tail_count;
};

struct CUevent_st {
	uint32_t id;
	unsigned flags;
	CUcontext context;
	uint64_t sync_id;
	struct sim_point *point;
	CUgraph capture;
	CUgraphNode capture_node;
};

struct CUctx_st {
	struct CUctx_st *next;
	uint32_t id;
	struct sim_device *device;
	bool is_primary;
	unsigned references;
	struct CUstream_st *streams;
	struct CUstream_st *null_stream;
};

struct CUmemPoolHandle_st {
	struct sim_device *device;
	uint64_t address;
	uint64_t reserved_bytes;
	uint64_t used_bytes;
	uint64_t release_threshold;
};

struct sim_allocation;

struct sim_device {
	struct sim_device_facts facts;
	int ordinal;
	uint64_t live_bytes;
	uint64_t peak_bytes;
	uint64_t engine_free_ns[SIM_ENGINE_COUNT];
	CUcontext primary;
	struct CUmemPoolHandle_st pool;
	pthread_t thread;
	bool is_running;
	unsigned pending;
};

extern pthread_mutex_t sim_lock;
extern pthread_cond_t sim_submitted; /* work came in */
extern pthread_cond_t sim_completed; /* work is done */
extern struct sim_device sim_devices[SIM_MAX_DEVICES];
extern int sim_device_count;

uint64_t sim_now_ns(void);
uint32_t sim_next_id(void);

/* call.c: what tools are told of; nothing happens where there is no tool */
struct sim_call *sim_current_call(void);
void sim_tools_submit(struct sim_activity *activity);
void sim_tools_done(const struct sim_activity *activity);
void sim_tools_resource(const struct sim_resource *resource);
void sim_tools_synchronized(uint32_t cbid, CUcontext context, CUstream stream);
extern const struct sim_interface sim_interface;

/* knobs.c */
uint64_t sim_knob(const char *name, uint64_t otherwise);
const char *sim_knob_text(const char *name);
/* The thread takes as many us of CPU time as the knob says. */
void sim_spend(const char *name);

/* context.c */
bool sim_is_forked(void);
bool sim_is_ready(void); /* cuInit was called, and not in a parent of this process */
CUcontext sim_current_context(void);
/* The context's stream for a handle of the API: NULL and the special handles are resolved. NULL: no context. */
CUstream sim_resolve_stream(CUstream handle);
CUstream sim_stream_new(CUcontext context, unsigned flags, int priority);
extern struct CUctx_st *sim_contexts;

/* schedule.c. All with sim_lock held. */
struct sim_point *sim_point_get(struct sim_point *point);
void sim_point_put(struct sim_point *point);
/* Work for a stream; its activity has the stream's ids. */
struct sim_work *sim_work_new(CUstream stream, enum sim_kind kind);
void sim_work_add_dependency(struct sim_work *work, struct sim_point *point);
/* Takes the work; drops and takes sim_lock while the stream is full. Tools have been told of it. */
void sim_work_submit(struct sim_work *work);
void sim_point_wait(struct sim_point *point);
/* Until all of the stream, or of the context where stream is NULL, is done. */
void sim_stream_wait(CUstream stream);
void sim_context_wait(CUcontext context);
void sim_device_start(struct sim_device *device);
void sim_schedule_forget_threads(void);

/* memory.c. Lock held. */
struct sim_range {
	uint64_t address;
	uint64_t bytes;
	uint8_t kind; /* CUpti_ActivityMemoryKind */
	struct sim_device *device;
};
/* What an address belongs to; pageable host memory where nobody knows it. */
struct sim_range sim_memory_find(uint64_t address);

/* Managed memory becomes where it is accessed: whether it was not there. */
bool sim_memory_move(uint64_t address, bool to_device, struct sim_range *ret_range);

/* managed.c. Lock held. Tells what comes of it when a GPU accesses an address of managed memory; of others nothing. */
void sim_managed_access(uint64_t address, uint32_t device);

/* launch.c */
const char *sim_function_name(CUfunction function);
uint64_t sim_kernel_duration_ns(const char *name, const uint32_t grid[3], const uint32_t block[3], void **arguments);
void sim_kernel_describe(struct sim_activity *activity, CUfunction function, const uint32_t grid[3],
			 const uint32_t block[3], unsigned shared_bytes);

/* graph.c */
struct sim_graph_node_spec;
/* Where the stream captures, the work becomes a node and is gone: true. */
bool sim_capture_work(struct sim_work *work);
bool sim_capture_event_record(CUstream stream, CUevent event);
bool sim_capture_event_wait(CUstream stream, CUevent event);
/* Computes start and end of all nodes from start_ns; returns the end. */
uint64_t sim_graph_schedule(struct sim_graph_run *run, uint64_t start_ns);
void sim_graph_done(struct sim_graph_run *run);
uint32_t sim_graph_id(CUgraph graph);
uint32_t sim_graph_exec_id(CUgraphExec exec);
uint64_t sim_graph_node_id(CUgraphNode node);

/* truth.c: counted where the application asks, without any tool. */
void sim_truth_call(const struct sim_site *site, bool is_outermost);
void sim_truth_activity(const struct sim_activity *activity);
/* It is over: its times are known, whether or not a tool listens. */
void sim_truth_done(const struct sim_activity *activity);
void sim_truth_memory(int device, uint64_t live_bytes, uint64_t peak_bytes);

#endif
