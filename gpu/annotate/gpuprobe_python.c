/* SPDX-FileCopyrightText: 2026 The gpuprobe authors */
/* SPDX-License-Identifier: MIT */
/* The probes of gpuprobe.h as a library for gpuprobe.py, which carries it inside. Needs nothing of any libc. */
#include "gpuprobe.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void gpuprobe_python_push(const char *name, const char *args);
EXPORTED void gpuprobe_python_pop(void);
EXPORTED void gpuprobe_python_mark(const char *name, const char *args);
EXPORTED void gpuprobe_python_counter(const char *name, long long value);
EXPORTED volatile unsigned short *gpuprobe_python_listeners(int probe);

void gpuprobe_python_push(const char *name, const char *args)
{
	gpuprobe_hit_push(name, args);
}

void gpuprobe_python_pop(void)
{
	gpuprobe_hit_pop();
}

void gpuprobe_python_mark(const char *name, const char *args)
{
	gpuprobe_hit_mark(name, args);
}

void gpuprobe_python_counter(const char *name, long long value)
{
	gpuprobe_hit_counter(name, value);
}

/* In the order of _PROBES of gpuprobe.py. */
volatile unsigned short *gpuprobe_python_listeners(int probe)
{
	volatile unsigned short *listeners[] = {&gpuprobe_push_semaphore, &gpuprobe_pop_semaphore,
						&gpuprobe_mark_semaphore,
						&gpuprobe_counter_semaphore};

	return listeners[probe & 3];
}
