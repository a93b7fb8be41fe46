/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/throttled.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "process/cgroup.h"
#include "base/array.h"
#include "base/clock.h"

/* Where those of version 1 may be mounted. */
static const char *const legacy[2] = {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"};
_Static_assert(ARRAY_SIZE(legacy) == ARRAY_SIZE(cgroup_unified_roots), "gone through together");

static bool add_stat(const char *path, struct throttled *sum)
{
	FILE *file = fopen(path, "re");
	char line[128];
	unsigned long long value;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "nr_throttled %llu", &value) == 1)
			sum->times += value;
		else if (sscanf(line, "throttled_usec %llu", &value) == 1)
			sum->ns += value * NS_PER_MICROSECOND;
		else if (sscanf(line, "throttled_time %llu", &value) == 1)
			sum->ns += value;
	}
	if (file)
		fclose(file);
	return file != NULL;
}

/* Of a cgroup, "/a/b", and of those above it. False: it is not there. */
static bool add_all(const char *root, const char *cgroup, struct throttled *sum)
{
	char group[PATH_MAX], path[2 * PATH_MAX];
	bool found = false;

	snprintf(group, sizeof(group), "%s", cgroup);
	for (char *end = group + strlen(group); end; end = strrchr(group, '/')) {
		*end = 0;
		if (!*group)
			break;
		snprintf(path, sizeof(path), "%s%s/cpu.stat", root, group);
		found |= add_stat(path, sum);
	}
	return found;
}

static void add_group(void *data, bool is_unified, const char *group)
{
	/* One name may be a link to the other. */
	for (size_t i = 0; i < ARRAY_SIZE(legacy); i++)
		if (add_all(is_unified ? cgroup_unified_roots[i] : legacy[i], group, data))
			return;
}

struct throttled throttled_read(u32 pid)
{
	struct throttled sum = {0};

	cgroup_each(pid, "cpu", add_group, &sum);
	return sum;
}
