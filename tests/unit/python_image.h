/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What interpreters of CPython have in memory, as far as it is read, built by the offsets of each version: a thread with frames. */
#ifndef GPUPROBE_TEST_PYTHON_IMAGE_H
#define GPUPROBE_TEST_PYTHON_IMAGE_H

#include <string.h>

#include "base/types.h"
#include "python/debug_offsets.h"
#include "python/python_runtime.h"

#define BASE	    0x7f0000000000ULL
#define IMAGE_BYTES 65536

/* Addresses in the image. */
#define RUNTIME	    (BASE + 0x1000)
#define INTERPRETER (BASE + 0x4000)
#define THREAD	    (BASE + 0x7000)
#define POINTER	    (BASE + 0x8000) /* the thread pointer */
#define FRAMES	    (BASE + 0x9000)
#define CFRAME	    (BASE + 0xa000)
#define CODE	    (BASE + 0xb000)
#define TEXT_NAME   (BASE + 0xc000)
#define VERSION_AT  (BASE + 0xd000)
#define CODE_TYPE   (BASE + 0xd100)
#define THIS_THREAD (BASE + 0xe000)
#define BLOCKS	    (BASE + 0xf000)

struct image {
	u8 bytes[IMAGE_BYTES];
	size_t reads;
	unsigned minor; /* of one that does not say it itself */
};

static bool read_image(void *data, u64 address, void *ret_bytes, size_t size)
{
	struct image *image = data;

	image->reads++;
	if (address < BASE || address - BASE > IMAGE_BYTES - size)
		return false;
	memcpy(ret_bytes, image->bytes + (address - BASE), size);
	return true;
}

static void put(struct image *image, u64 address, u64 word)
{
	memcpy(image->bytes + (address - BASE), &word, sizeof(word));
}

static void put_u32(struct image *image, u64 address, u32 word)
{
	memcpy(image->bytes + (address - BASE), &word, sizeof(word));
}

static void put_common(struct image *image, u32 hex, u64 key)
{
	put(image, VERSION_AT, hex);
	put_u32(image, RUNTIME + key - 4, 1);
	put_u32(image, RUNTIME + key, 3);
	put(image, POINTER + 0x310 + 3 * 16 + 8, THREAD);
	put(image, CODE + 8, CODE_TYPE);
	put(image, CODE + 112, TEXT_NAME);
	put(image, CODE + 128, TEXT_NAME);
	put(image, TEXT_NAME + 16, 5);
	put_u32(image, TEXT_NAME + 32, 0x64); /* a byte a character, compact, ASCII */
}

/* One thread with two frames, which are objects. */
static void put_objects(struct image *image, unsigned minor)
{
	put_common(image, 0, 588);
	image->minor = minor;
	put(image, CODE + 104, TEXT_NAME);
	put(image, RUNTIME + 40, INTERPRETER);
	put(image, INTERPRETER + 8, THREAD);
	put(image, THREAD + 176, POINTER);
	put(image, THREAD + 24, FRAMES);
	put(image, FRAMES + 32, CODE);
	put(image, FRAMES + 24, FRAMES + 256);
	put(image, FRAMES + 256 + 32, CODE);
}

static void build_3_9(struct image *image)
{
	put_objects(image, 9);
}

static void build_3_10(struct image *image)
{
	put_objects(image, 10);
}

/* One thread with two frames, of one call of the interpreter's loop. */
static void build_3_11(struct image *image)
{
	put_common(image, 0x030b02f0, 596);
	put(image, RUNTIME + 48, INTERPRETER);
	put(image, INTERPRETER + 16, THREAD);
	put(image, THREAD + 152, POINTER);
	put(image, THREAD + 56, CFRAME);
	put(image, CFRAME + 8, FRAMES);
	put(image, FRAMES + 32, CODE);
	put(image, FRAMES + 48, FRAMES + 256);
	put(image, FRAMES + 256 + 32, CODE);
	image->bytes[FRAMES + 256 + 68 - BASE] = 1;
}

/* A frame, and behind it the shim of its call of the loop. */
static void build_3_12(struct image *image)
{
	put_common(image, 0x030c01f0, 1548);
	put(image, RUNTIME + 48, INTERPRETER);
	put(image, INTERPRETER + 72, THREAD);
	put(image, THREAD + 136, POINTER);
	put(image, THREAD + 56, CFRAME);
	put(image, CFRAME, FRAMES);
	put(image, FRAMES, CODE);
	put(image, FRAMES + 8, FRAMES + 256);
	image->bytes[FRAMES + 256 + 70 - BASE] = 3;
}

static void build_3_13(struct image *image)
{
	struct debug_offsets_3_13 offsets = {
		.cookie = "xdebugp",
		.version = 0x030d00f0,
		.runtime_state.interpreters_head = 632,
		.interpreter_state.threads_head = 7344,
		.thread_state = {.next = 8, .current_frame = 72, .thread_id = 152},
		.interpreter_frame = {.previous = 8, .instr_ptr = 56, .owner = 70},
		.code_object = {.filename = 112,
				.qualname = 128,
				.linetable = 136,
				.firstlineno = 68,
				.co_code_adaptive = 200}};

	offsets.cookie[7] = 'y';
	put_common(image, 0x030d00f0, 2164);
	memcpy(image->bytes + (RUNTIME - BASE), &offsets, sizeof(offsets));
	put(image, RUNTIME + 640, INTERPRETER);
	put(image, INTERPRETER + 7344, THREAD);
	put(image, THREAD + 152, POINTER);
	put(image, THREAD + 72, FRAMES);
	put(image, FRAMES, CODE);
	put(image, FRAMES + 8, FRAMES + 256);
	image->bytes[FRAMES + 256 + 70 - BASE] = 3;
}

/* What refers to code has a tag. */
static void build_3_14(struct image *image)
{
	struct debug_offsets_3_14 offsets = {
		.cookie = "xdebugp",
		.version = 0x030e0af0,
		.runtime_state.interpreters_head = 808,
		.interpreter_state.threads_head = 7344,
		.thread_state = {.next = 8, .current_frame = 72, .thread_id = 152},
		.interpreter_frame = {.previous = 8, .instr_ptr = 56, .owner = 74},
		.code_object = {.filename = 112,
				.qualname = 128,
				.linetable = 136,
				.firstlineno = 68,
				.co_code_adaptive = 208}};

	offsets.cookie[7] = 'y';
	put_common(image, 0x030e0af0, 2340);
	memcpy(image->bytes + (RUNTIME - BASE), &offsets, sizeof(offsets));
	put(image, RUNTIME + 816, INTERPRETER);
	put(image, INTERPRETER + 7344, THREAD);
	put(image, THREAD + 152, POINTER);
	put(image, THREAD + 72, FRAMES);
	put(image, FRAMES, CODE | 1);
	put(image, FRAMES + 8, FRAMES + 256);
	image->bytes[FRAMES + 256 + 74 - BASE] = 3;
}

/* The state of a thread is a variable of it. */
static void build_3_15(struct image *image)
{
	static const u8 code[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x64, 0x48, 0x8b, 0x04, 0x25, 0xd8, 0xff, 0xff, 0xff, 0xc3};
	struct debug_offsets_3_15 offsets = {
		.cookie = "xdebugp",
		.version = 0x030f02f0,
		.runtime_state.interpreters_head = 936,
		.interpreter_state.threads_head = 7336,
		.thread_state = {.next = 8, .current_frame = 72, .thread_id = 176},
		.interpreter_frame = {.previous = 8, .instr_ptr = 56, .owner = 74},
		.code_object = {.filename = 112,
				.qualname = 128,
				.linetable = 136,
				.firstlineno = 68,
				.co_code_adaptive = 208}};

	offsets.cookie[7] = 'y';
	put_common(image, 0x030f02f0, 2340);
	memcpy(image->bytes + (RUNTIME - BASE), &offsets, sizeof(offsets));
	memcpy(image->bytes + (THIS_THREAD - BASE), code, sizeof(code));
	put(image, POINTER - 40, THREAD);
	put(image, RUNTIME + 944, INTERPRETER);
	put(image, INTERPRETER + 7336, THREAD);
	put(image, THREAD + 176, POINTER);
	put(image, THREAD + 72, FRAMES);
	put(image, FRAMES, CODE | 1);
	put(image, FRAMES + 8, FRAMES + 256);
	image->bytes[FRAMES + 256 + 74 - BASE] = 3;
}

/* The same of a library: an index of the variable, and a call of what looks for it. */
static void build_3_15_library(struct image *image)
{
	static const u8 code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x3d, 0xf5, 0, 0, 0, 0xe8, 1, 2, 3, 4, 0x5d, 0x48, 0x8b, 0x40, 0x28, 0xc3};

	build_3_15(image);
	put(image, POINTER - 40, 0);
	memcpy(image->bytes + (THIS_THREAD - BASE), code, sizeof(code));
	put(image, THIS_THREAD + 0x100, 2);
	put(image, THIS_THREAD + 0x108, 16);
	put(image, POINTER + 8, BLOCKS);
	put(image, BLOCKS + 2 * 16, POINTER - 128);
	put(image, POINTER - 128 + 16 + 0x28, THREAD);
}

static int open_image(struct image *image, char *version, struct python_process *process,
		      struct err *err)
{
	const struct python_memory memory = {read_image, image};
	const struct python_symbols symbols = {.runtime = RUNTIME,
					       .version = image->minor ? 0 : VERSION_AT,
					       .minor = image->minor,
					       .code_type = CODE_TYPE,
					       .this_thread = THIS_THREAD};

	image->reads = 0;
	err->message[0] = 0;
	return python_runtime_open(&memory, &symbols, version, process, err);
}

typedef void (*build_image)(struct image *image);
static const build_image builds[] = {build_3_11, build_3_13, build_3_10, build_3_14, build_3_15, build_3_15_library, build_3_9, build_3_12};

#endif
