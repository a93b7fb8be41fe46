/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the simulated libcuda.so.1 offers to the simulated libcudart and libcupti, as the tables behind
 * cuGetExportTable do in the real driver. Nothing of this is NVIDIA's; nothing outside tests/sim includes it.
 *
 * Times are CLOCK_MONOTONIC in nanoseconds.
 */
#ifndef SIM_INTERFACE_H
#define SIM_INTERFACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cuda.h>

#define SIM_INTERFACE_VERSION 1
#define SIM_NAME_LENGTH	      64
#define SIM_MAX_DEVICES	      8

/* The table's identity for cuGetExportTable. */
#define SIM_TABLE_UUID                                                                                             \
	{                                                                                                          \
		"gpuprobe-sim-01"                                                                                  \
	}

/* Numbers of CUpti_CallbackDomain. */
enum sim_domain {
	SIM_DOMAIN_DRIVER = 1,
	SIM_DOMAIN_RUNTIME = 2,
};

/* One API function. */
struct sim_site {
	uint32_t domain;
	uint32_t cbid;
	const char *name;
	bool launches_kernel; /* its first parameter is the function to launch */
	bool per_thread;      /* _ptsz, _ptds: stream 0 is the thread's own */
};

struct sim_tools;

/* One call of a function that runs now, on the stack of its thread. */
struct sim_call {
	const struct sim_site *site;
	struct sim_call *outer; /* the call that made this one, NULL: the application did */
	const void *params;	/* the generated NAME_params structure */
	int result;
	const char *symbol; /* name of the kernel that is launched, NULL: none */
	CUcontext context;
	uint32_t context_id;
	/* For the tool that saw it begin, NULL: none did. */
	const struct sim_tools *tools;
	uint32_t correlation;
	uint32_t session;
	uint64_t start_ns;
	uint64_t client_data;
};

enum sim_kind {
	SIM_KERNEL,
	SIM_MEMCPY,
	SIM_MEMSET,
	SIM_GRAPH,
	SIM_SYNC,
	SIM_EVENT,
	SIM_MEMORY,
	SIM_POOL,
	SIM_MANAGED,
	SIM_OVERHEAD,
};

/* CUpti_ActivitySynchronizationType. */
enum sim_sync {
	SIM_SYNC_EVENT = 1,
	SIM_SYNC_WAIT_EVENT = 2,
	SIM_SYNC_STREAM = 3,
	SIM_SYNC_CONTEXT = 4,
};

struct sim_pool_state {
	uint64_t address;
	uint64_t size_bytes;
	uint64_t used_bytes;
	uint64_t release_threshold;
};

/* Something that happened on a device or to its memory. Names live as long as the process. */
struct sim_activity {
	enum sim_kind kind;
	uint32_t device;
	uint32_t context_id;
	uint32_t stream_id;
	uint32_t graph_id; /* 0: not of a graph launch */
	uint64_t graph_node_id;
	int32_t priority;
	uint32_t channel_id;
	uint32_t channel_type;
	uint64_t queued_ns;
	uint64_t submitted_ns;
	uint64_t start_ns;
	uint64_t end_ns;
	/* Set by the tool's submit. */
	uint32_t correlation;
	uint32_t session;
	uint32_t record_kind;
	uint8_t subscribers; /* a bit each */
	union {
		struct {
			const char *name;
			uint32_t grid[3];
			uint32_t block[3];
			uint32_t cluster[3];
			uint32_t registers;
			uint32_t static_shared_bytes;
			uint32_t dynamic_shared_bytes;
			uint32_t local_bytes;
			bool cooperative;
		} kernel;
		struct {
			uint8_t copy_kind; /* CUpti_ActivityMemcpyKind */
			uint8_t source_kind;
			uint8_t destination_kind; /* CUpti_ActivityMemoryKind */
			bool async;
			uint64_t bytes;
			uint32_t source_device;
			uint32_t destination_device;
			uint32_t source_context;
			uint32_t destination_context;
		} memcpy;
		struct {
			uint32_t value;
			uint8_t memory_kind;
			bool async;
			uint64_t bytes;
		} memset;
		struct {
			enum sim_sync type;
			uint32_t event_id; /* UINT32_MAX: none */
			uint64_t event_sync_id;
			int32_t result;
		} sync;
		struct {
			uint32_t event_id;
			uint64_t sync_id;
		} event;
		struct {
			bool is_release;
			uint8_t memory_kind;
			bool async;
			bool from_pool;
			uint64_t address;
			uint64_t bytes;
			uint64_t pc;
			struct sim_pool_state pool;
		} memory;
		struct {
			uint32_t operation; /* CUpti_ActivityMemoryPoolOperationType */
			uint64_t min_keep_bytes;
			struct sim_pool_state state;
		} pool;
		struct {
			uint32_t counter; /* CUpti_ActivityUnifiedMemoryCounterKind */
			uint64_t value;
			uint64_t address;
			uint32_t source;
			uint32_t destination;
			uint32_t flags;
		} managed;
		struct {
			uint32_t overhead; /* CUpti_ActivityOverheadKind */
			uint32_t thread;
		} overhead;
	};
};

/* A resource, as CUPTI_CB_DOMAIN_RESOURCE tells of it: cbids of CUpti_CallbackIdResource. */
struct sim_resource {
	uint32_t cbid;
	CUcontext context;
	CUstream stream;
	CUmodule module;
	CUgraph graph;
	CUgraph original_graph;
	CUgraphNode node;
	CUgraphNode dependency;
	CUgraphExec exec;
};

/*
 * One tool at a time. The functions are called from the application's threads (enter, exit, submit, resource,
 * synchronized) and from device threads, with the driver's locks held (done): done must not call the driver.
 */
struct sim_tools {
	void (*enter)(struct sim_call *call);
	void (*exit)(struct sim_call *call);
	/* Sets correlation, session and record_kind of work that the current call submits. call is NULL outside calls. */
	void (*submit)(const struct sim_call *call, struct sim_activity *activity);
	void (*done)(const struct sim_activity *activity);
	void (*resource)(const struct sim_call *call, const struct sim_resource *resource);
	/* cbids of CUpti_CallbackIdSync */
	void (*synchronized)(uint32_t cbid, CUcontext context, CUstream stream);
};

struct sim_device_facts {
	char name[SIM_NAME_LENGTH];
	uint8_t uuid[16];
	uint64_t memory_bytes;
	uint64_t bandwidth_kb_per_s;
	uint32_t multiprocessors;
	uint32_t clock_khz;
	uint32_t l2_bytes;
	uint32_t capability_major;
	uint32_t capability_minor;
};

struct sim_context_facts {
	uint32_t id;
	uint32_t device;
	uint32_t null_stream_id;
};

struct sim_stream_facts {
	uint32_t id;
	uint32_t context_id;
	int32_t priority;
	uint32_t flag; /* CUpti_ActivityStreamFlag */
};

struct sim_interface {
	uint32_t version;
	/* Runs one API call: what the driver's own functions and libcudart's are wrapped in. */
	int (*call)(const struct sim_site *site, int (*run)(const void *params), const void *params, int unsupported);
	/* libcudart tells how the address of a kernel's host stub leads to its name. */
	void (*set_runtime_symbols)(const char *(*name_of)(const void *host_function));
	/* -EBUSY when there is one; detach returns when no thread is inside the tool any more, but the caller. */
	int (*attach)(const struct sim_tools *tools);
	void (*detach)(const struct sim_tools *tools);
	struct sim_call *(*current_call)(void);
	/* Threads inside API calls, without the calling thread, and work that is not done. */
	unsigned (*calls_active)(void);
	unsigned (*work_pending)(void);
	/* A knob: see tests/sim/README.md. The text stays valid. Default where it is not set. */
	uint64_t (*knob)(const char *name, uint64_t otherwise);
	const char *(*knob_text)(const char *name);
	/* What exists: each returns how many there are, and fills up to capacity. */
	size_t (*devices)(struct sim_device_facts *facts, size_t capacity);
	size_t (*contexts)(struct sim_context_facts *facts, size_t capacity);
	size_t (*streams)(struct sim_stream_facts *facts, size_t capacity);
	uint32_t (*context_id)(CUcontext context);
	uint32_t (*context_device)(CUcontext context);
	uint32_t (*stream_id)(CUcontext context, CUstream stream, bool per_thread);
	uint32_t (*graph_id)(CUgraph graph);
	uint32_t (*graph_exec_id)(CUgraphExec exec);
	uint64_t (*graph_node_id)(CUgraphNode node);
};

/* The table, for those that look it up by dlsym: no API call, so that truth and tools do not see it. */
const struct sim_interface *simDriverTable(void);

/*
 * Also exported by libcuda.so.1, for programs that compare what a tool recorded with what happened.
 * simTruth writes JSON of what was asked of the driver since simTruthMark (or the start) and returns its length
 * without the NUL; when that is >= capacity nothing but a part was written. Neither is an API call.
 */
size_t simTruth(char *json, size_t capacity);
void simTruthMark(void);
/* Waits until no device has work, up to timeout_ms: whether that is so. */
int simDrain(unsigned timeout_ms);
/* Stands for the page fault of a program that reads managed memory: the caller is the instruction. */
void simHostAccess(const void *memory);

#endif
