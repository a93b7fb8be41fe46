/* SPDX-License-Identifier: MIT */
#include "clock.h"

#include "system.h"

#define PAIRS 16
/* Between reading two clocks one after the other; a thread may be preempted there. */
#define TOLERANCE_NS (2 * NS_PER_MILLISECOND)
/* A clock that is read so much elsewhere than before has been set: two readings are nearer, also under preemption. */
#define STEP_NS (s64)(2 * NS_PER_MILLISECOND)

static u64 distance(u64 a, u64 b)
{
	return a > b ? a - b : b - a;
}

enum clock_kind clock_examine(clock_reader read, void *data)
{
	u64 cupti;

	/* A preemption between two readings makes any clock look foreign once, not eight times. */
	for (int i = 0; i < 8; i++) {
		u64 before_ns = system_now_ns(), after_ns;

		if (!read(data, &cupti))
			return CLOCK_UNREADABLE;
		after_ns = system_now_ns();
		if (cupti >= before_ns && cupti <= after_ns)
			return CLOCK_IS_MONOTONIC;
		if (distance(cupti, system_realtime_ns()) < TOLERANCE_NS)
			return CLOCK_IS_REALTIME;
	}
	return CLOCK_IS_FOREIGN;
}

static bool read_tightest(clock_reader read, void *data, struct clock_point *ret_point)
{
	u64 best_ns = ~0ULL;

	for (int i = 0; i < PAIRS; i++) {
		u64 before_ns = system_now_ns(), after_ns, cupti;

		if (!read(data, &cupti))
			return false;
		after_ns = system_now_ns();
		if (after_ns - before_ns < best_ns) {
			best_ns = after_ns - before_ns;
			*ret_point = (struct clock_point){cupti, before_ns + best_ns / 2, best_ns};
		}
	}
	return true;
}

/* Relative to the first point, so that a double has all digits. */
static double relative(u64 value, u64 origin)
{
	return value >= origin ? (double)(value - origin) : -(double)(origin - value);
}

static s64 offset_of(const struct clock_point *point)
{
	return (s64)(point->monotonic_ns - point->cupti);
}

/* By the best of the points of before it is used, until somebody sets CLOCK_REALTIME. */
static void follow_realtime(struct clock *clock, const struct clock_point *point)
{
	s64 apart = clock->point_count ? offset_of(point) - offset_of(&clock->points[0]) : 0;

	if (!clock->point_count || apart > STEP_NS || apart < -STEP_NS ||
	    (!clock->in_use && point->apart_ns < clock->points[0].apart_ns)) {
		clock->points[0] = *point;
		clock->point_count = 1;
		if (!clock->in_use)
			clock->residual_ns = 0;
		clock->offset_ns = 0;
		clock->slope = 1;
		return;
	}
	apart = apart < 0 ? -apart : apart;
	if (apart > clock->residual_ns)
		clock->residual_ns = apart;
}

/* Least squares. */
static void fit(struct clock *clock)
{
	const struct clock_point *origin = &clock->points[0];
	double sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0, n = clock->point_count;
	double spread, residual = 0;

	for (u32 i = 0; i < clock->point_count; i++) {
		double x = relative(clock->points[i].cupti, origin->cupti);
		double y = relative(clock->points[i].monotonic_ns, origin->monotonic_ns);

		sum_x += x;
		sum_y += y;
		sum_xx += x * x;
		sum_xy += x * y;
	}
	spread = n * sum_xx - sum_x * sum_x;
	clock->slope = spread > 0 ? (n * sum_xy - sum_x * sum_y) / spread : 1;
	clock->offset_ns = (sum_y - clock->slope * sum_x) / n;
	for (u32 i = 0; i < clock->point_count; i++) {
		double x = relative(clock->points[i].cupti, origin->cupti);
		double y = relative(clock->points[i].monotonic_ns, origin->monotonic_ns);
		double error = clock->offset_ns + clock->slope * x - y;

		error = error < 0 ? -error : error;
		residual = error > residual ? error : residual;
	}
	clock->residual_ns = residual < 4e9 ? (u32)residual : 4000000000U;
}

void clock_take_point(struct clock *clock, clock_reader read, void *data)
{
	struct clock_point point;

	if (!read_tightest(read, data, &point))
		return;
	if (clock->realtime) {
		follow_realtime(clock, &point);
		return;
	}
	if (clock->point_count < CLOCK_POINTS) {
		clock->points[clock->point_count++] = point;
	} else {
		clock->next = clock->next % (CLOCK_POINTS - 1) + 1;
		clock->points[clock->next] = point;
	}
	fit(clock);
}

static u64 by_line(const struct clock *clock, u64 cupti)
{
	double ns;

	if (clock->realtime)
		return cupti + offset_of(&clock->points[0]);
	ns = clock->offset_ns + clock->slope * relative(cupti, clock->points[0].cupti);
	if (ns < -(double)clock->points[0].monotonic_ns || ns > 9e18)
		return 0;
	return clock->points[0].monotonic_ns + (s64)ns;
}

u64 clock_convert(struct clock *clock, u64 cupti)
{
	u64 now_ns;

	if (!clock->fitted || !cupti || !clock->point_count)
		return cupti;
	clock->in_use = true;
	if (clock->unsure) {
		now_ns = system_now_ns();
		clock->fitted = distance(by_line(clock, cupti), now_ns) < distance(cupti, now_ns);
		clock->unsure = false;
	}
	return clock->fitted ? by_line(clock, cupti) : cupti;
}
