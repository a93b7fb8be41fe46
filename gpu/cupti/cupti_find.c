/* SPDX-License-Identifier: MIT */
#include "cupti_find.h"

#include <dlfcn.h>

#include "cupti_handover.h"
#include "../base/system.h"
#include "../base/words.h"

/* The function is there for as long as the driver is, which is never unloaded. */
static void ask_driver(struct cupti_library *library, const struct loader *loader, const char *path)
{
	void *handle = loader->open(path, RTLD_NOW | RTLD_NOLOAD);
	int version = 0;

	if (!handle)
		return;
	library->driver_get_version = (u32(*)(int *))loader->symbol(handle, "cuDriverGetVersion");
	if (library->driver_get_version && !library->driver_get_version(&version))
		library->driver_version = version;
	loader->close(handle);
}

static enum agent_feature_state say(enum agent_feature_state state, char *hint, const char *before,
				    const char *what, const char *behind)
{
	struct words words = words_begin(hint, AGENT_HINT_BYTES);

	words_add(&words, before);
	words_add(&words, what);
	words_add(&words, behind);
	return state;
}

/* The one that gpuprobe names, from a file or handed over. */
static void *load(const struct loader *loader, struct agent_control *control)
{
	char path[CUPTI_HANDOVER_PATH_BYTES];
	void *handle;
	long fd;

	if (!control->cupti.handover)
		return loader->open(control->cupti.path, RTLD_NOW | RTLD_LOCAL);
	fd = cupti_handover_take(control, path);
	if (fd < 0)
		return NULL;
	handle = loader->open(path, RTLD_NOW | RTLD_LOCAL);
	system_close(fd);
	return handle;
}

enum agent_feature_state cupti_find(struct cupti_library *library, const struct loader *loader,
				    struct agent_control *control, char *hint)
{
	struct loader_match cupti = {.prefix = "libcupti.so"}, driver = {.prefix = "libcuda.so"};
	const char *missing, *path = control->cupti.path;

	loader_match(&driver);
	if (!driver.count)
		return say(AGENT_FEATURE_IGNORED, hint,
			   "the target has not loaded libcuda.so.1: it does not use CUDA (yet)", "",
			   "");
	loader_match(&cupti);
	library->copies = cupti.count;
	library->loaded_by_us = !cupti.count;
	if (cupti.count)
		path = cupti.paths[0];
	else if (!*path)
		return say(AGENT_FEATURE_IGNORED, hint,
			   "the target has not loaded libcupti and none was supplied; name one "
			   "that fits its driver: --cupti PATH",
			   "", "");
	library->handle =
		cupti.count ? loader->open(path, RTLD_NOW | RTLD_NOLOAD) : load(loader, control);
	if (!library->handle)
		return say(AGENT_FEATURE_FAILED, hint, "the target can't load ", path,
			   "; name another libcupti: --cupti PATH");
	words_set(library->path, sizeof(library->path), path);
	words_set(library->other_path, sizeof(library->other_path),
		  cupti.count > 1 ? cupti.paths[1] : "");
	missing = cupti_calls_find(&library->calls, loader, library->handle);
	if (missing)
		return say(AGENT_FEATURE_FAILED, hint, path, " is older than CUDA 11.8: it has no ",
			   missing);
	ask_driver(library, loader, driver.paths[0]);
	return AGENT_FEATURE_READY;
}
