/*
 * CUPTI's own numbers: a client of CUPTI as NVIDIA's documentation has it, loaded by CUDA_INJECTION64_PATH instead of
 * gpuprobe. At exit it writes one line for each kernel name to the file that GPU_TRUTH names: count, sum of the times in
 * ns, name. Built against the headers and the library of the toolkit.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cupti.h>

#define BUFFER_BYTES (1 << 20)
#define NAMES_MAX    4096

struct row {
	char *name;
	uint64_t count, sum_ns;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct row rows[NAMES_MAX];
static size_t row_count;
static uint64_t dropped;

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

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *records_max)
{
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	*size = *buffer ? BUFFER_BYTES : 0;
	*records_max = 0;
}

static void CUPTIAPI completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			       size_t valid)
{
	CUpti_Activity *record = NULL;
	size_t lost = 0;

	(void)size;
	pthread_mutex_lock(&lock);
	while (!cuptiActivityGetNextRecord(buffer, valid, &record))
		if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			count((const CUpti_ActivityKernel9 *)record);
	if (!cuptiActivityGetNumDroppedRecords(context, stream, &lost))
		dropped += lost;
	pthread_mutex_unlock(&lock);
	free(buffer);
}

static void write_truth(void)
{
	const char *path = getenv("GPU_TRUTH");
	FILE *file;

	cuptiActivityFlushAll(1);
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

int InitializeInjection(void)
{
	if (cuptiActivityRegisterCallbacks(requested, completed) ||
	    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL))
		fprintf(stderr, "truth: CUPTI does not start\n");
	else
		atexit(write_truth);
	return 1;
}
