/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/cgroup.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"

const char *const cgroup_unified_roots[2] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

static bool has_controller(const char *controllers, const char *wanted)
{
	char copy[256], *rest = copy, *name;

	snprintf(copy, sizeof(copy), "%s", controllers);
	while ((name = strsep(&rest, ",")))
		if (!strcmp(name, wanted))
			return true;
	return false;
}

/* "4:cpu,cpuacct:/a/b", "0::/a/b" */
void cgroup_each(u32 pid, const char *controller,
		 void (*found)(void *data, bool unified, const char *group), void *data)
{
	char path[64], line[PATH_MAX + 256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		char *controllers = strchr(line, ':'),
		     *group = controllers ? strchr(controllers + 1, ':') : NULL;
		bool unified = !strncmp(line, "0::", 3);

		if (!group)
			continue;
		*group++ = 0;
		group[strcspn(group, "\n")] = 0;
		if (unified || has_controller(controllers + 1, controller))
			found(data, unified, group);
	}
	if (file)
		fclose(file);
}

static bool has_line(const char *root, const char *group, const char *name, const char *wanted)
{
	char path[2 * PATH_MAX], line[64];
	bool has = false;
	FILE *file;

	snprintf(path, sizeof(path), "%s%s/%s", root, group, name);
	file = fopen(path, "re");
	while (file && !has && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		has = !strcmp(line, wanted);
	}
	if (file)
		fclose(file);
	return has;
}

static void look_frozen(void *data, bool unified, const char *group)
{
	bool *frozen = data;

	/* FREEZING, or asked for and not yet so: a thread of it is in a wait that nothing interrupts, of a driver, say; the others stand. */
	if (!unified)
		*frozen |= has_line("/sys/fs/cgroup/freezer", group, "freezer.state", "FROZEN") ||
			   has_line("/sys/fs/cgroup/freezer", group, "freezer.state", "FREEZING");
	for (size_t i = 0; unified && i < ARRAY_SIZE(cgroup_unified_roots); i++)
		*frozen |= has_line(cgroup_unified_roots[i], group, "cgroup.events", "frozen 1") ||
			   has_line(cgroup_unified_roots[i], group, "cgroup.freeze", "1");
}

bool cgroup_is_frozen(u32 pid)
{
	bool frozen = false;

	cgroup_each(pid, "freezer", look_frozen, &frozen);
	return frozen;
}
