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
	u64 key;   /* of perfetto_recent_key() */
	u32 state; /* in which it is known */
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
	u32 state; /* how often it was cleared */
	bool cleared; /* no packet tells of it yet */
};

/* At the start, and before each event. */
void perfetto_packets_at(struct perfetto_packets *packets, u64 ts);
/* The number of a string, from 1 on; constant: it is there, unchanged, as long as the view. What has no memory fails with the text. */
u64 perfetto_intern(struct perfetto_packets *packets, enum perfetto_strings kind, const char *string);
static inline u64 perfetto_intern_constant(struct perfetto_packets *packets, enum perfetto_strings kind, const char *string);
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
/* The begin of a span, in body, and its end. */
int perfetto_packet_write_span(struct perfetto_packets *packets, u64 ts, u64 dur, u64 track, struct err *err);
/* But the writer. */
void perfetto_packets_free(struct perfetto_packets *packets);

/* ---- what was asked for last: inline, as each event asks for some ten numbers ---- */

/* What is looked up: strings that may move and strings that do not, by their address, each kind by itself; numbers by their field. From 1
 * on, so that no key is 0. */
#define PERFETTO_RECENT_STRING	 1
#define PERFETTO_RECENT_CONSTANT (PERFETTO_RECENT_STRING + PERFETTO_STRINGS)
#define PERFETTO_RECENT_NUMBER	 (PERFETTO_RECENT_CONSTANT + PERFETTO_STRINGS)

/* Addresses have 47 bits; what is numbered is counted, or small. */
static inline u64 perfetto_recent_key(u32 what, u64 value)
{
	return value ^ (u64)what << 48;
}

static inline struct perfetto_recent *perfetto_recent_pair(struct perfetto_packets *packets, u64 key)
{
	return &packets->recent[key * 0x9e3779b97f4a7c15ULL >> 48 & (PERFETTO_RECENT - 2)];
}

static inline bool perfetto_is_recent(const struct perfetto_packets *packets, const struct perfetto_recent *recent, u64 key)
{
	return recent->key == key && recent->state == packets->state;
}

/* NULL: it was not asked for lately. */
static inline const struct perfetto_recent *perfetto_find_recent(struct perfetto_packets *packets, u64 key)
{
	const struct perfetto_recent *pair = perfetto_recent_pair(packets, key);

	if (perfetto_is_recent(packets, &pair[0], key))
		return &pair[0];
	return perfetto_is_recent(packets, &pair[1], key) ? &pair[1] : NULL;
}

/* perfetto_intern_constant() of one that was not asked for lately. */
u64 perfetto_look_up_constant(struct perfetto_packets *packets, enum perfetto_strings kind, const char *string);

static inline u64 perfetto_intern_constant(struct perfetto_packets *packets, enum perfetto_strings kind, const char *string)
{
	const struct perfetto_recent *recent = perfetto_find_recent(
		packets, perfetto_recent_key(PERFETTO_RECENT_CONSTANT + kind, (uintptr_t)string));

	return recent ? recent->number : perfetto_look_up_constant(packets, kind, string);
}

#endif
