/* SPDX-License-Identifier: MIT */
/*
 * What NVTX 3 keeps in every program and library that uses it: the headers put a hidden variable into each of them,
 * of which a stripped file keeps no name. It is known by its shape: sizes and the version at fixed places, and six
 * tables of pointers that point back to the words of the variable itself. The shape is the same from NVTX 3.0 (CUDA
 * 10) to 3.5 (CUDA 13.5).
 *
 * Every function of NVTX calls what its word points to, and nothing where that is NULL. The words are set once: by
 * the first call, to the functions of a tool (NVTX_INJECTION64_PATH), or to NULL where there is none.
 *
 * Included by the agent and by userspace; the includer provides u8..u64, bool and memcpy.
 */
#ifndef GPUPROBE_GPU_NVTX_GLOBALS_H
#define GPUPROBE_GPU_NVTX_GLOBALS_H

#define NVTX_GLOBALS_BYTES	 1168
#define NVTX_GLOBALS_ALIGN_BYTES 8
#define NVTX_WORDS		 64

#define NVTX_CALLBACKS_BYTES 16 /* an export table with its size in front: one function */
#define NVTX_VERSION_BYTES   24 /* the same: a version, one function */
#define NVTX_MAJOR_VERSION   3

/* Of the word at the beginning. */
enum nvtx_initialisation {
	NVTX_FRESH = 0,	   /* no function was called yet */
	NVTX_STARTED = 1,  /* a thread looks for a tool, others wait for it */
	NVTX_COMPLETE = 2, /* for good */
};

struct nvtx_globals {
	u32 initialisation; /* enum nvtx_initialisation */
	u32 pad;
	u64 callbacks_bytes, callbacks_function;
	u64 version_bytes;
	u32 version, reserved;
	u64 version_function;
	u64 words[NVTX_WORDS]; /* in the order of the tables */
	u64 tables[76];	       /* one behind the other, each with NULL in front and behind */
};

_Static_assert(sizeof(struct nvtx_globals) == NVTX_GLOBALS_BYTES, "what NVTX keeps is of this size");

/* The bytes of what may be one, which stands at address. */
static inline bool nvtx_globals_match(const struct nvtx_globals *globals, u64 address)
{
	/* NVTX's modules: core, CUDA, OpenCL, CUDA runtime, domains, synchronization. */
	static const u8 functions[] = {15, 8, 14, 6, 15, 6};
	u64 word = address + __builtin_offsetof(struct nvtx_globals, words);
	const u64 *entry = globals->tables;

	if (globals->callbacks_bytes != NVTX_CALLBACKS_BYTES ||
	    globals->version_bytes != NVTX_VERSION_BYTES ||
	    globals->version != NVTX_MAJOR_VERSION || globals->reserved ||
	    globals->initialisation > NVTX_COMPLETE || globals->pad)
		return false;
	for (u32 table = 0; table < sizeof(functions); table++) {
		if (*entry++)
			return false;
		for (u32 i = 0; i < functions[table]; i++, word += sizeof(word))
			if (*entry++ != word)
				return false;
		if (*entry++)
			return false;
	}
	return true;
}

#endif
