/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/throttled.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"

/* Where the cgroups of the controller are mounted, as systemd and containers have it. */
static const char *const unified[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
static const char *const legacy[] = {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"};

static void add_stat(const char *path, struct throttled *sum)
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
}

/* Of a cgroup, "/a/b", and of those above it. */
static void add_all(const char *root, const char *cgroup, struct throttled *sum)
{
	char group[PATH_MAX], path[2 * PATH_MAX];

	snprintf(group, sizeof(group), "%s", cgroup);
	for (char *end = group + strlen(group); end; end = strrchr(group, '/')) {
		*end = 0;
		if (!*group)
			break;
		snprintf(path, sizeof(path), "%s%s/cpu.stat", root, group);
		add_stat(path, sum);
	}
}

static bool has_cpu(const char *controllers)
{
	char copy[256], *rest = copy, *name;

	snprintf(copy, sizeof(copy), "%s", controllers);
	while ((name = strsep(&rest, ",")))
		if (!strcmp(name, "cpu"))
			return true;
	return false;
}

/* "4:cpu,cpuacct:/a/b", "0::/a/b" */
struct throttled throttled_read(u32 pid)
{
	struct throttled sum = {0};
	char path[64], line[PATH_MAX + 256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		char *controllers = strchr(line, ':'),
		     *group = controllers ? strchr(controllers + 1, ':') : NULL;
		bool is_unified = !strncmp(line, "0::", 3);

		if (!group)
			continue;
		*group++ = 0;
		group[strcspn(group, "\n")] = 0;
		if (!is_unified && !has_cpu(controllers + 1))
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(unified); i++)
			add_all(is_unified ? unified[i] : legacy[i], group, &sum);
	}
	if (file)
		fclose(file);
	return sum;
}
