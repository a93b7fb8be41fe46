/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The simulated CUPTI's own structures. One set of objects serves all releases: sim_cupti_release, linked in beside
 * them, says which one it is, and sim_version what follows from that.
 */
#ifndef SIM_CUPTI_H
#define SIM_CUPTI_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cupti.h>
#include "../interface.h"

#define SIM_MAX_KINDS	64
#define SIM_MAX_CBIDS	1024
#define SIM_MAX_DOMAINS 8
#define SIM_MAX_RECORD	320
#define SIM_SUBSCRIBERS 4 /* of the new functions; 0 is who uses the old ones */

struct sim_version {
	const char *release;
	unsigned code;	   /* major * 1000 + minor * 10 */
	uint32_t returned; /* by cuptiGetVersion */
	uint32_t runtime_cbids;
	uint32_t driver_cbids;
};

/* Callbacks for buffers: those of the new functions where these are not NULL. */
struct sim_client {
	CUpti_BuffersCallbackRequestFunc requested;
	CUpti_BuffersCallbackCompleteFunc completed;
	void (*requested_v2)(uint8_t **buffer, size_t *size, size_t *max_records, void *info);
	void (*completed_v2)(uint8_t *buffer, size_t size, size_t valid, void *info);
};

struct sim_subscriber {
	CUpti_CallbackFunc callback;
	void *user_data;
	bool is_active;
	char name[SIM_NAME_LENGTH];
};

struct sim_state {
	const struct sim_interface *driver;
	/* Each a bit for each subscriber. */
	atomic_uchar kinds[SIM_MAX_KINDS];
	atomic_uchar
		api_on[3]
		      [SIM_MAX_CBIDS]; /* [domain][cbid]: recorded, by its kind or by its number */
	atomic_uchar callbacks[SIM_MAX_DOMAINS][SIM_MAX_CBIDS];
	struct sim_subscriber subscribers[SIM_SUBSCRIBERS];
	unsigned char shared; /* enum sim_shared */
	unsigned char family; /* enum sim_family: whose functions were called */
	bool old_was_called;  /* so that the last of the new ones forgets nothing */
	atomic_uint session;  /* counts from the first enable of each attach, 0: none */
	atomic_uint correlation;
	unsigned generation;	  /* counts cuptiFinalize */
	bool subscriber_died;	  /* by cuptiFinalize: nobody may use its handle any more */
	atomic_bool managed_used; /* managed memory, since the library was there */
	bool is_attached;
	bool latency_timestamps;
	bool event_timestamps;
	CUpti_ActivityThreadIdType thread_id_type;
};

enum sim_shared { SIM_SHARED_NO, SIM_SHARED_YES, SIM_SHARED_OPEN };
enum sim_family { SIM_FAMILY_NONE, SIM_FAMILY_OLD, SIM_FAMILY_NEW };

extern struct sim_state sim_state;
extern pthread_mutex_t sim_cupti_lock; /* attach, detach, subscription */
extern const struct sim_tools sim_tools;

/* callback.c: to the subscriber, where it asked for it */
void sim_deliver(unsigned domain, unsigned cbid, const void *data);

/* version.c */
const struct sim_version *sim_version(void);
extern const char sim_cupti_release[];

/* gate.c: what a call returns before it does anything: no driver, old driver, injected failure. 0: go on. */
CUptiResult sim_gate(const char *function);
/* The same for functions of one family: from 13.3 on the first that is called shuts the other out; in 13.2 a subscriber who shares
 * CUPTI shuts the old ones out. */
CUptiResult sim_gate_old(const char *function);
CUptiResult sim_gate_new(const char *function, CUpti_SubscriberHandle subscriber,
			 unsigned *ret_number);
/* For the calls that need no driver up to 13.1. */
CUptiResult sim_gate_free(const char *function);
void sim_pause_ms(uint64_t milliseconds);
uint64_t sim_cupti_knob(const char *name, uint64_t otherwise);
/* The driver calls sim_tools from now on. */
CUptiResult sim_attach(void);
/* Everything as if the library had just been loaded. */
void sim_reset(void);

/* clock.c */
uint64_t sim_clock_now(void);
/* A time of a device, which is of CLOCK_MONOTONIC, in CUPTI's clock. */
uint64_t sim_clock_device(uint64_t monotonic_ns);
void sim_clock_session_begin(void);
void sim_clock_reset(void);
/* What a clock that was registered twice adds to the first records of a session. */
uint64_t sim_clock_error(void);

/* layout.c: 0 for kinds that the release does not know */
size_t sim_record_size(unsigned kind);

/* record.c */
void sim_record_activity(const struct sim_activity *activity);
void sim_record_call(const struct sim_call *call, uint64_t end_ns);
void sim_record_external(unsigned kind, uint64_t id, uint32_t correlation);
void sim_record_device(const struct sim_device_facts *facts, uint32_t id);
void sim_record_context(const struct sim_context_facts *facts);
void sim_record_stream(const struct sim_stream_facts *facts, uint32_t correlation);
void sim_record_overhead(unsigned kind, uint64_t start_ns, uint64_t end_ns);
/* Of all devices, where that kind is enabled. */
void sim_record_environment(void);
/* The kind of record that an activity becomes by what is enabled now, 0: none. */
unsigned sim_wanted_kind(const struct sim_activity *activity);
uint32_t sim_thread_id(void);

/* buffer.c */
/* is_own: the record belongs to the thread that calls, and goes to its buffer where there is one a thread. */
/* To these subscribers. */
void sim_buffer_append(const void *record, size_t size, bool is_own, unsigned subscribers);
/* Work that is done waits for the worker to write its records: callable under the driver's locks. */
void sim_buffer_queue(const struct sim_activity *activity);
/* Asks the client for a buffer, and hands it back empty. */
void sim_buffer_exchange(void);
void sim_buffer_start(void);
void sim_buffer_stop(void);
void sim_buffer_flush(bool forced);
/* What it is handed goes there. */
CUptiResult sim_buffer_register(unsigned subscriber, const struct sim_client *client);
size_t sim_buffer_dropped(unsigned subscriber);
void sim_buffer_reset(void);
/* Whether it is one of the attributes that buffers have. */
bool sim_buffer_set_attribute(unsigned attribute, bool value);
void sim_buffer_get_attribute(unsigned attribute, void *ret_value);

/* workers.c */
void sim_workers_start(void);
void sim_workers_stop(void);

/* activity.c: nothing is recorded for it any more */
void sim_activity_forget(unsigned subscriber);
/* records the external ids of a call that begins */
void sim_external_call(uint32_t correlation);

#endif
