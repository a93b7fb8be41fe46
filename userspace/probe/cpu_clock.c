/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/cpu_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"

#define CPUS_ONLINE    "/sys/devices/system/cpu/online"
#define CPUS_TICK_FREE "/sys/devices/system/cpu/nohz_full"
#define CPUS_MAX       8192

/* That many standard deviations are chance, and so many more where few are expected. */
#define DEVIATIONS_OF_CHANCE 3
#define STRIKES_OF_CHANCE    10

/* "0-3,8,10-11" as flags, one for each CPU; what is no list ("(null)") names none. How many. */
static size_t parse_list(const char *text, bool cpus[CPUS_MAX])
{
	size_t count = 0;

	while (*text >= '0' && *text <= '9') {
		char *end;
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last && first < CPUS_MAX; first++)
			count += !cpus[first], cpus[first] = true;
		text = *end == ',' ? end + 1 : end;
	}
	return count;
}

/* A file that is not there names none. */
static size_t read_list(const char *path, bool cpus[CPUS_MAX])
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[4096];
	ssize_t size = fd < 0 ? -1 : file_read_at(fd, text, sizeof(text) - 1, 0);

	if (size < 0)
		return 0;
	text[size] = '\0';
	return parse_list(text, cpus);
}

int cpu_clock_cpus_read(struct cpu_clock_cpus *ret_cpus, struct err *err)
{
	_cleanup_free_ bool *online = calloc(CPUS_MAX, sizeof(*online));
	_cleanup_free_ bool *tick_free = calloc(CPUS_MAX, sizeof(*tick_free));
	_cleanup_free_ u32 *numbers = calloc(CPUS_MAX, sizeof(*numbers));
	size_t count = 0, online_count, free_count;

	if (!online || !tick_free || !numbers)
		return err_errno(err, -ENOMEM, "can't list the CPUs");
	online_count = read_list(CPUS_ONLINE, online);
	free_count = read_list(CPUS_TICK_FREE, tick_free);
	if (!online_count)
		return err_set(err, -ENOENT, "can't take samples: %s names no CPU", CPUS_ONLINE);
	for (size_t i = 0; i < CPUS_MAX; i++)
		if (online[i] && !tick_free[i])
			numbers[count++] = (u32)i;
	*ret_cpus = (struct cpu_clock_cpus){take_pointer(&numbers), count,
					    !free_count && online_count > CPU_CLOCK_CPUS_MAX};
	return 0;
}

void cpu_clock_cpus_free(struct cpu_clock_cpus *cpus)
{
	free(cpus->numbers);
	*cpus = (struct cpu_clock_cpus){0};
}

int cpu_clock_open(const struct cpu_clock *clock, struct err *err)
{
	struct perf_event_attr event = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(event),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = clock->period_ns,
		.disabled = 1,
		.exclude_idle = 1,
		.inherit = clock->cpu < 0,
		.inherit_thread = clock->cpu < 0 && !clock->children,
	};
	int fd = (int)syscall(__NR_perf_event_open, &event, clock->cpu < 0 ? (int)clock->tid : -1,
			      clock->cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0)
		return fd;
	if (errno == EACCES || errno == EPERM)
		return err_set(err, -errno,
			       "can't take samples: the kernel refuses perf_event_open "
			       "(needed: CAP_PERFMON, or kernel.perf_event_paranoid below 1; a "
			       "seccomp filter may forbid it)");
	return err_errno(err, -errno, "can't take samples");
}

int cpu_clock_start(int fd)
{
	return ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) ? -errno : 0;
}

/* Strikes are independent of what runs: their number scatters by its square root at most. */
u64 cpu_clock_missed(u64 ran_ns, u64 period_ns, u64 taken)
{
	u64 expected = period_ns ? ran_ns / period_ns : 0;
	u64 explained = taken + expected / 10 + STRIKES_OF_CHANCE, beyond;

	if (expected <= explained)
		return 0;
	beyond = expected - explained;
	return beyond * beyond > DEVIATIONS_OF_CHANCE * DEVIATIONS_OF_CHANCE * expected
		       ? expected - taken
		       : 0;
}
