/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CUPTI's own numbers: a client of CUPTI as NVIDIA's documentation has it, loaded by CUDA_INJECTION64_PATH instead of
 * gpuprobe. At exit it writes one line for each kernel name to the file that GPU_TRUTH names: count, sum of the times in
 * ns, name. Built against the headers and the library of the toolkit.
 *
 * Where GPU_BUFFERS names a file too, it gets activity records as CUPTI laid them out, for the unit tests to replay
 * (tests/unit/cupti_buffers.h says how the file is made): at most RAW_BYTES of them, of several kinds.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cupti.h>

#include "../../unit/cupti_buffers.h"

#define BUFFER_BYTES (1 << 20)
#define NAMES_MAX    4096
#define RAW_BYTES    (48 << 10)

struct row {
	char *name;
	uint64_t count, sum_ns;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct row rows[NAMES_MAX];
static size_t row_count;
static uint64_t dropped;
static struct cupti_buffers_header header = {.magic = CUPTI_BUFFERS_MAGIC};
static uint8_t raw[RAW_BYTES];

int InitializeInjection(void);

static void count(const CUpti_ActivityKernel9 *kernel)
{
	const char *name = kernel->name ? kernel->name : "?";
	size_t i = 0;

	while (i < row_count && strcmp(rows[i].name, name))
		i++;
	if (i == NAMES_MAX)
		return;
	if (i == row_count)
		rows[row_count++].name = strdup(name);
	rows[i].count++;
	rows[i].sum_ns += kernel->end - kernel->start;
}

/* How long a record is, is told by where the next one stands. */
static void keep(const CUpti_Activity *record, const CUpti_Activity *next)
{
	size_t bytes = (const uint8_t *)next - (const uint8_t *)record;

	if (record->kind >= CUPTI_BUFFERS_KINDS || header.bytes + bytes > RAW_BYTES)
		return;
	memcpy(raw + header.bytes, record, bytes);
	header.bytes += bytes;
	header.record_bytes[record->kind] = bytes;
	header.records[record->kind]++;
	if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
		header.kernel_ns += ((const CUpti_ActivityKernel9 *)record)->end -
				    ((const CUpti_ActivityKernel9 *)record)->start;
}

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *records_max)
{
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	*size = *buffer ? BUFFER_BYTES : 0;
	*records_max = 0;
}

static void CUPTIAPI completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			       size_t valid)
{
	CUpti_Activity *record = NULL, *before = NULL;
	size_t lost = 0;

	(void)size;
	pthread_mutex_lock(&lock);
	while (!cuptiActivityGetNextRecord(buffer, valid, &record)) {
		if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			count((const CUpti_ActivityKernel9 *)record);
		if (before)
			keep(before, record);
		before = record;
	}
	if (before)
		keep(before, (const CUpti_Activity *)(buffer + valid));
	if (!cuptiActivityGetNumDroppedRecords(context, stream, &lost))
		dropped += lost;
	pthread_mutex_unlock(&lock);
	free(buffer);
}

static void write_buffers(void)
{
	const char *path = getenv("GPU_BUFFERS");
	FILE *file = path ? fopen(path, "wb") : NULL;

	if (!file)
		return;
	cuptiGetVersion(&header.version);
	fwrite(&header, sizeof(header), 1, file);
	fwrite(raw, 1, header.bytes, file);
	fclose(file);
}

static void write_truth(void)
{
	const char *path = getenv("GPU_TRUTH");
	FILE *file;

	cuptiActivityFlushAll(1);
	write_buffers();
	file = path ? fopen(path, "w") : NULL;
	if (!file)
		return;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < row_count; i++)
		fprintf(file, "%llu %llu %s\n", (unsigned long long)rows[i].count,
			(unsigned long long)rows[i].sum_ns, rows[i].name);
	fprintf(file, "%llu 0 (dropped)\n", (unsigned long long)dropped);
	pthread_mutex_unlock(&lock);
	fclose(file);
}

/* What else a fixture has. */
static void enable_more(void)
{
	static const CUpti_ActivityKind kinds[] = {
		CUPTI_ACTIVITY_KIND_MEMCPY,	     CUPTI_ACTIVITY_KIND_MEMSET,
		CUPTI_ACTIVITY_KIND_RUNTIME,	     CUPTI_ACTIVITY_KIND_DRIVER,
		CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
	};

	for (size_t i = 0; getenv("GPU_BUFFERS") && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		cuptiActivityEnable(kinds[i]);
}

int InitializeInjection(void)
{
	if (cuptiActivityRegisterCallbacks(requested, completed) ||
	    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL))
		fprintf(stderr, "truth: CUPTI does not start\n");
	else
		enable_more(), atexit(write_truth);
	return 1;
}
