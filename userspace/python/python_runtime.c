/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "python/python_runtime.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#include "python/debug_offsets.h"

#define WITH_VERSION 11 /* the first minor version that says it by a symbol */
#define THREADS_MAX  10000
#define FRAMES_MAX   20000 /* in all */
#define TRIES	     5	   /* threads run while they are looked at */
#define FRAMES_SURE  32	   /* in a row: a chain of thousands changes before its end is reached */
#define TYPE_DEALLOC 48	   /* tp_dealloc of a type, in all versions */

/* Of glibc: where in what the thread pointer leads to the first block of thread-specific data is, how many there are in a block, and
 * where the pointers to all blocks are. What has it elsewhere is refused: then no thread's state stands there. */
#define SPECIFIC_OFFSET	       0x310
#define SPECIFIC_COUNT	       32 /* blocks, too */
#define SPECIFIC_BYTES	       16
#define SPECIFIC_DATA	       8
#define SPECIFIC_BLOCKS_OFFSET (SPECIFIC_OFFSET + SPECIFIC_COUNT * SPECIFIC_BYTES)

/* Of all that follows the psABI: where a thread has its blocks of variables, one a module, and how far from its pointer those of the
 * program's start may be. */
#define BLOCKS_OFFSET	 8
#define BLOCK_BYTES	 16
#define MODULES_MAX	 4096
#define STATIC_BYTES_MAX (1 << 16)

/* PY_VERSION_HEX. */
#define VERSION_MAJOR(hex)    ((unsigned)((hex) >> 24 & 0xff))
#define VERSION_MINOR(hex)    ((unsigned)((hex) >> 16 & 0xff))
#define VERSION_MICRO(hex)    ((unsigned)((hex) >> 8 & 0xff))
#define VERSION_IS_FINAL(hex) (((hex) >> 4 & 0xf) == 0xf)

struct version {
	unsigned minor;
	bool debug_offsets;
	u32 key, current, interpreters, threads, thread_next;
	struct python_layout layout;
};

static const struct version versions[] = {
#define LAYOUT(...)         \
	{                   \
		__VA_ARGS__ \
	}
#define VERSION(minor, debug_offsets, key, current, interpreters, threads, thread_next, ...) \
	{minor, debug_offsets, key, current, interpreters, threads, thread_next, __VA_ARGS__},
#include "python/python_versions.def"
};

bool python_memory_of_process(void *pid, u64 address, void *ret_bytes, size_t size)
{
	struct iovec local = {ret_bytes, size}, remote = {(void *)address, size};

	return process_vm_readv((pid_t) * (const u32 *)pid, &local, 1, &remote, 1, 0) ==
	       (ssize_t)size;
}

/* ---- its version ---- */

static bool read_word(const struct python_memory *memory, u64 address, u64 *ret_word)
{
	return memory->read(memory->data, address, ret_word, sizeof(*ret_word));
}

static int not_begun(struct err *err)
{
	return err_set(err, -EAGAIN, "it has not begun to run");
}

static bool take_version(unsigned minor, struct version *ret_version)
{
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
		if (versions[i].minor == minor) {
			*ret_version = versions[i];
			return true;
		}
	return false;
}

static int find_version(const struct python_memory *memory, const struct python_symbols *symbols,
			char *ret_text, struct version *ret_version, u64 *ret_hex, struct err *err)
{
	u64 hex;

	if (!symbols->version && take_version(symbols->minor, ret_version)) {
		snprintf(ret_text, PYTHON_VERSION_BYTES, "3.%u", symbols->minor);
		return 0;
	}
	if (!read_word(memory, symbols->version, &hex))
		return not_begun(err);
	if (hex >> 32 || VERSION_MAJOR(hex) != 3)
		return err_set(err, -ENOTSUP, "its version %#llx is none of Python 3",
			       (unsigned long long)hex);
	snprintf(ret_text, PYTHON_VERSION_BYTES, "3.%u.%u", VERSION_MINOR(hex), VERSION_MICRO(hex));
	if (!VERSION_IS_FINAL(hex))
		return err_set(err, -ENOTSUP,
			       "Python %s is a pre-release, whose frames may lie anywhere",
			       ret_text);
	*ret_hex = hex;
	if (VERSION_MINOR(hex) >= WITH_VERSION && take_version(VERSION_MINOR(hex), ret_version))
		return 0;
	return err_set(err, -ENOTSUP,
		       "the frames of Python %s are not known (those of 3.%u to 3.%u are)",
		       ret_text, versions[0].minor, versions[ARRAY_SIZE(versions) - 1].minor);
}

/* Offsets are small, or they are none. */
#define OFFSET_MAX 4096

static bool take_offset(u64 offset, u64 max, u16 *ret_offset)
{
	*ret_offset = (u16)offset;
	return offset <= max;
}

/* What is read of _Py_DebugOffsets of any version. */
struct said {
	u64 interpreters, threads, thread_next, thread_frame, thread_id;
	u64 frame_code, frame_previous, frame_instruction, frame_owner;
	u64 first_line, file, name, lines, bytes;
};

static struct said said_of_3_13(const struct debug_offsets_3_13 *offsets)
{
#define SAID(offsets)                                                                             \
	{                                                                                         \
		(offsets)->runtime_state.interpreters_head,                                       \
			(offsets)->interpreter_state.threads_head, (offsets)->thread_state.next,  \
			(offsets)->thread_state.current_frame, (offsets)->thread_state.thread_id, \
			(offsets)->interpreter_frame.executable,                                  \
			(offsets)->interpreter_frame.previous,                                    \
			(offsets)->interpreter_frame.instr_ptr,                                   \
			(offsets)->interpreter_frame.owner, (offsets)->code_object.firstlineno,   \
			(offsets)->code_object.filename, (offsets)->code_object.qualname,         \
			(offsets)->code_object.linetable, (offsets)->code_object.co_code_adaptive \
	}
	return (struct said)SAID(offsets);
}

static struct said said_of_3_14(const struct debug_offsets_3_14 *offsets)
{
	return (struct said)SAID(offsets);
}

static struct said said_of_3_15(const struct debug_offsets_3_15 *offsets)
{
	return (struct said)SAID(offsets);
#undef SAID
}

static bool take_said(const struct said *said, struct version *version)
{
	struct python_layout *layout = &version->layout;

	if (said->interpreters > 65536 || said->threads > 1 << 20 || said->thread_next > 4096)
		return false;
	version->interpreters = (u32)said->interpreters;
	version->threads = (u32)said->threads;
	version->thread_next = (u32)said->thread_next;
	return take_offset(said->thread_frame, PYTHON_THREAD_BYTES - 8, &layout->thread_frame) &&
	       take_offset(said->thread_id, PYTHON_THREAD_BYTES - 8, &layout->thread_id) &&
	       take_offset(said->frame_code, PYTHON_FRAME_BYTES - 8, &layout->frame_code) &&
	       take_offset(said->frame_previous, PYTHON_FRAME_BYTES - 8, &layout->frame_previous) &&
	       take_offset(said->frame_instruction, PYTHON_FRAME_BYTES - 8,
			   &layout->frame_instruction) &&
	       take_offset(said->frame_owner, PYTHON_FRAME_BYTES - 1, &layout->frame_owner) &&
	       take_offset(said->first_line, PYTHON_CODE_BYTES - 8, &layout->code_first_line) &&
	       take_offset(said->file, PYTHON_CODE_BYTES - 8, &layout->code_file) &&
	       take_offset(said->name, PYTHON_CODE_BYTES - 8, &layout->code_name) &&
	       take_offset(said->lines, PYTHON_CODE_BYTES - 8, &layout->code_lines) &&
	       take_offset(said->bytes, OFFSET_MAX, &layout->code_bytes);
}

/* What the interpreter says of itself. */
static int take_debug_offsets(const struct python_memory *memory, u64 runtime, u64 hex,
			      struct version *version, struct err *err)
{
	union {
		struct debug_offsets_3_13 of_3_13; /* all begin as it does */
		struct debug_offsets_3_14 of_3_14;
		struct debug_offsets_3_15 of_3_15;
	} offsets;
	struct said said;

	if (!memory->read(memory->data, runtime, &offsets, sizeof(offsets)))
		return not_begun(err);
	if (memcmp(offsets.of_3_13.cookie, DEBUG_OFFSETS_COOKIE, sizeof(offsets.of_3_13.cookie)) ||
	    offsets.of_3_13.version != hex)
		return err_set(err, -ENOTSUP, "its _Py_DebugOffsets are not those of its version");
	if (offsets.of_3_13.free_threaded)
		return err_set(err, -ENOTSUP,
			       "it is a free-threaded build, whose frames are not read");
	said = version->minor == 13   ? said_of_3_13(&offsets.of_3_13)
	       : version->minor == 14 ? said_of_3_14(&offsets.of_3_14)
				      : said_of_3_15(&offsets.of_3_15);
	if (!take_said(&said, version))
		return err_set(err, -ENOTSUP, "its _Py_DebugOffsets make no sense");
	return 0;
}

/* ---- its threads and their frames ---- */

struct frame {
	u8 bytes[PYTHON_FRAME_OBJECT_BYTES];
};

static u64 word_at(const void *bytes, u16 offset)
{
	u64 word;

	memcpy(&word, (const u8 *)bytes + offset, sizeof(word));
	return word;
}

/* Is it a text, of a length that a name can have? */
static bool is_text(const struct python_memory *memory, u64 address)
{
	u64 head[5];

	/* Count of references, type, length, hash, state. */
	return memory->read(memory->data, address, head, sizeof(head)) && head[2] < 1 << 20 &&
	       (head[4] >> 2 & 7) <= 4 && (head[4] >> 2 & 7);
}

static bool is_code(const struct python_memory *memory, const struct python_process *process,
		    u64 address)
{
	const struct python_layout *layout = &process->layout;
	size_t size =
		PYTHON_FRAMES_ARE_OBJECTS(layout) ? PYTHON_CODE_OBJECT_BYTES : PYTHON_CODE_BYTES;
	u8 code[PYTHON_CODE_BYTES];

	return memory->read(memory->data, address, code, size) &&
	       word_at(code, PYTHON_TYPE_OFFSET) == process->code_type &&
	       is_text(memory, word_at(code, layout->code_file)) &&
	       is_text(memory, word_at(code, layout->code_name));
}

/* How many frames the thread has, FRAMES_SURE at most; -1: what should be a frame is none. */
static int count_frames(const struct python_memory *memory, const struct python_process *process,
			u64 thread, unsigned *left)
{
	const struct python_layout *layout = &process->layout;
	int count = 0, seen = 0;
	u64 at, passed = 0;

	if (!read_word(memory, thread + layout->thread_frame, &at))
		return -1;
	if (!PYTHON_FRAMES_ARE_OBJECTS(layout) &&
	    (layout->cframe_frame || layout->cframe_previous) &&
	    !read_word(memory, at + layout->cframe_frame, &at))
		return -1;
	for (; at && count < FRAMES_SURE && *left; --*left) {
		struct frame frame;

		/* One that comes again is in a ring. */
		if (at == passed)
			return -1;
		if (!(seen & (seen - 1)))
			passed = at;
		seen++;
		if (at % 8 || !memory->read(memory->data, at, &frame, layout->frame_bytes))
			return -1;
		if (layout->boundary != PYTHON_BOUNDARY_SHIM ||
		    frame.bytes[layout->frame_owner] < PYTHON_OWNED_BY_C) {
			if (!is_code(memory, process,
				     PYTHON_CODE_OF_FRAME(word_at(&frame, layout->frame_code))))
				return -1;
			count++;
		}
		at = word_at(&frame, layout->frame_previous);
	}
	return at && count < FRAMES_SURE ? -1 : count;
}

struct confirmed {
	unsigned threads;  /* that there are, */
	unsigned own;	   /* that have their state where it is looked for, */
	unsigned readable; /* whose frames are those of Python */
	unsigned wrong;	   /* whose frames are none of Python */
	unsigned left;	   /* so many frames may be looked at yet */
};

/* The state that stands where that of the thread with this pointer should. */
static bool read_state(const struct python_memory *memory, const struct python_process *process,
		       u64 pointer, u64 *ret_state)
{
	u64 block = pointer;

	for (u32 i = 0; i < process->slot_pointers; i++)
		if (!read_word(memory, block + process->slot_pointer[i], &block))
			return false;
	return read_word(memory, block + process->thread_slot, ret_state);
}

static void confirm_thread(const struct python_memory *memory, const struct python_process *process,
			   u64 thread, struct confirmed *confirmed)
{
	u64 pointer, state;
	int count;

	confirmed->threads++;
	if (!read_word(memory, thread + process->layout.thread_id, &pointer) ||
	    !read_state(memory, process, pointer, &state) || state != thread)
		return;
	confirmed->own++;
	count = count_frames(memory, process, thread, &confirmed->left);
	confirmed->readable += count > 0;
	confirmed->wrong += count < 0;
}

static struct confirmed confirm(const struct python_memory *memory, const struct version *version,
				u64 runtime, const struct python_process *process)
{
	struct confirmed confirmed = {.left = FRAMES_MAX};
	u64 interpreter, thread;

	/* The main one stands behind the first one. */
	if (!read_word(memory, runtime + version->interpreters + 8, &interpreter) || !interpreter ||
	    !read_word(memory, interpreter + version->threads, &thread))
		return confirmed;
	for (size_t i = 0; thread && i < THREADS_MAX; i++) {
		confirm_thread(memory, process, thread, &confirmed);
		if (confirmed.readable ||
		    !read_word(memory, thread + version->thread_next, &thread))
			break;
	}
	return confirmed;
}

/* Where a variable of each thread is (its index: module, offset in it). Those of libraries of the program's start are as far from the
 * pointer of each thread; those of one that was opened later are in blocks of their own. */
static bool find_variable(const struct python_memory *memory, const struct version *version,
			  u64 runtime, u64 index_at, struct python_process *process)
{
	u64 index[2], interpreter, thread, pointer, blocks, block;

	if (!memory->read(memory->data, index_at, index, sizeof(index)) || index[0] > MODULES_MAX ||
	    !read_word(memory, runtime + version->interpreters + 8, &interpreter) ||
	    !read_word(memory, interpreter + version->threads, &thread) ||
	    !read_word(memory, thread + version->layout.thread_id, &pointer) ||
	    !read_word(memory, pointer + BLOCKS_OFFSET, &blocks) ||
	    !read_word(memory, blocks + BLOCK_BYTES * index[0], &block))
		return false;
	if (pointer - block < STATIC_BYTES_MAX) {
		process->thread_slot = block + index[1] - pointer;
		return true;
	}
	process->slot_pointers = 2;
	process->slot_pointer[0] = BLOCKS_OFFSET;
	process->slot_pointer[1] = (u32)(BLOCK_BYTES * index[0]);
	process->thread_slot = index[1];
	return true;
}

/* By the code of the function that returns it. */
static int find_slot_by_code(const struct python_memory *memory, const struct version *version,
			     const struct python_symbols *symbols, struct python_process *process,
			     struct err *err)
{
	static const u8 begins[] = {0xf3, 0x0f, 0x1e, 0xfa}, frame[] = {0x55, 0x48, 0x89, 0xe5},
			load[] = {0x64, 0x48, 0x8b, 0x04, 0x25}, index[] = {0x48, 0x8d, 0x3d},
			returned[] = {0x48, 0x8b, 0x40};
	u8 code[40] = {0};
	const u8 *at = code;
	s32 number;

#define IS(bytes) (!memcmp(at, bytes, sizeof(bytes)) && (at += sizeof(bytes)))
	if (!memory->read(memory->data, symbols->this_thread, code, sizeof(code) - 8))
		return not_begun(err);
	(void)IS(begins);
	(void)IS(frame);
	if (IS(load)) {
		memcpy(&number, at, sizeof(number));
		process->thread_slot = (u64)(s64)number;
		return 0;
	}
	if (IS(index)) {
		memcpy(&number, at, sizeof(number));
		at += sizeof(number);
		if (find_variable(memory, version, symbols->runtime,
				  symbols->this_thread + (u64)(at - code) + (u64)(s64)number,
				  process) &&
		    *at == 0xe8) {
			at += 5;
			at += *at == 0x5d;
			if (IS(returned)) {
				process->thread_slot += *at;
				return 0;
			}
		}
	}
#undef IS
	return err_set(err, -ENOTSUP,
		       "the function that returns the state of its threads does it in a way "
		       "that is not known");
}

/* Where the state of a thread is, from the thread pointer. */
static int find_slot(const struct python_memory *memory, const struct version *version,
		     const struct python_symbols *symbols, struct python_process *process,
		     struct err *err)
{
	/* Is there one, and which? */
	u32 key[2], block;

	if (!version->key)
		return find_slot_by_code(memory, version, symbols, process, err);
	if (!memory->read(memory->data, symbols->runtime + version->key - sizeof(key[0]), key,
			  sizeof(key)) ||
	    !key[0])
		return not_begun(err);
	block = key[1] / SPECIFIC_COUNT;
	if (key[0] != 1 || block >= SPECIFIC_COUNT)
		return err_set(err, -ENOTSUP,
			       "the state of its threads is not among their first %d specific data",
			       SPECIFIC_COUNT * SPECIFIC_COUNT);
	process->thread_slot = SPECIFIC_BYTES * (u64)(key[1] % SPECIFIC_COUNT) + SPECIFIC_DATA;
	if (!block) {
		process->thread_slot += SPECIFIC_OFFSET;
		return 0;
	}
	process->slot_pointers = 1;
	process->slot_pointer[0] = (u32)(SPECIFIC_BLOCKS_OFFSET + sizeof(u64) * block);
	return 0;
}

int python_runtime_open(const struct python_memory *memory, const struct python_symbols *symbols,
			char ret_version[PYTHON_VERSION_BYTES], struct python_process *ret_process,
			struct err *err)
{
	struct python_process process = {.code_type = symbols->code_type,
					 .loop = symbols->loop,
					 .loop_cold = symbols->loop_cold};
	struct confirmed confirmed = {0};
	struct version version = {0};
	u64 hex = 0;
	int result;

	ret_version[0] = 0;
	result = find_version(memory, symbols, ret_version, &version, &hex, err);
	if (!result && version.debug_offsets)
		result = take_debug_offsets(memory, symbols->runtime, hex, &version, err);
	if (!result)
		result = find_slot(memory, &version, symbols, &process, err);
	if (result)
		return result;
	process.layout = version.layout;
	/* Without it their ends can't be counted. */
	if (!read_word(memory, symbols->code_type + TYPE_DEALLOC, &process.code_dealloc))
		process.code_dealloc = 0;
	process.current = version.current ? symbols->runtime + version.current : 0;
	for (int i = 0; i < TRIES && !confirmed.readable; i++)
		confirmed = confirm(memory, &version, symbols->runtime, &process);
	if (!confirmed.threads)
		return not_begun(err);
	if (!confirmed.own)
		return err_set(err, -EILSEQ,
			       "the state of its threads is not where glibc keeps "
			       "thread-specific data");
	if (!confirmed.readable && confirmed.wrong)
		return err_set(err, -EILSEQ, "what should be frames of its threads is none");
	*ret_process = process;
	return confirmed.readable
		       ? 0
		       : err_set(err, -EAGAIN, "none of its threads runs code of Python");
}
