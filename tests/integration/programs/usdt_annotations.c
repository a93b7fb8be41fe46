/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that annotates itself by the probes of provider gpuprobe, as gpuprobe.h does. Prints how often. */
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#include "protocol.h"

#define SEMAPHORE(name)                                          \
	__extension__ unsigned short gpuprobe_##name##_semaphore \
		__attribute__((section(".probes"), used))
SEMAPHORE(push);
SEMAPHORE(pop);
SEMAPHORE(mark);
SEMAPHORE(counter);

PROBED void push(const char *name, const char *values)
{
	if (gpuprobe_push_semaphore)
		STAP_PROBE2(gpuprobe, push, name, values);
}

PROBED void pop(void)
{
	if (gpuprobe_pop_semaphore)
		STAP_PROBE(gpuprobe, pop);
}

int main(void)
{
	char values[64];

	protocol_begin();
	for (int i = 0; i < 20; i++) {
		snprintf(values, sizeof(values), "step=%d phase=warm up", i);
		push("step", values);
		push("inner", NULL);
		STAP_PROBE2(gpuprobe, mark, "here", values);
		pop();
		pop();
		STAP_PROBE2(gpuprobe, counter, "loss", -(long)i);
	}
	protocol_count("step", 20);
	protocol_end();
	return 0;
}
