/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The messages of tensorflow.ProfilerService (profiler_service.proto) as plain data. Requests are untrusted bytes.
 */
#ifndef GPUPROBE_NET_PROFILER_MESSAGES_H
#define GPUPROBE_NET_PROFILER_MESSAGES_H

#include "base/err.h"
#include "base/text.h"

/* Of a ProfileRequest. Free it with profile_request_free(). */
struct profile_request {
	char *session_id;    /* never NULL */
	u64 duration_ms;     /* 0: until it is ended */
	u64 start_unix_ns;   /* not before; 0: at once */
	char **settings;     /* "KEY=VALUE" by the names of JAX's ProfileOptions: the levels of the three tracers, then
			      * advanced_configuration */
	size_t setting_count;
};

/* Options of version 0, or none at all, stand for the defaults: host_tracer_level 2, device_tracer_level 1,
 * python_tracer_level 0. A device_type that is no GPU switches the device tracer off. -EINVAL: it is no such message,
 * or asks too much. */
int profile_request_read(const u8 *message, size_t bytes, struct profile_request *ret_request,
			 struct err *err);
void profile_request_free(struct profile_request *request);

/* session_id of a TerminateRequest; the caller frees. */
int terminate_request_read(const u8 *message, size_t bytes, char **ret_session_id, struct err *err);
/* ret_timestamp: the answer is to begin with the time. */
int monitor_request_read(const u8 *message, size_t bytes, bool *ret_timestamp, struct err *err);

/* A ProfileResponse with one tool_data, up to the first of its data_bytes bytes, which are its end. */
void profile_response_append_head(struct text *message, const char *name, u64 data_bytes);
/* A ProfileResponse that says that nothing was recorded. */
void profile_response_append_empty(struct text *message);
void monitor_response_append(struct text *message, const char *data);

#endif
