/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the library finds the driver, and what calls return where it cannot, or where a knob says so. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cupti_sim.h"

#define DEFAULT_DRIVER 13000

struct sim_state sim_state = {.shared = SIM_SHARED_OPEN};
pthread_mutex_t sim_cupti_lock = PTHREAD_MUTEX_INITIALIZER;

/* Lazily, and never unloaded, as the real one does. */
static const struct sim_interface *find_driver(void)
{
	static pthread_mutex_t find_lock = PTHREAD_MUTEX_INITIALIZER;
	const struct sim_interface *(*table)(void);
	void *library;

	pthread_mutex_lock(&find_lock);
	if (!sim_state.driver) {
		library = dlopen("libcuda.so.1", RTLD_NOW);
		if (library && dlsym(library, "cuDeviceGet")) {
			*(void **)&table = dlsym(library, "simDriverTable");
			if (table && table()->version == SIM_INTERFACE_VERSION)
				sim_state.driver = table();
		}
	}
	pthread_mutex_unlock(&find_lock);
	return sim_state.driver;
}

uint64_t sim_cupti_knob(const char *name, uint64_t otherwise)
{
	const struct sim_interface *driver = sim_state.driver;

	return driver ? driver->knob(name, otherwise) : otherwise;
}

void sim_pause_ms(uint64_t milliseconds)
{
	struct timespec pause = {(time_t)(milliseconds / 1000),
				 (long)(milliseconds % 1000) * 1000000};

	while (milliseconds && nanosleep(&pause, &pause))
		;
}

/* The knob fail: function:code[,function:code...] */
static CUptiResult injected(const char *function)
{
	const char *text = sim_state.driver->knob_text("fail");
	size_t length = strlen(function);

	while (text && *text) {
		if (!strncmp(text, function, length) && text[length] == ':')
			return (CUptiResult)strtol(text + length + 1, NULL, 10);
		text = strchr(text, ',');
		text = text ? text + 1 : NULL;
	}
	return CUPTI_SUCCESS;
}

static __thread bool is_meanwhile;

static int no_library(struct dl_phdr_info *info, size_t size, void *unused)
{
	return 1;
}

static void *call_back(void *unused)
{
	is_meanwhile = true;
	dl_iterate_phdr(no_library, NULL);
	sim_buffer_exchange();
	return unused;
}

/* The knob meanwhile_ms=N: threads of the application and of CUPTI are not kept waiting by who calls it. */
static void go_on_meanwhile(const char *function)
{
	uint64_t limit_ms = is_meanwhile ? 0 : sim_cupti_knob("meanwhile_ms", 0);
	struct timespec limit;
	pthread_t thread;

	if (!limit_ms)
		return;
	clock_gettime(CLOCK_REALTIME, &limit);
	limit_ms += (uint64_t)limit.tv_nsec / 1000000;
	limit.tv_sec += (time_t)(limit_ms / 1000);
	limit.tv_nsec = (long)(limit_ms % 1000) * 1000000;
	if (pthread_create(&thread, NULL, call_back, NULL) ||
	    !pthread_timedjoin_np(thread, NULL, &limit))
		return;
	fprintf(stderr,
		"simulated CUPTI: %s was called with a lock held that a callback or the loader "
		"needs\n",
		function);
	abort();
}

static atomic_bool is_destroyed;

/* Its destructors run in exit(), while other threads go on. The knob destructor_ms=N: they take so long. */
__attribute__((destructor)) static void destroy(void)
{
	is_destroyed = true;
	sim_pause_ms(sim_cupti_knob("destructor_ms", 0));
}

static void check_destroyed(const char *function)
{
	if (!is_destroyed)
		return;
	fprintf(stderr,
		"simulated CUPTI: %s was called after the library's destructors: the real one may "
		"crash here\n",
		function);
	abort();
}

CUptiResult sim_gate(const char *function)
{
	unsigned code = sim_version()->code;

	check_destroyed(function);
	if (!find_driver()) {
		/* The real 13.2 recurses until its stack ends. */
		if (code == 13020)
			raise(SIGSEGV);
		return code < 13000 ? CUPTI_ERROR_NOT_INITIALIZED : CUPTI_ERROR_UNKNOWN;
	}
	/* A driver of an older major is not for this library. */
	if (sim_cupti_knob("driver_version", DEFAULT_DRIVER) / 1000 < code / 1000)
		return CUPTI_ERROR_NOT_INITIALIZED;
	/* After cuptiFinalize any call starts it anew. */
	if (sim_state.generation)
		sim_buffer_start();
	go_on_meanwhile(function);
	return injected(function);
}

static bool is_shared_v2(void)
{
	return sim_state.shared == SIM_SHARED_YES;
}

/* As the code of 13.3.75 has it; 13.2.86 looks at who shares alone. */
CUptiResult sim_gate_old(const char *function)
{
	CUptiResult result = sim_gate(function);

	if (result)
		return result;
	if (sim_version()->code < 13030)
		return is_shared_v2() ? CUPTI_ERROR_NOT_COMPATIBLE : CUPTI_SUCCESS;
	if (sim_state.family == SIM_FAMILY_NEW)
		return CUPTI_ERROR_NOT_COMPATIBLE;
	sim_state.family = SIM_FAMILY_OLD;
	sim_state.old_was_called = true;
	return CUPTI_SUCCESS;
}

CUptiResult sim_gate_new(const char *function, CUpti_SubscriberHandle subscriber,
			 unsigned *ret_number)
{
	struct sim_subscriber *found = (struct sim_subscriber *)subscriber;
	CUptiResult result = sim_gate(function);

	if (result)
		return result;
	if (sim_version()->code >= 13030) {
		if (sim_state.family == SIM_FAMILY_OLD)
			return CUPTI_ERROR_NOT_COMPATIBLE;
		sim_state.family = SIM_FAMILY_NEW;
	}
	if (found < sim_state.subscribers || found >= sim_state.subscribers + SIM_SUBSCRIBERS ||
	    !found->is_active)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*ret_number = (unsigned)(found - sim_state.subscribers);
	return CUPTI_SUCCESS;
}

CUptiResult sim_gate_free(const char *function)
{
	unsigned code = sim_version()->code;

	if (code >= 13020)
		return sim_gate(function);
	check_destroyed(function);
	if (!sim_state.driver)
		return CUPTI_SUCCESS;
	go_on_meanwhile(function);
	return injected(function);
}

CUptiResult sim_attach(void)
{
	CUptiResult result = CUPTI_SUCCESS;

	pthread_mutex_lock(&sim_cupti_lock);
	if (!sim_state.is_attached) {
		/* Another copy of the library is at work in this process. */
		if (sim_state.driver->attach(&sim_tools))
			result = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
		else
			sim_state.is_attached = true;
	}
	pthread_mutex_unlock(&sim_cupti_lock);
	return result;
}

void sim_reset(void)
{
	for (unsigned kind = 0; kind < SIM_MAX_KINDS; kind++)
		sim_state.kinds[kind] = false;
	memset(sim_state.api_on, 0, sizeof(sim_state.api_on));
	memset(sim_state.callbacks, 0, sizeof(sim_state.callbacks));
	memset(sim_state.subscribers, 0, sizeof(sim_state.subscribers));
	sim_state.shared = SIM_SHARED_OPEN;
	sim_state.family = SIM_FAMILY_NONE;
	sim_state.old_was_called = false;
	sim_state.session = 0;
	sim_state.correlation = 0;
	sim_state.generation++;
	sim_state.is_attached = false;
	sim_state.latency_timestamps = false;
	sim_state.event_timestamps = false;
	sim_state.thread_id_type = CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT;
	sim_clock_reset();
	sim_buffer_reset();
}
