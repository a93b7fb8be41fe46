/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interpreters of CPython: what they have in memory, built here by the offsets of each version, and damaged; and that of the machine's own. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "python/debug_offsets.h"
#include "python/python_find.h"

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

/* One thread with two frames. */
static void build_3_10(struct image *image)
{
	put_common(image, 0, 588);
	image->minor = 10;
	put(image, CODE + 104, TEXT_NAME);
	put(image, RUNTIME + 40, INTERPRETER);
	put(image, INTERPRETER + 8, THREAD);
	put(image, THREAD + 176, POINTER);
	put(image, THREAD + 24, FRAMES);
	put(image, FRAMES + 32, CODE);
	put(image, FRAMES + 24, FRAMES + 256);
	put(image, FRAMES + 256 + 32, CODE);
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

static int open_image(struct image *image, char *version, struct python_process *process,
		      struct err *err)
{
	const struct python_memory memory = {read_image, image};
	const struct python_symbols symbols = {.runtime = RUNTIME,
					       .version = image->minor ? 0 : VERSION_AT,
					       .minor = image->minor,
					       .code_type = CODE_TYPE};

	image->reads = 0;
	err->message[0] = 0;
	return python_runtime_open(&memory, &symbols, version, process, err);
}

typedef void (*build_image)(struct image *image);
static const build_image builds[] = {build_3_11, build_3_13, build_3_10, build_3_14};

TEST(interpreters_are_opened)
{
	struct image *image = calloc(1, sizeof(*image));
	struct python_process process;
	char version[PYTHON_VERSION_BYTES];
	struct err err = {0};

	build_3_11(image);
	CHECK_OK(open_image(image, version, &process, &err), err);
	CHECK_STRING(version, "3.11.2");
	CHECK_U64(process.thread_slot, 0x310 + 3 * 16 + 8);
	CHECK_U64(process.current, RUNTIME + 576);
	CHECK_U64(process.layout.boundary, PYTHON_BOUNDARY_ENTRY);
	memset(image, 0, sizeof(*image));
	build_3_10(image);
	CHECK_OK(open_image(image, version, &process, &err), err);
	CHECK_STRING(version, "3.10");
	CHECK_U64(process.current, RUNTIME + 568);
	CHECK_U64(process.layout.boundary, PYTHON_BOUNDARY_CFRAME);
	memset(image, 0, sizeof(*image));
	build_3_13(image);
	CHECK_OK(open_image(image, version, &process, &err), err);
	CHECK_STRING(version, "3.13.0");
	CHECK_U64(process.current, 0);
	CHECK_U64(process.layout.code_bytes, 200);
	memset(image, 0, sizeof(*image));
	build_3_14(image);
	CHECK_OK(open_image(image, version, &process, &err), err);
	CHECK_STRING(version, "3.14.10");
	CHECK_U64(process.current, 0);
	CHECK_U64(process.layout.frame_owner, 74);
	CHECK_U64(process.layout.code_bytes, 208);
	free(image);
}

struct change {
	build_image build;
	u64 address, word;
	int result;
	const char *words;
};

TEST(what_does_not_fit_is_refused_with_words)
{
	static const struct change changes[] = {
		{build_3_11, VERSION_AT, 0x030f00f0, -ENOTSUP,
		 "the frames of Python 3.15.0 are not known (those of 3.9 to 3.14 are)"},
		{build_3_11, VERSION_AT, 0x030b00c1, -ENOTSUP, "pre-release"},
		{build_3_11, VERSION_AT, 0x027102f0, -ENOTSUP, "none of Python 3"},
		{build_3_11, RUNTIME + 592, 0, -EAGAIN, "not begun"},
		{build_3_11, RUNTIME + 592, 1 | 40ULL << 32, -ENOTSUP, "specific data"},
		{build_3_11, RUNTIME + 592, 1 | 4ULL << 32, -EILSEQ, "not where glibc"},
		{build_3_11, FRAMES + 32, CODE + 8, -EILSEQ, "frames"},
		{build_3_11, FRAMES + 48, FRAMES, -EILSEQ, "frames"},
		{build_3_11, CODE + 8, 7, -EILSEQ, "frames"},
		{build_3_10, FRAMES + 24, CODE, -EILSEQ, "frames"},
		{build_3_13, RUNTIME, 7, -ENOTSUP, "_Py_DebugOffsets"},
		{build_3_13, RUNTIME + 16, 1, -ENOTSUP, "free-threaded"},
		{build_3_13, VERSION_AT, 0x030d01f0, -ENOTSUP, "_Py_DebugOffsets"},
		{build_3_14, RUNTIME + 16, 1, -ENOTSUP, "free-threaded"},
		{build_3_14, RUNTIME + 40, 1 << 20, -ENOTSUP, "make no sense"},
		{build_3_14, FRAMES, (CODE + 8) | 1, -EILSEQ, "frames"},
		{build_3_13, THREAD + 8, THREAD, 0, NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		struct image *image = calloc(1, sizeof(*image));
		struct python_process process;
		char version[PYTHON_VERSION_BYTES];
		struct err err = {0};

		changes[i].build(image);
		put(image, changes[i].address, changes[i].word);
		CHECK_U64(open_image(image, version, &process, &err), changes[i].result);
		if (changes[i].words && !strstr(err.message, changes[i].words))
			UNIT_FAIL("row %zu: \"%s\" has no \"%s\"", i, err.message,
				  changes[i].words);
		free(image);
	}
}

static u64 next_random(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	return *state ^= *state << 17;
}

/* Words that lead somewhere, as often as any. */
static u64 any_word(u64 *state)
{
	u64 random = next_random(state);

	switch (random % 4) {
	case 0:
		return BASE + random / 4 % IMAGE_BYTES;
	case 1:
		return random / 4 % 300;
	default:
		return random;
	}
}

TEST(damaged_images_end_with_an_answer)
{
	struct image *image = calloc(1, sizeof(*image));
	u64 state = 88172645463325252ULL;
	size_t opened = 0;

	for (int i = 0; i < 20000; i++) {
		static const u64 places[] = {RUNTIME, INTERPRETER, THREAD,    FRAMES,	 CFRAME,
					     CODE,    POINTER,	   TEXT_NAME, VERSION_AT};
		struct python_process process;
		char version[PYTHON_VERSION_BYTES];
		struct err err = {0};
		int result;

		memset(image, 0, sizeof(*image));
		builds[i % ARRAY_SIZE(builds)](image);
		for (u64 n = next_random(&state) % 4; n > 0; n--) {
			u64 place = places[next_random(&state) % ARRAY_SIZE(places)];

			put(image, place + next_random(&state) % 100 * 8, any_word(&state));
		}
		result = open_image(image, version, &process, &err);
		opened += !result;
		if (result && (result != -EAGAIN && result != -EILSEQ && result != -ENOTSUP))
			UNIT_FAIL("%d: %d", i, result);
		if (result && !err.message[0])
			UNIT_FAIL("%d: no words", i);
		/* What a hostile one can make us read. */
		if (image->reads > 1000000)
			UNIT_FAIL("%d: %zu reads", i, image->reads);
	}
	CHECK(opened > 1000);
	free(image);
}

/* The interpreters of the machine, in life. */
static void open_program(const char *program)
{
	int pipe_fds[2];
	char byte, version[PYTHON_VERSION_BYTES];
	struct python_process process;
	struct python_files files = {0};
	struct code_map map = {0};
	struct err err = {0};
	pid_t pid;

	CHECK(!pipe(pipe_fds));
	pid = fork();
	if (!pid) {
		dup2(pipe_fds[1], 1);
		close(pipe_fds[0]);
		execl(program, program, "-c",
		      "import os, time\ndef f():\n os.write(1, b'x')\n time.sleep(60)\nf()", NULL);
		_exit(1);
	}
	close(pipe_fds[1]);
	CHECK(read(pipe_fds[0], &byte, 1) == 1);
	close(pipe_fds[0]);
	CHECK(!code_map_look(&map, (u32)pid, true));
	CHECK_OK(python_find(&files, &map, (u32)pid, version, &process, &err), err);
	CHECK(!strncmp(version, "3.", 2));
	python_files_free(&files);
	code_map_free(&map);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

TEST(programs_have_one)
{
	static const char *const programs[] = {
		"/usr/bin/python3.9",
		"/usr/bin/python3.10",
		"/usr/bin/python3.11",
		"/usr/bin/python3.12",
		"/usr/bin/python3.13",
		"/usr/bin/python3.14",
		"/root/.pyenv/versions/3.9.18/bin/python3.9",
		"/root/.pyenv/versions/3.10.13/bin/python3.10",
		"/root/.pyenv/versions/3.11.7/bin/python3.11",
		"/root/.pyenv/versions/3.12.1/bin/python3.12",
		"/root/.pyenv/versions/3.13.0/bin/python3.13",
	};
	size_t found = 0;

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		if (!access(programs[i], X_OK)) {
			open_program(programs[i]);
			found++;
		}
	if (!found)
		SKIP("no Python 3.9 to 3.14 here");
}

TEST(files_without_one_have_none)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct python_symbols symbols;

	CHECK_U64(python_symbols_find(fd, "", &symbols), -ENOENT);
}

UNIT_MAIN()
