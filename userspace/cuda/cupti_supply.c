/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cuda/cupti_supply.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cuda/cupti_version.h"
#include "process/library_file.h"
#include "process/maps.h"
#include "process/proc_file.h"
#include "process/root_file.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/path.h"

#define FILES_OF_ONE "libcupti.so.*"

/* Where toolkits, distributions and wheels put it. */
static const char *const patterns[] = {
	"/usr/local/cuda*/lib64/" FILES_OF_ONE,
	"/usr/local/cuda*/targets/x86_64-linux/lib/" FILES_OF_ONE,
	"/usr/local/cuda*/extras/CUPTI/lib64/" FILES_OF_ONE,
	"/opt/cuda/lib64/" FILES_OF_ONE,
	"/opt/cuda/extras/CUPTI/lib64/" FILES_OF_ONE,
	"/opt/nvidia/hpc_sdk/Linux_x86_64/*/cuda/*/extras/CUPTI/lib64/" FILES_OF_ONE,
	"/usr/lib/x86_64-linux-gnu/" FILES_OF_ONE,
	"/usr/lib64/" FILES_OF_ONE,
	"/usr/lib/cuda/lib64/" FILES_OF_ONE,
	"/opt/conda/lib/" FILES_OF_ONE,
	"/usr/local/lib/python3*/site-packages/nvidia/*/lib/" FILES_OF_ONE,
	"/usr/local/lib/python3*/dist-packages/nvidia/*/lib/" FILES_OF_ONE,
	"/usr/lib/python3*/site-packages/nvidia/*/lib/" FILES_OF_ONE,
};

/* Beside a library of CUDA's that is mapped, from its folder. */
static const char *const neighbours[] = {
	"/" FILES_OF_ONE,
	"/../extras/CUPTI/lib64/" FILES_OF_ONE,
	"/../../cuda_cupti/lib/" FILES_OF_ONE,
};

/* How well a version goes with a driver, best first. */
enum fit { FIT_SAME_MAJOR, FIT_SAME_MAJOR_NEWER, FIT_LOWER_MAJOR, FIT_NONE };

struct search {
	const struct target *target;
	int root_fd;
	enum cupti_place place;
	u32 wanted; /* version of the driver, or what is known of it; 0: nothing */
	struct cupti_supply best;
	enum fit best_fit;
	u32 too_new; /* the newest that was passed over for its major number */
};

static enum fit fit_of(u32 version, u32 wanted)
{
	if (version < CUPTI_VERSION_OLDEST && version != CUPTI_VERSION_OLDEST / 1000 * 1000)
		return FIT_NONE;
	if (!wanted)
		return FIT_SAME_MAJOR;
	if (version / 1000 != wanted / 1000)
		return version < wanted ? FIT_LOWER_MAJOR : FIT_NONE;
	return version <= wanted ? FIT_SAME_MAJOR : FIT_SAME_MAJOR_NEWER;
}

static int consider(void *data, const char *path)
{
	struct search *search = data;
	struct cupti_supply found = {.place = search->place,
				     .by_memfd = search->place == CUPTI_PLACE_HOST};
	_cleanup_close_ int fd = root_file_open(search->root_fd, path, O_PATH);
	struct stat status;
	enum fit fit;

	if (fd < 0 || fstat(fd, &status) || !S_ISREG(status.st_mode) ||
	    root_file_real_path(search->root_fd, path, found.path, sizeof(found.path)))
		return 0;
	found.version = cupti_version_of_file(search->root_fd, path);
	fit = fit_of(found.version.version, search->wanted);
	if (fit == FIT_NONE && found.version.version > search->too_new)
		search->too_new = found.version.version;
	if (fit == FIT_NONE || fit > search->best_fit)
		return 0;
	if (fit == search->best_fit && (search->best.place < found.place ||
					search->best.version.version >= found.version.version))
		return 0;
	search->best = found;
	search->best_fit = fit;
	return 0;
}

static void search_patterns(struct search *search, const char *folder, const char *const *list,
			    size_t count)
{
	char pattern[PATH_MAX];

	for (size_t i = 0; i < count; i++)
		if (snprintf(pattern, sizeof(pattern), "%s%s", folder, list[i]) <
		    (int)sizeof(pattern))
			root_file_match(search->root_fd, pattern, consider, search);
}

/* .../site-packages/ of a mapped file; 0: none. */
static size_t packages_length(const char *path)
{
	static const char *const names[] = {"/site-packages/", "/dist-packages/"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *found = strstr(path, names[i]);

		if (found)
			return found - path + strlen(names[i]) - 1;
	}
	return 0;
}

#define FOLDERS_MAX 16

/* The folders with Python packages that something is mapped from. */
static void search_packages(struct search *search)
{
	static const char *const wheels[] = {"/nvidia/*/lib/" FILES_OF_ONE};
	_cleanup_free_ char *maps = NULL;
	char *text, folders[FOLDERS_MAX][256];
	struct maps_line line;
	size_t size, count = 0, i;

	if (proc_file_read(search->target->proc_fd, "maps", &maps, &size))
		return;
	text = maps;
	while (count < FOLDERS_MAX && maps_next(&text, &line)) {
		size_t length = *line.path == '/' ? packages_length(line.path) : 0;

		if (!length || length >= sizeof(folders[0]))
			continue;
		for (i = 0; i < count; i++)
			if (!strncmp(folders[i], line.path, length) && !folders[i][length])
				break;
		if (i < count)
			continue;
		snprintf(folders[count++], sizeof(folders[0]), "%.*s", (int)length, line.path);
		search_patterns(search, folders[count - 1], wheels, ARRAY_SIZE(wheels));
	}
}

static void search_neighbours(struct search *search, const char *library)
{
	char folder[256];
	char *slash;

	snprintf(folder, sizeof(folder), "%s", library);
	slash = strrchr(folder, '/');
	if (!slash)
		return;
	*slash = '\0';
	search_patterns(search, folder, neighbours, ARRAY_SIZE(neighbours));
}

/* ---- whose files are whose ---- */

static bool same_root(const struct target *target, int root_fd, const char *host_root)
{
	struct stat theirs, ours;

	return !target->other_mount_namespace && !fstat(root_fd, &theirs) &&
	       !stat(host_root, &ours) && theirs.st_dev == ours.st_dev &&
	       theirs.st_ino == ours.st_ino;
}

/* Would the target's user get to the file? The supplementary groups do not count: in doubt it is handed over. */
static bool target_may_read(const struct target *target, int root_fd, const char *path)
{
	_cleanup_free_ char *status = NULL;
	u64 uid, gid;
	int fd;

	if (proc_file_read(target->proc_fd, "status", &status, NULL) ||
	    !proc_status_number(status, "Uid", 10, &uid) ||
	    !proc_status_number(status, "Gid", 10, &gid))
		return false;
	setfsgid(gid);
	setfsuid(uid);
	fd = root_file_open(root_fd, path, O_RDONLY | O_NONBLOCK);
	setfsuid(geteuid());
	setfsgid(getegid());
	cleanup_close(&fd);
	return fd >= 0;
}

static bool is_file(int root_fd, const char *path)
{
	_cleanup_close_ int fd = root_file_open(root_fd, path, O_PATH);
	struct stat status;

	return fd >= 0 && !fstat(fd, &status) && S_ISREG(status.st_mode);
}

/* As the target sees it, if it does; else as we do. */
static int take_named(const struct target *target, int root_fd, const char *named,
		      struct cupti_supply *supply, struct err *err)
{
	_cleanup_close_ int ours_fd = open("/", O_PATH | O_CLOEXEC);
	_cleanup_free_ char *absolute = realpath(named, NULL);
	const char *path = same_root(target, root_fd, "/") && absolute ? absolute : named;

	supply->place = CUPTI_PLACE_NAMED;
	if (*path == '/' && is_file(root_fd, path) && target_may_read(target, root_fd, path)) {
		supply->version = cupti_version_of_file(root_fd, path);
	} else if (absolute && is_file(ours_fd, absolute)) {
		path = absolute;
		supply->by_memfd = true;
		supply->version = cupti_version_of_file(ours_fd, path);
	} else {
		return err_set(err, -ENOENT,
			       "--cupti %s: there is no such file, neither here nor as %s (%u) "
			       "sees it",
			       named, target->comm, target->pid);
	}
	if (strlen(path) >= sizeof(supply->path))
		return err_set(err, -ENAMETOOLONG, "--cupti %s: the path is longer than %zu bytes",
			       named, sizeof(supply->path) - 1);
	strcpy(supply->path, path);
	return 0;
}

static int search_all(const struct target *target, const struct gpu_target *gpu, int root_fd,
		      const char *host_root, struct search *search)
{
	_cleanup_close_ int ours_fd = -1;

	search->target = target;
	search->root_fd = root_fd;
	search->place = CUPTI_PLACE_TARGET;
	search->best_fit = FIT_NONE;
	search_packages(search);
	search_neighbours(search, gpu->runtime_path);
	search_neighbours(search, gpu->driver_path);
	search_patterns(search, "", patterns, ARRAY_SIZE(patterns));
	if (search->best.place && !target_may_read(target, root_fd, search->best.path))
		search->best.by_memfd = same_root(target, root_fd, host_root);
	if (same_root(target, root_fd, host_root))
		return 0;
	ours_fd = open(host_root, O_PATH | O_CLOEXEC);
	if (ours_fd < 0)
		return -errno;
	search->root_fd = ours_fd;
	search->place = CUPTI_PLACE_HOST;
	search_patterns(search, "", patterns, ARRAY_SIZE(patterns));
	return 0;
}

/* ---- what is said ---- */

static void format_version(u32 version, const char *unknown, char text[16])
{
	if (version)
		snprintf(text, 16, "%u.%u", version / 1000 % 1000, version % 1000 / 10);
	else
		snprintf(text, 16, "%s", unknown);
}

static void explain(struct cupti_supply *supply, u32 wanted, u32 too_new)
{
	static const char *const places[] = {
		[CUPTI_PLACE_MAPPED] = "mapped already",
		[CUPTI_PLACE_NAMED] = "--cupti",
		[CUPTI_PLACE_TARGET] = "a file of the target's",
		[CUPTI_PLACE_HOST] = "a file of the host's",
	};
	char driver[16], passed[16];

	format_version(supply->driver_version, "not known", driver);
	format_version(too_new, "", passed);
	if (supply->place)
		snprintf(supply->why, sizeof(supply->why), "%s%s; CUDA of the driver: %s%s",
			 places[supply->place],
			 supply->by_memfd ? ", handed over, because the target can't open it" : "",
			 driver,
			 supply->driver_version || !wanted ? "" : ", so by that of libcudart");
	else
		snprintf(supply->why, sizeof(supply->why),
			 "none was found that goes with the driver (CUDA %s)%s%s; name one: "
			 "--cupti PATH",
			 driver, too_new ? ", only one of CUDA " : "", passed);
}

int cupti_supply_choose(const struct target *target, const struct gpu_target *gpu,
			const char *named, const char *host_root, struct cupti_supply *ret_supply,
			struct err *err)
{
	_cleanup_close_ int root_fd =
		openat(target->proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct cupti_supply supply = {.driver_version =
					      cupti_version_of_driver(gpu->driver_version)};
	struct search search = {.wanted = supply.driver_version};
	unsigned runtime;
	int result = 0;

	if (root_fd < 0)
		return err_errno(err, -errno, "can't look at the files of %s (%u)", target->comm,
				 target->pid);
	/* A runtime runs on a driver that is no older. */
	if (!search.wanted &&
	    sscanf(path_base_name(gpu->runtime_path), "libcudart.so.%u", &runtime) == 1)
		search.wanted = runtime * 1000 + 990;
	if (*gpu->cupti_path) {
		supply.place = CUPTI_PLACE_MAPPED;
		snprintf(supply.path, sizeof(supply.path), "%s", gpu->cupti_path);
		supply.version = cupti_version_of_file(root_fd, supply.path);
	} else if (named) {
		result = take_named(target, root_fd, named, &supply, err);
	} else if (!search_all(target, gpu, root_fd, host_root, &search)) {
		search.best.driver_version = supply.driver_version;
		supply = search.best;
	}
	if (result)
		return result;
	explain(&supply, search.wanted, search.too_new);
	*ret_supply = supply;
	return 0;
}

int cupti_supply_check(const struct cupti_supply *supply, const struct target *target,
		       struct err *err)
{
	_cleanup_close_ int root_fd = supply->by_memfd ? open("/", O_PATH | O_CLOEXEC)
						       : openat(target->proc_fd, "root",
								O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (supply->place == CUPTI_PLACE_NONE || supply->place == CUPTI_PLACE_MAPPED)
		return 0;
	return library_file_check(root_fd, supply->path, err);
}

int cupti_supply_open(const struct cupti_supply *supply)
{
	int fd = open(supply->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return fd < 0 ? -errno : fd;
}
