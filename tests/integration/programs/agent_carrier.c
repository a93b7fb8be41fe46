/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preloaded into a target: runs the agent in a thread of its own, as the injector would, once for each ring whose
 * inherited file descriptor stands in AGENT_RINGS, one after the other. With AGENT_INJECTED as the driver would.
 * Not before the file AGENT_GO is there.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../gpu/base/types.h"
#include "../../../gpu/shared.h"

static void run_once(const char *library, int inherited)
{
	struct agent_start start = {.start_bytes = sizeof(start),
				    .dlopen_address = (u64)dlopen,
				    .dlsym_address = (u64)dlsym,
				    .dlclose_address = (u64)dlclose};
	int (*run)(const struct agent_start *start);
	char path[64];
	void *handle;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", inherited);
	start.ring_fd = open(path, O_RDWR | O_CLOEXEC);
	handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (start.ring_fd < 0 || !handle) {
		fprintf(stderr, "agent_carrier: %s\n", handle ? path : dlerror());
		return;
	}
	run = (int (*)(const struct agent_start *))dlsym(handle, AGENT_ENTRY);
	if (run(&start))
		dlclose(handle);
	close(inherited);
}

static void *carry(void *data)
{
	char *rings = data, *rest;
	const char *go = getenv("AGENT_GO");

	while (go && access(go, F_OK))
		usleep(1000);
	for (char *ring = strtok_r(rings, ",", &rest); ring; ring = strtok_r(NULL, ",", &rest))
		run_once(getenv("AGENT_LIBRARY"), atoi(ring));
	return NULL;
}

/* As the driver does with the library of CUDA_INJECTION64_PATH. */
static void inject(const char *library)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	int (*initialize)(void) =
		handle ? (int (*)(void))dlsym(handle, "InitializeInjection") : NULL;

	if (!initialize || initialize() != 1)
		fprintf(stderr, "agent_carrier: %s\n", initialize ? "refused" : dlerror());
}

__attribute__((constructor)) static void start(void)
{
	const char *rings = getenv("AGENT_RINGS");
	sigset_t all, before;
	pthread_t thread;

	unsetenv("LD_PRELOAD");
	if (!rings)
		return;
	if (getenv("AGENT_INJECTED")) {
		inject(getenv("AGENT_LIBRARY"));
		return;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_create(&thread, NULL, carry, strdup(rings));
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
