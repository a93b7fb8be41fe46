/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inject/inject_stack.h"

#include <elf.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/elf.h"
#include "elf/elf_vdso.h"
#include "inject/inject_session.h"
#include "process/maps.h"
#include "process/proc_file.h"
#include "base/cleanup.h"

#define FRAMES_MAX 256
/* Of the C library, innermost, behind a system call: what calls it, with a cancellation point and the vdso. Deeper ones may have locks. */
#define CALL_FRAMES_MAX 3

struct rule {
	const char *glob;
	enum inject_verdict verdict;
	const char *words;
};

struct holder {
	const char *file_glob, *function;
};

#define START_FILE(glob)
#define ALLOCATOR(name)
#define HOLDER(file_glob, function)
#define FUNCTION_FRAME(glob, verdict, words)
#define FILE_FRAME(glob, verdict, words) {glob, INJECT_VERDICT_##verdict, words},
static const struct rule file_rules[] = {
#include "inject/inject_frames.def"
};
#undef FILE_FRAME
#undef FUNCTION_FRAME

#define FILE_FRAME(glob, verdict, words)
#define FUNCTION_FRAME(glob, verdict, words) {glob, INJECT_VERDICT_##verdict, words},
static const struct rule function_rules[] = {
#include "inject/inject_frames.def"
};
#undef FUNCTION_FRAME
#undef START_FILE

#define FUNCTION_FRAME(glob, verdict, words)
#define START_FILE(glob) {glob, INJECT_VERDICT_SAFE, NULL},
static const struct rule start_rules[] = {
#include "inject/inject_frames.def"
};
#undef START_FILE
#undef ALLOCATOR

#define START_FILE(glob)
#define ALLOCATOR(name) name,
static const char *const allocators[] = {
#include "inject/inject_frames.def"
};
#undef ALLOCATOR
#undef HOLDER

#define ALLOCATOR(name)
#define HOLDER(file_glob, function) {file_glob, function},
static const struct holder holders[] = {
#include "inject/inject_frames.def"
};

/* A file of code, opened when the first frame in it is met. */
struct stack_file {
	const struct code_module *module;
	struct elf_file *file;
	struct elf_unwind *unwind;
	struct elf_symbols symbols; /* of the libraries of START_FILE and the main program only */
	u64 bias;
	bool tried, symbols_tried;
	/* As to threads that run, once that is known: */
	bool prepared;
	bool is_start;	   /* what starts threads is in it */
	bool is_allocator; /* it defines what pthread_create may call, or that can't be told */
};

struct inject_stacks {
	struct module_list modules;
	struct code_module
		vdso; /* the kernel's code for some functions of the C library, a part of that here */
	struct stack_file *files;
	size_t count;
};

/* What addresses in the target are more than in the file. */
static u64 bias_of(const struct code_module *module, const struct elf_file *file)
{
	const struct elf_segment *segments;
	size_t count = elf_file_segments(file, true, &segments);

	for (size_t i = 0; i < count; i++) {
		u64 page_offset = segments[i].offset & ~4095ULL;

		if (module->file_offset >= page_offset &&
		    module->file_offset < segments[i].offset + segments[i].file_size_bytes)
			return module->start - module->file_offset -
			       (segments[i].address - segments[i].offset);
	}
	return 0;
}

static void file_open(struct stack_file *file)
{
	if (file->tried)
		return;
	file->tried = true;
	if (elf_file_open(file->module->fd, file->module->path, &file->file, NULL))
		return;
	file->bias = bias_of(file->module, file->file);
	file->unwind = elf_unwind_open(file->file);
}

static const struct rule *rule_find(const struct rule *rules, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (fnmatch(rules[i].glob, name, 0) == 0)
			return &rules[i];
	return NULL;
}

static bool is_start_file(const struct code_module *module)
{
	for (size_t n = 0; n < module->name_count; n++)
		if (rule_find(start_rules, ARRAY_SIZE(start_rules), module->names[n]))
			return true;
	return false;
}

static void add_vdso(struct inject_stacks *stacks, u64 start, u64 end)
{
	stacks->vdso = (struct code_module){
		.path = (char *)ELF_VDSO_NAME, .fd = elf_vdso_open(), .start = start, .end = end};
	stacks->files[stacks->count] =
		(struct stack_file){.module = &stacks->vdso, .prepared = true, .is_start = true};
	file_open(&stacks->files[stacks->count++]);
}

int inject_stacks_open(struct module_list *modules, u64 vdso_start, u64 vdso_end,
		       struct inject_stacks **ret_stacks)
{
	struct inject_stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks) {
		modules_free(modules);
		return -ENOMEM;
	}
	stacks->modules = *modules;
	*modules = (struct module_list){0};
	stacks->files = calloc(stacks->modules.count + 1, sizeof(*stacks->files));
	if (!stacks->files) {
		inject_stacks_free(stacks);
		return -ENOMEM;
	}
	stacks->count = stacks->modules.count;
	for (size_t i = 0; i < stacks->count; i++) {
		struct stack_file *file = &stacks->files[i];

		file->module = &stacks->modules.items[i];
		if (!file->module->main_executable && !is_start_file(file->module))
			continue;
		file_open(file);
		if (file->file)
			elf_symbols_load(file->file, "", &file->symbols, NULL);
		file->symbols_tried = true;
	}
	if (vdso_start)
		add_vdso(stacks, vdso_start, vdso_end);
	*ret_stacks = stacks;
	return 0;
}

struct inject_stacks *inject_stacks_free(struct inject_stacks *stacks)
{
	for (size_t i = 0; stacks && i < stacks->count; i++) {
		elf_symbols_free(&stacks->files[i].symbols);
		elf_unwind_free(stacks->files[i].unwind);
		elf_file_free(stacks->files[i].file);
	}
	if (stacks) {
		if (stacks->vdso.path && stacks->vdso.fd >= 0)
			close(stacks->vdso.fd);
		free(stacks->files);
		modules_free(&stacks->modules);
	}
	free(stacks);
	return NULL;
}

/* ---- one frame ------------------------------------------------------------------------------------------- */

/* Only the first mapping of a file is known; there may be more of its code behind it. */
static bool file_covers(struct stack_file *file, u64 address)
{
	const struct elf_segment *segments;
	size_t count;

	if (address < file->module->start)
		return false;
	file_open(file);
	count = file->file ? elf_file_segments(file->file, true, &segments) : 0;
	for (size_t i = 0; i < count; i++)
		if (address - file->bias - segments[i].address < segments[i].file_size_bytes)
			return true;
	return false;
}

static struct stack_file *file_find(struct inject_stacks *stacks, u64 address)
{
	for (size_t i = 0; i < stacks->count; i++) {
		const struct code_module *module = stacks->files[i].module;

		if (address >= module->start && address < module->end)
			return &stacks->files[i];
	}
	for (size_t i = 0; i < stacks->count; i++)
		if (file_covers(&stacks->files[i], address))
			return &stacks->files[i];
	return NULL;
}

/* All names of the function that the address is in: the worst of them. */
static const struct rule *function_rule(const struct stack_file *file, u64 address)
{
	const struct elf_symbol *symbols = file->symbols.items;
	size_t low = elf_symbols_up_to(&file->symbols, address);
	u64 start;

	start = low ? symbols[low - 1].address : 0;
	for (; low && symbols[low - 1].address == start; low--) {
		const struct elf_symbol *symbol = &symbols[low - 1];
		const struct rule *rule = NULL;

		if (symbol->size_bytes && address - start < symbol->size_bytes)
			rule = rule_find(function_rules, ARRAY_SIZE(function_rules), symbol->name);
		if (rule)
			return rule;
	}
	return NULL;
}

static const struct rule *frame_rule(const struct stack_file *file, u64 address)
{
	for (size_t n = 0; n < file->module->name_count; n++) {
		const struct rule *rule =
			rule_find(file_rules, ARRAY_SIZE(file_rules), file->module->names[n]);

		if (rule)
			return rule;
	}
	return function_rule(file, address - file->bias);
}

/* ---- all frames ------------------------------------------------------------------------------------------ */

static int word_read(void *data, u64 address, u64 *ret_word)
{
	return inject_memory_read(*(int *)data, address, ret_word, sizeof(*ret_word));
}

static enum inject_verdict unknown(char *reason, size_t reason_bytes, size_t depth, int result)
{
	if (result == -ENOTSUP) {
		snprintf(reason, reason_bytes, "is in a signal handler");
		return INJECT_VERDICT_UNSAFE;
	}
	if (result == -EXDEV) {
		snprintf(
			reason, reason_bytes,
			"is on a goroutine's stack, or does on its own what a goroutine has it do");
		return INJECT_VERDICT_UNSAFE;
	}
	snprintf(reason, reason_bytes, "has a stack that cannot be followed beyond frame %zu (%s)",
		 depth,
		 result == -ENODATA ? "it takes registers that only show when it is stopped"
				    : "code without unwind tables");
	return INJECT_VERDICT_UNKNOWN;
}

enum inject_verdict inject_stack_judge(struct inject_stacks *stacks, int memory_fd,
				       const struct elf_frame *frame, char *ret_reason,
				       size_t reason_bytes)
{
	struct elf_frame at = *frame;
	const struct rule *worst = NULL;
	int result = 1;

	for (size_t depth = 0; result == 1 && depth < FRAMES_MAX; depth++) {
		u64 address = at.registers[ELF_REGISTER_PC] - (depth > 0);
		struct stack_file *file = file_find(stacks, address);
		const struct rule *rule;

		if (!file)
			return unknown(ret_reason, reason_bytes, depth, -ENOENT);
		file_open(file);
		rule = frame_rule(file, address);
		if (rule && (!worst || rule->verdict > worst->verdict))
			worst = rule;
		result = file->unwind ? elf_unwind_step(file->unwind, file->bias, depth == 0,
							word_read, &memory_fd, &at)
				      : -ENOENT;
		if (result < 0 && (!worst || worst->verdict != INJECT_VERDICT_UNSAFE))
			return unknown(ret_reason, reason_bytes, depth, result);
	}
	if (worst && worst->verdict == INJECT_VERDICT_UNSAFE)
		snprintf(ret_reason, reason_bytes, "has a frame of %s on its stack", worst->words);
	else if (result)
		return unknown(ret_reason, reason_bytes, FRAMES_MAX, -ENOENT);
	else if (worst)
		snprintf(ret_reason, reason_bytes,
			 "no malloc, loader or CUDA frame on its stack, but frames of %s",
			 worst->words);
	else
		snprintf(ret_reason, reason_bytes,
			 "no malloc, loader, CUDA or Python frame on its stack");
	return worst ? worst->verdict : INJECT_VERDICT_SAFE;
}

/* ---- in the middle of code ------------------------------------------------------------------------------- */

static bool defines_allocator(const struct elf_file *file)
{
	u64 address;

	if (!file || !elf_dynamic_find(file, DT_GNU_HASH, &address))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(allocators); i++)
		if (!elf_file_dynamic_symbol(file, allocators[i], &address))
			return true;
	return false;
}

static void prepare_file(struct stack_file *file)
{
	const struct code_module *module = file->module;

	if (file->prepared)
		return;
	file_open(file);
	file->is_start = is_start_file(module);
	file->is_allocator = !file->is_start && defines_allocator(file->file);
	file->prepared = true;
}

/* Those of inject_frames.def want no locks but their own; the code of others may have any of the program's. That it can't be told what a
 * library defines says nothing of it but for its own frames. */
static bool is_known_allocator(const struct stack_file *file)
{
	const struct code_module *module = file->module;
	u64 table;

	for (size_t n = 0; n < module->name_count; n++)
		if (rule_find(file_rules, ARRAY_SIZE(file_rules), module->names[n]))
			return true;
	return !file->file || !elf_dynamic_find(file->file, DT_GNU_HASH, &table);
}

const char *inject_stacks_prepare_code(struct inject_stacks *stacks)
{
	for (size_t i = 0; i < stacks->count; i++) {
		struct stack_file *file = &stacks->files[i];

		prepare_file(file);
		if (file->is_allocator &&
		    (file->module->main_executable || !is_known_allocator(file)))
			return "its program, or a library, brings malloc or pthread_create "
			       "itself, which may want a lock that it has";
	}
	return NULL;
}

static enum inject_verdict in_code(char *reason, size_t reason_bytes, const char *where)
{
	snprintf(reason, reason_bytes, "runs in %s", where);
	return INJECT_VERDICT_UNSAFE;
}

/* One frame, from the innermost on: NULL or where it is that it must not be. */
static const char *code_frame_refused(const struct stack_file *file, u64 address, bool innermost)
{
	const struct rule *rule;

	if (!file->prepared)
		return "a file that was mapped since it was looked at";
	rule = frame_rule(file, address);
	if (rule && rule->verdict == INJECT_VERDICT_UNSAFE)
		return rule->words;
	if (file->is_allocator)
		return "what may be an allocator";
	return innermost && file->is_start ? "the C library" : NULL;
}

enum inject_verdict inject_stack_judge_code(struct inject_stacks *stacks, int memory_fd,
					    const struct elf_frame *frame, bool behind_call,
					    char *ret_reason, size_t reason_bytes)
{
	struct elf_frame at = *frame;
	bool is_start = false, in_call = behind_call;
	int result = 1;

	for (size_t depth = 0; result == 1 && depth < FRAMES_MAX; depth++) {
		u64 address = at.registers[ELF_REGISTER_PC] - (depth > 0);
		struct stack_file *file = file_find(stacks, address);
		bool was_start = is_start;
		const char *refused =
			file ? code_frame_refused(file, address, depth == 0 && !in_call)
			     : "code of no file";

		if (refused)
			return in_code(ret_reason, reason_bytes, refused);
		in_call &= file->is_start && depth < CALL_FRAMES_MAX;
		is_start |= file->is_start && !in_call;
		result = file->unwind ? elf_unwind_step(file->unwind, file->bias, depth == 0,
							word_read, &memory_fd, &at)
				      : -ENOENT;
		if (result < 0)
			return unknown(ret_reason, reason_bytes, depth, result);
		/* What is beyond the C library called it, but for the program's first function. */
		if (was_start && !file->is_start && (result || !file->module->main_executable))
			return in_code(ret_reason, reason_bytes, "what the C library calls");
	}
	if (result)
		return unknown(ret_reason, reason_bytes, FRAMES_MAX, -ENOENT);
	if (!is_start)
		return in_code(ret_reason, reason_bytes,
			       "a thread that the C library did not start");
	return INJECT_VERDICT_SAFE;
}

int inject_stack_comes_back(struct inject_stacks *stacks, int memory_fd,
			    const struct elf_frame *frame, u64 *ret_address)
{
	struct elf_frame at = *frame;
	bool is_start = false;
	u64 found = 0;
	int result = 1;

	for (size_t depth = 0; result == 1 && depth < FRAMES_MAX; depth++) {
		u64 pc = at.registers[ELF_REGISTER_PC], address = pc - (depth > 0);
		struct stack_file *file = file_find(stacks, address);

		if (!file || !file->unwind)
			return -ENOENT;
		result = elf_unwind_step(file->unwind, file->bias, depth == 0, word_read,
					 &memory_fd, &at);
		if (result < 0)
			return -ENOENT;
		/* The C library called it: inwards from there it may not be taken. */
		if (is_start && !file->is_start && (result || !file->module->main_executable))
			found = is_start = 0;
		if (code_frame_refused(file, address, false))
			found = is_start = 0;
		else if (file->is_start)
			is_start = true;
		else if (!found && depth)
			found = pc;
	}
	if (result || !found || !is_start)
		return -ENOENT;
	*ret_address = found;
	return 0;
}

/* ---- in pthread_create, which we called ------------------------------------------------------------------ */

/* Also where that can't be told, since the file has no names. */
static bool is_in_function(struct stack_file *file, u64 address, const char *function)
{
	if (!file->symbols_tried && file->file)
		elf_symbols_load(file->file, "", &file->symbols, NULL);
	file->symbols_tried = true;
	for (size_t i = 0; i < file->symbols.count; i++) {
		const struct elf_symbol *symbol = &file->symbols.items[i];

		if (strcmp(symbol->name, function) == 0)
			return address - symbol->address < symbol->size_bytes;
	}
	return !file->symbols.count;
}

static bool is_holder(struct stack_file *file, u64 address)
{
	const struct code_module *module = file->module;

	for (size_t i = 0; i < ARRAY_SIZE(holders); i++)
		for (size_t n = 0; n < module->name_count; n++)
			if (fnmatch(holders[i].file_glob, module->names[n], 0) == 0 &&
			    is_in_function(file, address - file->bias, holders[i].function))
				return true;
	return false;
}

bool inject_stack_holds_lock(struct inject_stacks *stacks, int memory_fd,
			     const struct elf_frame *frame, u64 caller, size_t size_bytes)
{
	struct elf_frame at = *frame;

	for (size_t depth = 0; depth < FRAMES_MAX; depth++) {
		u64 address = at.registers[ELF_REGISTER_PC] - (depth > 0);
		struct stack_file *file = file_find(stacks, address);

		if (address - caller < size_bytes)
			return false;
		if (file)
			file_open(file);
		if (!file || !file->unwind || is_holder(file, address) ||
		    elf_unwind_step(file->unwind, file->bias, depth == 0, word_read, &memory_fd,
				    &at) != 1)
			return true;
	}
	return true;
}

int inject_stack_is_own(int proc_fd, u64 stack_pointer, u64 thread_pointer,
			struct inject_own_stack *ret_stack)
{
	_cleanup_free_ char *maps = NULL;
	struct maps_line line;
	char *at;

	if (proc_file_read(proc_fd, "maps", &maps, NULL))
		return -ESRCH;
	*ret_stack = (struct inject_own_stack){0};
	at = maps;
	while (maps_next(&at, &line)) {
		if (stack_pointer < line.start || stack_pointer >= line.end)
			continue;
		/* glibc puts what the thread pointer points to at the upper end of the thread's stack. */
		ret_stack->own = strcmp(line.path, "[stack]") == 0 ||
				 (thread_pointer >= stack_pointer && thread_pointer < line.end);
		ret_stack->start = strcmp(line.path, "[stack]") == 0 ? 0 : line.start;
	}
	return 0;
}
