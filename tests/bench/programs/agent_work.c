/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the agent itself does for a launch, on one thread: agent_work list|every.
 *
 * CUPTI's records of a launch as the H100 gave them for a transformer (tests/captures, h100-real): a kernel, one of 55 with
 * names of 154 bytes on average, and the API calls. every: those of kinds 4 and 5, which were 2.2 a kernel; list: what is
 * left where CUPTI records the calls of gpu/cupti/api_calls.def only. Prints ns a launch, the least of several rounds, as JSON:
 * both calls of CUPTI for a buffer of 512 KiB, the conversion with its writing into the ring, and that writing alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../../gpu/cupti/cupti_convert.h"
#include "../../../gpu/cupti/cupti_session.h"
#include "../../../bpf/record.h"

#define LAUNCHES     2000
#define ROUNDS	     200
#define KERNELS	     55
#define NAME_BYTES   154
#define CHUNKS	     64
#define MEMORY_BYTES (AGENT_CONTROL_BYTES + CHUNKS * AGENT_CHUNK_BYTES)
#define KERNEL_BYTES 216
#define API_BYTES    40

enum { RUNTIME_LAUNCH = 211, DRIVER_GET_NAME = 719, DRIVER_GET_ATTRIBUTE = 686 };

static u8 input[LAUNCHES * (KERNEL_BYTES + 3 * API_BYTES)];
static size_t input_bytes;
static char names[KERNELS][NAME_BYTES + 1];

static u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_SECOND + now.tv_nsec;
}

static const char *callback_name(void *data, u32 domain, u32 callback)
{
	if (domain == VALUE_api_domain_runtime)
		return callback == RUNTIME_LAUNCH ? "cudaLaunchKernel_v7000" : NULL;
	return callback == DRIVER_GET_NAME	  ? "cuKernelGetName"
	       : callback == DRIVER_GET_ATTRIBUTE ? "cuKernelGetAttribute"
						  : NULL;
}

static const char *string_at(void *data, u64 address)
{
	return (const char *)address;
}

static void put(u32 at, u64 value, u32 bytes)
{
	memcpy(input + input_bytes + at, &value, bytes);
}

static void put_api(u32 kind, u32 callback, u32 correlation)
{
	put(0, kind, 4);
	put(4, callback, 4);
	put(8, 1000 + 10ULL * correlation, 8);
	put(16, 1005 + 10ULL * correlation, 8);
	put(28, 42, 4);
	put(32, correlation, 4);
	input_bytes += API_BYTES;
}

static void put_kernel(u32 correlation)
{
	put(0, CUPTI_KERNEL, 4);
	put(16, 2000 + 10ULL * correlation, 8);
	put(24, 2008 + 10ULL * correlation, 8);
	put(44, 1, 4);
	put(48, 7, 4);
	put(52, 264, 4);
	put(64, 256, 4);
	put(92, correlation, 4);
	put(104, (u64)(uintptr_t)names[correlation % KERNELS], 8);
	input_bytes += KERNEL_BYTES;
}

/* 1 launch, 0.79 of cuKernelGetName, 0.43 of the attributes of kernels. */
static void make_input(bool every)
{
	for (u32 i = 0; i < KERNELS; i++) {
		memset(names[i], 'a', NAME_BYTES);
		/* As those of torch: what differs stands in the middle. */
		snprintf(names[i] + 60, 8, "%07u", i);
		names[i][67] = 'b';
	}
	for (u32 i = 1; i <= LAUNCHES; i++) {
		if (every && i % 5)
			put_api(CUPTI_DRIVER, DRIVER_GET_NAME, i);
		if (every && i % 7 < 3)
			put_api(CUPTI_DRIVER, DRIVER_GET_ATTRIBUTE, i);
		put_api(CUPTI_RUNTIME, RUNTIME_LAUNCH, i);
		put_kernel(i);
	}
}

static void empty_ring(struct ring *ring, struct ring_writer *writer)
{
	ring_release(writer);
	for (u32 i = 0; i < CHUNKS; i++)
		((struct agent_chunk *)((u8 *)ring->control + AGENT_CONTROL_BYTES +
					(size_t)i * AGENT_CHUNK_BYTES))
			->state = AGENT_CHUNK_FREE;
}

static u64 convert_all(struct cupti_convert *convert)
{
	u64 begin_ns = now_ns();
	u32 kind;

	for (size_t offset = 0; offset < input_bytes; offset += convert->record_bytes[kind]) {
		memcpy(&kind, input + offset, sizeof(kind));
		cupti_convert(convert, input + offset, input_bytes - offset);
	}
	return now_ns() - begin_ns;
}

/* What the conversion sends, by size. */
static u64 write_all(struct ring_writer *writer)
{
	static const u32 sizes[] = {sizeof(struct record_api), sizeof(struct record_kernel)};
	u64 begin_ns = now_ns();

	for (u32 i = 0; i < LAUNCHES; i++)
		for (u32 j = 0; j < ARRAY_SIZE(sizes); j++) {
			void *room = ring_reserve(writer, sizes[j]);

			if (!room)
				exit(3);
			memcpy(room, input, sizes[j]);
			ring_commit(writer, sizes[j]);
		}
	return now_ns() - begin_ns;
}

/* Of one buffer, from both calls; nobody reads it. */
static u64 call_back(struct cupti_session *session)
{
	u64 begin_ns = now_ns();
	size_t bytes, most;
	u8 *buffer;

	cupti_session_requested(&buffer, &bytes, &most, session);
	if (!buffer)
		exit(4);
	cupti_session_completed(0, 0, (u64)buffer, bytes, bytes, session);
	return now_ns() - begin_ns;
}

static void least(u64 *value, u64 measured)
{
	if (measured < *value)
		*value = measured;
}

static struct cupti_session *make_session(struct agent_control *control)
{
	struct cupti_session *session = calloc(1, sizeof(*session));
	static u32 live = 1;

	control->cupti.buffer_bytes = 512 << 10;
	control->cupti.buffer_count_max = ROUNDS;
	session->control = control;
	session->live = &live;
	session->version = 130001;
	if (cupti_buffers_open(&session->buffers, control))
		exit(5);
	return session;
}

int main(int argc, char **argv)
{
	bool every = argc > 1 && !strcmp(argv[1], "every");
	struct agent_control *control = aligned_alloc(4096, (MEMORY_BYTES + 4095) & ~4095UL);
	u64 convert_ns = ~0ULL, ring_ns = ~0ULL, callback_ns = ~0ULL;
	struct cupti_session *session;
	struct ring_writer writer;
	struct clock clock = {0};
	struct ring ring;
	static struct cupti_convert convert;

	memset(control, 0, MEMORY_BYTES);
	control->chunk_count = CHUNKS;
	control->window_start_ns = 1;
	ring_open(&ring, control, MEMORY_BYTES);
	ring_writer_open(&writer, &ring, 1);
	convert = (struct cupti_convert){.control = control,
					 .writer = &writer,
					 .texts = texts_open(65536, 5),
					 .streams = streams_open(42, 5),
					 .instructions = instructions_open(42, 5),
					 .clock = &clock,
					 .version = 130001,
					 .pid = 42,
					 .fact_ns = 5,
					 .callback_name = callback_name,
					 .string_at = string_at};
	convert.record_bytes[CUPTI_DRIVER] = convert.record_bytes[CUPTI_RUNTIME] = API_BYTES;
	convert.record_bytes[CUPTI_KERNEL] = KERNEL_BYTES;
	api_calls_resolve(&convert.apis,
			  every ? API_GROUPS_EVERY | API_GROUP_BIT(PROFILER) : API_GROUPS_DEFAULT,
			  callback_name, NULL);
	make_input(every);
	session = make_session(control);
	for (u32 i = 0; i < ROUNDS; i++) {
		least(&convert_ns, convert_all(&convert));
		empty_ring(&ring, &writer);
		least(&ring_ns, write_all(&writer));
		empty_ring(&ring, &writer);
		least(&callback_ns, call_back(session));
	}
	printf("{\"convert_ns\": %.1f, \"ring_ns\": %.1f, \"callback_ns\": %.2f, \"records\": "
	       "%.2f, \"sent\": %.2f, \"bytes\": %.1f}\n",
	       (double)convert_ns / LAUNCHES, (double)ring_ns / LAUNCHES,
	       (double)callback_ns * input_bytes / (512 << 10) / LAUNCHES,
	       (double)(input_bytes - LAUNCHES * KERNEL_BYTES) / API_BYTES / LAUNCHES + 1,
	       (double)(convert.sent_callbacks + convert.sent_activities) / ROUNDS / LAUNCHES,
	       (double)input_bytes / LAUNCHES);
	return 0;
}
