/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interpreters of CPython: what they have in memory, built here by the offsets of each version, and damaged; and that of the machine's own. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "python/python_find.h"
#include "python_image.h"

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
	memset(image, 0, sizeof(*image));
	build_3_15(image);
	CHECK_OK(open_image(image, version, &process, &err), err);
	CHECK_STRING(version, "3.15.2");
	CHECK_U64(process.thread_slot, (u64)-40);
	memset(image, 0, sizeof(*image));
	build_3_15_library(image);
	CHECK_OK(open_image(image, version, &process, &err), err);
	CHECK_U64(process.thread_slot, (u64)(-128 + 16 + 0x28));
	CHECK_U64(process.slot_pointers, 0);
	/* A block that this thread alone has. */
	put(image, BLOCKS + 32, BASE + 0xf800);
	put(image, BASE + 0xf800 + 16 + 0x28, THREAD);
	CHECK_OK(open_image(image, version, &process, &err), err);
	CHECK_U64(process.slot_pointers, 2);
	CHECK_U64(process.slot_pointer[0], 8);
	CHECK_U64(process.slot_pointer[1], 32);
	CHECK_U64(process.thread_slot, 16 + 0x28);
	/* The 41st specific datum is in the second block. */
	memset(image, 0, sizeof(*image));
	build_3_11(image);
	put(image, RUNTIME + 592, 1 | 40ULL << 32);
	put(image, POINTER + 0x310 + 32 * 16 + 8, BASE + 0xf800);
	put(image, BASE + 0xf800 + 8 * 16 + 8, THREAD);
	CHECK_OK(open_image(image, version, &process, &err), err);
	CHECK_U64(process.slot_pointers, 1);
	CHECK_U64(process.slot_pointer[0], 0x310 + 32 * 16 + 8);
	CHECK_U64(process.thread_slot, 8 * 16 + 8);
	free(image);
}

TEST(interpreters_that_say_nothing_of_themselves_are_opened)
{
	static const struct {
		build_image build;
		const char *version;
		u64 current, boundary, code_bytes;
	} known[] = {
		{build_3_9, "3.9", RUNTIME + 568, PYTHON_BOUNDARY_CODE, 0},
		{build_3_12, "3.12.1", 0, PYTHON_BOUNDARY_SHIM, 192},
	};
	struct image *image = malloc(sizeof(*image));

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		struct python_process process;
		char version[PYTHON_VERSION_BYTES];
		struct err err = {0};

		memset(image, 0, sizeof(*image));
		known[i].build(image);
		CHECK_OK(open_image(image, version, &process, &err), err);
		CHECK_STRING(version, known[i].version);
		CHECK_U64(process.thread_slot, 0x310 + 3 * 16 + 8);
		CHECK_U64(process.current, known[i].current);
		CHECK_U64(process.layout.boundary, known[i].boundary);
		CHECK_U64(process.layout.code_bytes, known[i].code_bytes);
	}
	free(image);
}

/* A thread runs while its frames are read: behind many that are right, what is wrong has changed meanwhile. */
TEST(chains_too_long_to_stand_still_are_opened)
{
	static const struct {
		int right, result;
	} chains[] = {{31, -EILSEQ}, {32, 0}, {40, 0}};
	struct image *image = malloc(sizeof(*image));

	for (size_t i = 0; i < ARRAY_SIZE(chains); i++) {
		struct python_process process;
		char version[PYTHON_VERSION_BYTES];
		struct err err = {0};

		memset(image, 0, sizeof(*image));
		build_3_11(image);
		for (u64 frame = 0; frame < (u64)chains[i].right; frame++) {
			put(image, FRAMES + 80 * frame + 32, CODE);
			put(image, FRAMES + 80 * frame + 48, FRAMES + 80 * (frame + 1));
			put(image, FRAMES + 80 * frame + 64, 0);
		}
		CHECK_U64(open_image(image, version, &process, &err), chains[i].result);
	}
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
		{build_3_11, VERSION_AT, 0x031000f0, -ENOTSUP,
		 "the frames of Python 3.16.0 are not known (those of 3.9 to 3.15 are)"},
		{build_3_15, RUNTIME + 16, 1, -ENOTSUP, "free-threaded"},
		{build_3_15, THIS_THREAD, 0, -ENOTSUP, "not known"},
		{build_3_15, POINTER - 40, 0, -EILSEQ, "not where glibc"},
		{build_3_15_library, BLOCKS + 32, BASE, -EILSEQ, "not where glibc"},
		{build_3_15_library, BLOCKS + 32, POINTER + 64, -EILSEQ, "not where glibc"},
		{build_3_15_library, THIS_THREAD + 7, 0, -ENOTSUP, "not known"},
		{build_3_11, VERSION_AT, 0x030b00c1, -ENOTSUP, "pre-release"},
		{build_3_11, VERSION_AT, 0x027102f0, -ENOTSUP, "none of Python 3"},
		{build_3_11, RUNTIME + 592, 0, -EAGAIN, "not begun"},
		{build_3_11, RUNTIME + 592, 1 | 1024ULL << 32, -ENOTSUP,
		 "first 1024 specific data"},
		{build_3_11, RUNTIME + 592, 1 | 40ULL << 32, -EILSEQ, "not where glibc"},
		{build_3_11, RUNTIME + 592, 1 | 4ULL << 32, -EILSEQ, "not where glibc"},
		{build_3_11, FRAMES + 32, CODE + 8, -EILSEQ, "frames"},
		{build_3_11, FRAMES + 48, FRAMES, -EILSEQ, "frames"},
		{build_3_11, CODE + 8, 7, -EILSEQ, "frames"},
		{build_3_9, FRAMES + 24, FRAMES, -EILSEQ, "frames"},
		{build_3_9, THREAD + 176, POINTER + 8, -EILSEQ, "not where glibc"},
		{build_3_9, RUNTIME + 584, 0, -EAGAIN, "not begun"},
		{build_3_10, FRAMES + 24, CODE, -EILSEQ, "frames"},
		{build_3_12, CFRAME, CODE + 4, -EILSEQ, "frames"},
		{build_3_12, FRAMES, TEXT_NAME, -EILSEQ, "frames"},
		{build_3_12, THREAD + 56, 0, -EILSEQ, "frames"},
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
		"/usr/bin/python3.15",
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
		SKIP("no Python 3.9 to 3.15 here");
}

TEST(files_without_one_have_none)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct python_symbols symbols;

	CHECK_U64(python_symbols_find(fd, "", &symbols), -ENOENT);
}

/* Where its loop lies only symbols tell, which it has none of, nor is there a file with them. */
TEST(a_stripped_one_of_3_9_is_not_supported)
{
	char path[] = "/tmp/gpuprobe-test-XXXXXX", command[256];
	struct python_symbols symbols;
	int fd = mkstemp(path);

	snprintf(command, sizeof(command),
		 "echo 'int PyCode_Type, _PyRuntime, PyGILState_GetThisThreadState, "
		 "PyObject_CallNoArgs;' | "
		 "gcc -x c -shared -s -Wl,--build-id -o %s - 2>/dev/null",
		 path);
	if (system(command)) {
		unlink(path);
		close(fd);
		SKIP("no gcc");
	}
	close(fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	unlink(path);
	CHECK_U64(python_symbols_find(fd, "", &symbols), -ENOTSUP);
	close(fd);
}

UNIT_MAIN()
