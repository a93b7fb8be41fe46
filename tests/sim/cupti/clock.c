/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CUPTI's clock is CLOCK_REALTIME unless a function is registered. Device times are brought to it by the line through
 * two pairs of readings, one of the session's begin and one of now.
 */
#include <time.h>
#include "chosen.h"

#define PAIR_TRIES    8
#define CORRUPTION_NS 100000000000000ull
#define REFRESH_NS    10000000ull

struct pair {
	uint64_t monotonic_ns;
	uint64_t clock_ns;
	uint64_t width_ns;
};

static CUpti_TimestampCallbackFunc callback;
static unsigned registrations;
static bool is_late;
static unsigned sessions;
static atomic_uint corrupt_left;
static pthread_mutex_t pair_lock = PTHREAD_MUTEX_INITIALIZER;
static struct pair first, last;

static uint64_t read_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

uint64_t sim_clock_now(void)
{
	return callback ? callback() : read_clock(CLOCK_REALTIME);
}

/* The tightest of some readings. A callback that reads the same clock gives a time between the two, and device times that
 * are exact. */
static struct pair take_pair(void)
{
	struct pair best = {.width_ns = UINT64_MAX};

	for (int i = 0; i < PAIR_TRIES; i++) {
		uint64_t before_ns = read_clock(CLOCK_MONOTONIC);
		uint64_t clock_ns = sim_clock_now();
		uint64_t width_ns = read_clock(CLOCK_MONOTONIC) - before_ns;

		if (width_ns < best.width_ns)
			best = (struct pair){before_ns + width_ns / 2, clock_ns, width_ns};
		if (clock_ns >= before_ns && clock_ns <= before_ns + width_ns)
			return (struct pair){clock_ns, clock_ns, width_ns};
	}
	return best;
}

uint64_t sim_clock_device(uint64_t monotonic_ns)
{
	uint64_t result;

	pthread_mutex_lock(&pair_lock);
	if (!first.monotonic_ns)
		first = last = take_pair();
	if (monotonic_ns > last.monotonic_ns + REFRESH_NS)
		last = take_pair();
	if (last.monotonic_ns == first.monotonic_ns) {
		result = first.clock_ns + (monotonic_ns - first.monotonic_ns);
	} else {
		double slope = (double)(int64_t)(last.clock_ns - first.clock_ns) /
			       (double)(last.monotonic_ns - first.monotonic_ns);
		double since = (double)(int64_t)(monotonic_ns - first.monotonic_ns);

		result = first.clock_ns + (monotonic_ns - first.monotonic_ns) +
			 (uint64_t)(int64_t)(since * (slope - 1));
	}
	pthread_mutex_unlock(&pair_lock);
	return result;
}

void sim_clock_session_begin(void)
{
	sessions++;
	pthread_mutex_lock(&pair_lock);
	first = last = take_pair();
	pthread_mutex_unlock(&pair_lock);
	/* k-th session: k records are off. */
	atomic_store(&corrupt_left, registrations > 1 || is_late ? sessions : 0);
}

uint64_t sim_clock_error(void)
{
	unsigned left = atomic_load(&corrupt_left);

	while (left)
		if (atomic_compare_exchange_weak(&corrupt_left, &left, left - 1))
			return CORRUPTION_NS;
	return 0;
}

void sim_clock_reset(void)
{
	callback = NULL;
	registrations = 0;
	is_late = false;
	sessions = 0;
	first = last = (struct pair){0};
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc function)
{
	CUptiResult result = sim_gate_old(__func__);
	bool is_enabled = false;

	if (result)
		return result;
	if (!function)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (sim_chosen_by_anybody())
		return CUPTI_ERROR_NOT_COMPATIBLE;
	for (unsigned kind = 0; kind < SIM_MAX_KINDS; kind++)
		is_enabled |= sim_state.kinds[kind];
	if (is_enabled && sim_version()->code >= 13040)
		return CUPTI_ERROR_INVALID_OPERATION;
	registrations++;
	is_late |= is_enabled;
	callback = function;
	if (is_enabled)
		atomic_store(&corrupt_left, sessions ? sessions : 1);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
	CUptiResult result =
		sim_version()->code < 13030 ? sim_gate_free(__func__) : sim_gate_old(__func__);

	if (!result)
		*timestamp = sim_clock_now();
	return result;
}
