/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A client of CUPTI within a program that loads it (dlopen), which records what it is told to and throws it away: what
 * each kind of record costs by itself, whoever asks for it. Built against the headers and the library of the toolkit.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cupti.h>

#define BUFFER_BYTES (2 << 20)

typedef CUptiResult enable_api_fn(CUpti_CallbackId id, uint8_t enable);

/* words: of the table below, with commas; "off" or nothing: no records. 0, else the result of the CUPTI function that
 * refused, or -1: a word that is unknown, or a function that this CUPTI lacks. ret_records: completed since the last call. */
int client_mode(const char *words, unsigned long long *ret_records);

static const CUpti_CallbackId runtime_list[] = {
	CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
	CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060,
	CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020,
	CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020,
	CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000,
	CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020,
	CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020,
	CUPTI_RUNTIME_TRACE_CBID_cudaEventSynchronize_v3020,
	CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020,
};

static const CUpti_CallbackId driver_list[] = {
	CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,	      CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
	CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2, CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2,
	CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async,      CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
	CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize,  CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize,
	CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize,   CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2,
};

/* What Kineto switches on, and what gpuprobe did until issue 16. */
static const CUpti_ActivityKind kineto_kinds[] = {1, 2, 10, 4, 5, 17};
static const CUpti_ActivityKind many_kinds[] = {1,  2,	4,  5,	8,  9,	10, 17,
						20, 22, 36, 37, 38, 49, 50};
static const CUpti_ActivityKind kernel_kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};
static const CUpti_ActivityKind runtime_kinds[] = {CUPTI_ACTIVITY_KIND_RUNTIME};
static const CUpti_ActivityKind driver_kinds[] = {CUPTI_ACTIVITY_KIND_DRIVER};

#define KINDS(list) .kinds = list, .kind_count = sizeof(list) / sizeof((list)[0])
#define IDS(name, list) \
	.enable_api = name, .ids = list, .id_count = sizeof(list) / sizeof((list)[0])

static const struct word {
	const char *word;
	const CUpti_ActivityKind *kinds;
	size_t kind_count;
	const char *enable_api; /* function that takes ids */
	const CUpti_CallbackId *ids;
	size_t id_count;
	int attribute; /* set to 1 for good; 0: none */
} words_known[] = {
	{.word = "kernel", KINDS(kernel_kinds)},
	{.word = "runtime-kind", KINDS(runtime_kinds)},
	{.word = "driver-kind", KINDS(driver_kinds)},
	{.word = "kineto-kinds", KINDS(kineto_kinds)},
	{.word = "many-kinds", KINDS(many_kinds)},
	{.word = "runtime-list", IDS("cuptiActivityEnableRuntimeApi", runtime_list)},
	{.word = "driver-list", IDS("cuptiActivityEnableDriverApi", driver_list)},
	{.word = "zeroed", .attribute = CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER},
	{.word = "per-thread", .attribute = CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER},
};

#define WORD_COUNT (sizeof(words_known) / sizeof(words_known[0]))

static bool on[WORD_COUNT];
static atomic_ullong records;

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *records_max)
{
	*buffer = calloc(1, BUFFER_BYTES);
	*size = *buffer ? BUFFER_BYTES : 0;
	*records_max = 0;
}

static void CUPTIAPI completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			       size_t valid)
{
	CUpti_Activity *record = NULL;

	(void)context;
	(void)stream;
	(void)size;
	while (!cuptiActivityGetNextRecord(buffer, valid, &record))
		atomic_fetch_add(&records, 1);
	free(buffer);
}

static int set_attribute(int attribute)
{
	uint8_t value = 1;
	size_t bytes = sizeof(value);

	return cuptiActivitySetAttribute(attribute, &bytes, &value);
}

static int switch_word(const struct word *word, bool enable)
{
	enable_api_fn *enable_api = NULL;
	int result = 0;

	if (word->enable_api) {
		*(void **)&enable_api = dlsym(RTLD_DEFAULT, word->enable_api);
		if (!enable_api)
			return -1;
	}
	if (word->attribute && enable)
		result = set_attribute(word->attribute);
	for (size_t i = 0; i < word->kind_count && !result; i++)
		result = (enable ? cuptiActivityEnable : cuptiActivityDisable)(word->kinds[i]);
	for (size_t i = 0; i < word->id_count && !result; i++)
		result = enable_api(word->ids[i], enable);
	return result;
}

static int switch_words(const char *words)
{
	int result = 0;

	while (*words && !result) {
		size_t length = strcspn(words, ","), i = 0;

		while (i < WORD_COUNT && (strlen(words_known[i].word) != length ||
					  memcmp(words_known[i].word, words, length)))
			i++;
		if (i == WORD_COUNT)
			return -1;
		result = switch_word(&words_known[i], true);
		on[i] = true;
		words += length + (words[length] == ',');
	}
	return result;
}

int client_mode(const char *words, unsigned long long *ret_records)
{
	static bool registered;
	int result = registered ? 0 : cuptiActivityRegisterCallbacks(requested, completed);

	registered = true;
	for (size_t i = 0; i < WORD_COUNT; i++) {
		if (on[i])
			switch_word(&words_known[i], false);
		on[i] = false;
	}
	cuptiActivityFlushAll(1);
	*ret_records = atomic_exchange(&records, 0);
	if (result || !strcmp(words, "off"))
		return result;
	return switch_words(words);
}
