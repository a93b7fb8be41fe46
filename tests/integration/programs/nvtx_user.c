/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A user of NVTX by its real headers. Does what the lines of stdin say, one at a time, and answers each with a line:
 * {"before": NS, "after": NS, "tid": TID, "value": WHAT IT RETURNED}. Compiled with -DLIBRARY it is the library that
 * "library PATH" loads: lines that begin with "in " go there.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

#define KEPT 16

struct kept {
	nvtxRangeId_t ranges[KEPT];
	nvtxDomainHandle_t domains[KEPT];
	nvtxStringHandle_t strings[KEPT];
};

static struct kept kept;

static unsigned long long now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

/* What an event carries: CATEGORY COLOR KIND:PAYLOAD NAME, where KIND is - (none), u, i or d; NAME may be #INDEX of
 * a registered string, or wide:NAME. */
static nvtxEventAttributes_t attributes_of(const char *words)
{
	static wchar_t wide[64];
	nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
					    .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
	char kind = '-', payload[40] = "";
	int used = 0;

	sscanf(words, "%u %x %c:%39s %n", &attributes.category, &attributes.color, &kind, payload,
	       &used);
	attributes.colorType = attributes.color ? NVTX_COLOR_ARGB : NVTX_COLOR_UNKNOWN;
	if (kind == 'u') {
		attributes.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
		attributes.payload.ullValue = strtoull(payload, NULL, 10);
	} else if (kind == 'i') {
		attributes.payloadType = NVTX_PAYLOAD_TYPE_INT32;
		attributes.payload.iValue = atoi(payload);
	} else if (kind == 'd') {
		attributes.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
		attributes.payload.dValue = atof(payload);
	}
	words += used;
	attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
	attributes.message.ascii = words;
	if (*words == '#') {
		attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
		attributes.message.registered = kept.strings[atoi(words + 1)];
	} else if (!strncmp(words, "wide:", 5)) {
		swprintf(wide, 64, L"%hs\u00e9", words + 5);
		attributes.messageType = NVTX_MESSAGE_TYPE_UNICODE;
		attributes.message.unicode = wide;
	}
	return attributes;
}

static long long push(int index, const char *words)
{
	return nvtxRangePushA(words);
}
static long long pop(int index, const char *words)
{
	return nvtxRangePop();
}
static long long mark(int index, const char *words)
{
	return nvtxMarkA(words), 0;
}
static long long start(int index, const char *words)
{
	return kept.ranges[index] = nvtxRangeStartA(words);
}
static long long end(int index, const char *words)
{
	return nvtxRangeEnd(kept.ranges[index]), 0;
}
static long long domain(int index, const char *words)
{
	return (long long)(kept.domains[index] = nvtxDomainCreateA(words));
}
static long long category(int index, const char *words)
{
	return nvtxNameCategoryA(index, words), 0;
}

static long long push_ex(int index, const char *words)
{
	nvtxEventAttributes_t attributes = attributes_of(words);

	return nvtxRangePushEx(&attributes);
}

static long long mark_ex(int index, const char *words)
{
	nvtxEventAttributes_t attributes = attributes_of(words);

	return nvtxMarkEx(&attributes), 0;
}

static long long start_ex(int index, const char *words)
{
	nvtxEventAttributes_t attributes = attributes_of(words);

	return kept.ranges[index] = nvtxRangeStartEx(&attributes);
}

/* Below: index is that of the domain. */
static long long domain_push(int index, const char *words)
{
	nvtxEventAttributes_t attributes = attributes_of(words);

	return nvtxDomainRangePushEx(kept.domains[index], &attributes);
}

static long long domain_mark(int index, const char *words)
{
	nvtxEventAttributes_t attributes = attributes_of(words);

	return nvtxDomainMarkEx(kept.domains[index], &attributes), 0;
}

static long long domain_start(int index, const char *words)
{
	nvtxEventAttributes_t attributes = attributes_of(words);

	return kept.ranges[index] = nvtxDomainRangeStartEx(kept.domains[index], &attributes);
}

static long long domain_pop(int index, const char *words)
{
	return nvtxDomainRangePop(kept.domains[index]);
}
static long long domain_end(int index, const char *words)
{
	return nvtxDomainRangeEnd(kept.domains[index], kept.ranges[index]), 0;
}
static long long registered(int index, const char *words)
{
	return (long long)(kept.strings[index] =
				   nvtxDomainRegisterStringA(kept.domains[index], words));
}

/* ---- many threads ---- */

static unsigned long rounds, until_ns;

static void *work(void *data)
{
	char name[32];

	snprintf(name, sizeof(name), "thread %ld", (long)data);
	for (unsigned long i = 0; i < rounds || now_ns() < until_ns; i++) {
		nvtxRangeId_t id = nvtxRangeStartA("overlapping");

		nvtxRangePushA(name);
		nvtxRangePushA("inner");
		nvtxRangePop();
		nvtxMarkA("tick");
		nvtxRangePop();
		nvtxRangeEnd(id);
	}
	return NULL;
}

/* ROUNDS in each of index threads, and then until MS have passed. */
static long long threads(int index, const char *words)
{
	unsigned long ms = 0;
	pthread_t all[64];

	rounds = 0;
	sscanf(words, "%lu %lu", &rounds, &ms);
	until_ns = ms ? now_ns() + ms * 1000000 : 0;
	for (long i = 0; i < index; i++)
		pthread_create(&all[i], NULL, work, (void *)i);
	for (long i = 0; i < index; i++)
		pthread_join(all[i], NULL);
	return rounds * index;
}

/* index threads, one after the other, with one round each. */
static long long short_lived(int index, const char *words)
{
	pthread_t thread;

	rounds = 1;
	until_ns = 0;
	for (long i = 0; i < index; i++) {
		pthread_create(&thread, NULL, work, (void *)0);
		pthread_join(thread, NULL);
	}
	return index;
}

static void *leave_open(void *name)
{
	nvtxRangePushA(name);
	return NULL;
}

/* A thread that ends inside of a range. */
static long long left_open(int index, const char *words)
{
	pthread_t thread;
	char name[32];

	snprintf(name, sizeof(name), "left open %d", index);
	pthread_create(&thread, NULL, leave_open, name);
	return pthread_join(thread, NULL);
}

/* A child that uses NVTX as its parent does. */
static long long in_child(int index, const char *words)
{
	pid_t child = fork();
	int status;

	if (!child) {
		for (int i = 0; i < 1000; i++) {
			nvtxRangePushA(words);
			nvtxMarkA(words);
			if (nvtxRangePop() == 12345)
				_exit(1);
		}
		_exit(0);
	}
	waitpid(child, &status, 0);
	return status;
}

static const struct {
	const char *word;
	long long (*call)(int index, const char *words);
} calls[] = {
	{"push", push},
	{"pop", pop},
	{"mark", mark},
	{"start", start},
	{"end", end},
	{"push_ex", push_ex},
	{"mark_ex", mark_ex},
	{"start_ex", start_ex},
	{"domain", domain},
	{"category", category},
	{"domain_push", domain_push},
	{"domain_pop", domain_pop},
	{"domain_mark", domain_mark},
	{"domain_start", domain_start},
	{"domain_end", domain_end},
	{"registered", registered},
	{"threads", threads},
	{"short_lived", short_lived},
	{"left_open", left_open},
	{"in_child", in_child},
};

/* WORD INDEX WORDS */
int nvtx_user_do(const char *line);

int nvtx_user_do(const char *line)
{
	char word[32] = "";
	int index = 0, used = 0;

	sscanf(line, "%31s %d %n", word, &index, &used);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		unsigned long long before, after;
		long long value;

		if (strcmp(word, calls[i].word))
			continue;
		before = now_ns();
		value = calls[i].call(index, line + used);
		after = now_ns();
		printf("{\"before\": %llu, \"after\": %llu, \"tid\": %ld, \"value\": %lld}\n",
		       before, after, (long)syscall(SYS_gettid), value);
		return 1;
	}
	return 0;
}

#ifndef LIBRARY
int main(void)
{
	int (*library_do)(const char *line) = NULL;
	void *library = NULL;
	char line[512];

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("{\"pid\": %d}\n", getpid());
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "library ", 8)) {
			library = dlopen(line + 8, RTLD_NOW);
			library_do = library ? (int (*)(const char *))dlsym(library, "nvtx_user_do")
					     : NULL;
			printf("{\"value\": %d}\n", library_do != NULL);
		} else if (!strcmp(line, "unload")) {
			printf("{\"value\": %d}\n", library ? dlclose(library) : -1);
			library_do = NULL;
		} else if (!strncmp(line, "in ", 3) && library_do && library_do(line + 3)) {
			continue;
		} else if (!nvtx_user_do(line)) {
			return 1;
		}
	}
	return 0;
}
#endif
