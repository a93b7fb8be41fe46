/* SPDX-License-Identifier: MIT */
/*
 * The target's dynamic loader: its functions are not in the libc that the agent may count on (before glibc 2.34 they
 * stand in libdl), so their addresses come from the injector or from what the target has loaded.
 */
#ifndef GPUPROBE_GPU_LOADER_H
#define GPUPROBE_GPU_LOADER_H

#include "types.h"
#include "../shared.h"

#define LOADER_PATH_BYTES AGENT_PATH_BYTES

struct loader {
	void *(*open)(const char *path, int flags);
	void *(*symbol)(void *handle, const char *name);
	int (*close)(void *handle);
};

/* false: there is no dlopen or no dlsym. */
bool loader_find(struct loader *loader, const struct agent_start *start);

/* Where the code of this library lies. */
void loader_own_code(u64 *ret_begin, u64 *ret_end);

/* Libraries that are mapped. */
struct loader_match {
	const char *prefix; /* of the file's name or of the SONAME: "libcupti.so" */
	u32 count;	    /* by different paths */
	char paths[2][LOADER_PATH_BYTES]; /* the first ones */
};

/* What is mapped, one after the other; the strings are the loader's. true: that is enough. Under the loader's lock. */
struct loader_library {
	const char *path, *name; /* of the file; the program itself: "" */
	const char *soname; /* "": it has none */
	bool needs; /* it is linked with a library whose name begins with `needed`; NULL: that is not asked */
};
void loader_each(const char *needed, bool (*visit)(void *data, const struct loader_library *library), void *data);

/* Does the file's name or the SONAME begin so? */
bool loader_is(const struct loader_library *library, const char *prefix);

/* Names of symbols are never looked up here: a library that is mapped privately is found too. */
void loader_match(struct loader_match *match);

#endif
