/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cuda/cupti_version.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/root_file.h"
#include "base/cleanup.h"
#include "base/path.h"

#define TOOLKIT_LEVELS	 6
#define TOOLKIT_BYTES	 65536
#define CUDA_MAJOR_FIRST 11
#define CUDA_MAJOR_LAST	 99

static u32 join(unsigned major, unsigned minor)
{
	return major * 1000 + minor * 10;
}

u32 cupti_version_of_driver(const char *driver)
{
#define DRIVER(branch, cuda) {branch, cuda},
	static const struct {
		u32 branch, cuda;
	} drivers[] = {
#include "cuda/cuda_drivers.def"
	};
#undef DRIVER
	unsigned long branch = strtoul(driver, NULL, 10);
	u32 cuda = 0;

	for (size_t i = 0; i < ARRAY_SIZE(drivers) && drivers[i].branch <= branch; i++)
		cuda = drivers[i].cuda;
	return cuda;
}

static u32 version_of_release(unsigned year, unsigned number)
{
#define RELEASE(year, number, cuda) {year, number, cuda},
	static const struct {
		u32 year, number, cuda;
	} releases[] = {
#include "cuda/cupti_releases.def"
	};
#undef RELEASE
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++)
		if (releases[i].year == year && releases[i].number == number)
			return releases[i].cuda;
	return 0;
}

/* libcupti.so.11.8, .2024.3.2, .13 */
static struct cupti_version of_name(const char *path)
{
	const char *name = path_base_name(path);
	unsigned first = 0, second = 0;
	int count = sscanf(name, "libcupti.so.%u.%u", &first, &second);

	if (count == 2 && first > CUDA_MAJOR_LAST)
		return (struct cupti_version){version_of_release(first, second), true};
	if (count < 1 || first < CUDA_MAJOR_FIRST || first > CUDA_MAJOR_LAST || second > 99)
		return (struct cupti_version){0, false};
	return (struct cupti_version){join(first, second), count == 2};
}

/* A toolkit's version.json: "cuda_cupti" : {"name" : ..., "version" : "13.0.85"} */
static u32 of_toolkit(int root_fd, const char *folder)
{
	_cleanup_free_ char *content = calloc(1, TOOLKIT_BYTES);
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	unsigned major, minor;
	const char *found;

	snprintf(path, sizeof(path), "%.4000s/version.json", folder);
	fd = root_file_open(root_fd, path, O_RDONLY | O_NONBLOCK);
	if (fd < 0 || !content || read(fd, content, TOOLKIT_BYTES - 1) <= 0)
		return 0;
	found = strstr(content, "\"cuda_cupti\"");
	found = found ? strstr(found, "\"version\"") : NULL;
	if (!found || sscanf(found, "\"version\" : \"%u.%u", &major, &minor) != 2)
		return 0;
	return join(major, minor);
}

struct wheel {
	u32 major; /* that is looked for */
	u32 version;
};

/* nvidia_cuda_cupti_cu12-12.6.80.dist-info */
static int of_wheel(void *data, const char *path)
{
	const char *dash = strrchr(path_base_name(path), '-');
	unsigned major, minor;
	struct wheel *wheel = data;

	/* The last dash but one: "dist-info" has one too. */
	while (dash && dash > path && sscanf(dash, "-%u.%u", &major, &minor) != 2)
		for (dash--; dash > path && *dash != '-' && *dash != '/'; dash--)
			;
	if (dash && dash > path && major == wheel->major)
		wheel->version = join(major, minor);
	return 0;
}

static u32 of_site_packages(int root_fd, const char *folder, u32 major)
{
	const char *name = path_base_name(folder);
	struct wheel wheel = {.major = major};
	char pattern[PATH_MAX];

	if (strcmp(name, "site-packages") && strcmp(name, "dist-packages"))
		return 0;
	snprintf(pattern, sizeof(pattern), "%.4000s/nvidia_cuda_cupti*.dist-info", folder);
	root_file_match(root_fd, pattern, of_wheel, &wheel);
	return wheel.version;
}

/* cuda-12.6 */
static u32 of_folder(const char *folder)
{
	const char *dash = strrchr(path_base_name(folder), '-');
	unsigned major, minor;

	return dash && sscanf(dash, "-%u.%u", &major, &minor) == 2 ? join(major, minor) : 0;
}

struct cupti_version cupti_version_of_file(int root_fd, const char *path)
{
	struct cupti_version by_name = {0};
	char folder[PATH_MAX];

	if (!root_file_real_path(root_fd, path, folder, sizeof(folder)))
		by_name = of_name(folder);
	else
		snprintf(folder, sizeof(folder), "%s", path);
	if (!by_name.version)
		by_name = of_name(path);
	for (int i = 0; i < TOOLKIT_LEVELS && by_name.version && !by_name.minor_known; i++) {
		char *slash = strrchr(folder, '/');
		u32 found;

		if (!slash || slash == folder)
			break;
		*slash = '\0';
		found = of_toolkit(root_fd, folder);
		if (!found)
			found = of_site_packages(root_fd, folder, by_name.version / 1000);
		if (!found)
			found = of_folder(folder);
		if (found / 1000 == by_name.version / 1000)
			by_name = (struct cupti_version){found, true};
	}
	return by_name;
}
