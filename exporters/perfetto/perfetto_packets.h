/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The packets of a trace of Perfetto. A string is written once, and is a number from then on (it is interned), until the state is cleared:
 * every few seconds, so that readers can begin there and memory does not grow with the trace. What an event is the first to name
 * stands in its own packet.
 */
#ifndef GPUPROBE_EXPORTERS_PERFETTO_PERFETTO_PACKETS_H
#define GPUPROBE_EXPORTERS_PERFETTO_PERFETTO_PACKETS_H

#include "base/err.h"
#include "base/map.h"
#include "exporters/perfetto/perfetto_fields.h"
#include "exporters/protobuf.h"
#include "exporters/writer.h"

#define PERFETTO_STATE_NS    (5 * NS_PER_SECOND) /* for how long what is interned holds */
#define PERFETTO_STATE_BYTES (8 * 1024 * 1024)	 /* of it at most, and of one event's */

enum perfetto_strings {
	PERFETTO_CATEGORY,
	PERFETTO_EVENT_NAME,
	PERFETTO_ANNOTATION_NAME,
	PERFETTO_ANNOTATION_STRING,
	PERFETTO_KERNEL_ARG,
	PERFETTO_FUNCTION,
	PERFETTO_MAPPING_PATH,
	PERFETTO_STRINGS
};

/* What was asked for last of those that share its places, of which there are two: most are asked for again and again. */
struct perfetto_recent {
	u64 key; /* a string's address, or a number */
	u64 state; /* in which it is known; 0: none */
	u32 kind;
	u32 number; /* given to it */
};

#define PERFETTO_RECENT 512 /* a power of two */

/* Zero-initialise, but for the writer. */
struct perfetto_packets {
	struct writer writer;
	struct text body;     /* of the packet at hand: the message in its field */
	struct text interned; /* what it is the first to name */
	struct string_table strings[PERFETTO_STRINGS];
	struct map constants; /* (string, kind): numbers of those that do not move */
	struct perfetto_recent recent[PERFETTO_RECENT];
	struct text scratch;
	u64 numbers;	      /* given by perfetto_number() since the state was cleared */
	u64 profiles;	      /* of heaps since then: readers count them */
	size_t interned_bytes; /* since the state was cleared */
	u64 cleared_ns;
	u64 state; /* how often it was cleared */
	bool cleared; /* no packet tells of it yet */
};

/* At the start, and before each event. */
void perfetto_packets_at(struct perfetto_packets *packets, u64 ts);
/* The number of a string, from 1 on; constant: it is there, unchanged, as long as the view. What has no memory fails with the text. */
u64 perfetto_intern(struct perfetto_packets *packets, enum perfetto_strings kind, const char *string);
u64 perfetto_intern_constant(struct perfetto_packets *packets, enum perfetto_strings kind, const char *string);
/* Is what has a number of the caller's own told of in this state? If not it is to be appended to interned now, and counts as told of. */
bool perfetto_is_told(struct perfetto_packets *packets, u32 field, u64 number);
/* A number for what is interned in a field, by a key of the caller's. True: it is new, and to be appended to interned now. */
bool perfetto_number(struct perfetto_packets *packets, u32 field, u64 key, u64 *ret_number);
/* Not interned. What is no UTF-8 is made so. */
void perfetto_append_string(struct perfetto_packets *packets, u32 field, const char *string);

/* The packet of what body holds, in a field of the packet. */
int perfetto_packet_write(struct perfetto_packets *packets, u64 ts, u32 field, struct err *err);
/* The same without a time, of what holds for all of the trace. */
int perfetto_packet_write_timeless(struct perfetto_packets *packets, u32 field, struct err *err);
/* The end of a span on a track. */
int perfetto_packet_write_end(struct perfetto_packets *packets, u64 ts, u64 track, struct err *err);
/* But the writer. */
void perfetto_packets_free(struct perfetto_packets *packets);

#endif
