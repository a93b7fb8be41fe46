/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/worker.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "code/garbage_collector.h"
#include "elf/elf_file.h"
#include "elf/elf_go_table.h"
#include "resolve/arch_x86_64.h"
#include "resolve/frame_chain.h"
#include "resolve/function_names.h"
#include "resolve/jit_map.h"
#include "resolve/source_lines.h"
#include "resolve/wire.h"
#include "../bpf/record.h"

#define BUFFER_BYTES 65536

struct worker {
	const struct worker_config *config;
	const struct worker_group *group;
	struct elf_file *elf; /* of the group */
	struct elf_symbols symbols;
	u64 *file_addresses; /* of the group's addresses; ~0: outside of what is loaded as code */
	bool *caller_missing;
	u64 *looked_up; /* the same, in a system call that of its instruction */
	struct text name, buffer;
	bool failed; /* nobody reads */
};

/* ---- sending ---- */

static void flush(struct worker *worker)
{
	if (worker->buffer.length && !worker->failed)
		worker->failed = file_write(worker->config->pipe_fd, worker->buffer.data,
					    worker->buffer.length) != 0;
	text_clear(&worker->buffer);
}

static void send_bytes(struct worker *worker, struct wire_message message, const char *name,
		       size_t name_length, const char *file, size_t file_length)
{
	message.name_bytes = (u16)name_length;
	message.file_bytes = (u16)file_length;
	text_append_bytes(&worker->buffer, &message, sizeof(message));
	text_append_bytes(&worker->buffer, name, name_length);
	text_append_bytes(&worker->buffer, file, file_length);
	/* A group is told of at once: if it is the last thing that is done, it is known what killed us. */
	if (worker->buffer.length >= BUFFER_BYTES || message.type != WIRE_FRAME)
		flush(worker);
}

static void send(struct worker *worker, struct wire_message message, const char *name,
		 const char *file)
{
	send_bytes(worker, message, name, strnlen(name, WIRE_NAME_MAX_BYTES), file,
		   strnlen(file, WIRE_FILE_MAX_BYTES));
}

/* ---- by symbols ---- */

static struct wire_message frame_of(const struct worker *worker, size_t i)
{
	return (struct wire_message){.type = WIRE_FRAME,
				     .index = worker->group->addresses[i].index,
				     .file_address = worker->file_addresses[i],
				     .offset_bytes = ~0U,
				     .chain = worker->caller_missing[i] ? WIRE_CHAIN_CALLER_MISSING
									: 0};
}

static const struct elf_symbol *symbol_at(const struct worker *worker, size_t i)
{
	u64 address = worker->looked_up[i];

	return address == ~0ULL ? NULL : function_names_find(&worker->symbols, address);
}

static void fill_symbol(struct worker *worker, size_t i, const struct elf_symbol *symbol,
			struct wire_message *message)
{
	u64 offset = worker->file_addresses[i] - symbol->address;

	function_names_append(symbol->name, &worker->name);
	message->origin = VALUE_frame_origin_symbols;
	if (function_names_begins(symbol->name))
		message->chain = WIRE_CHAIN_BEGINS;
	message->offset_bytes = offset < ~0U ? offset : ~0U;
}

static void send_symbols(struct worker *worker)
{
	for (size_t i = 0; i < worker->group->count && !worker->failed; i++) {
		const struct elf_symbol *symbol = symbol_at(worker, i);
		struct wire_message message = frame_of(worker, i);

		text_clear(&worker->name);
		if (symbol)
			fill_symbol(worker, i, symbol, &message);
		send(worker, message, text_string(&worker->name), "");
	}
}

/* ---- by code ---- */

static bool is_nameless(const struct worker *worker, size_t i)
{
	return worker->file_addresses[i] != ~0ULL && !symbol_at(worker, i);
}

static bool some_nameless(const struct worker *worker)
{
	for (size_t i = 0; i < worker->group->count; i++)
		if (is_nameless(worker, i))
			return true;
	return false;
}

/* As CPython calls it. */
static void send_collector(struct worker *worker, const struct garbage_collector *collector)
{
	for (size_t i = 0; i < worker->group->count && !worker->failed; i++) {
		struct wire_message message = frame_of(worker, i);
		u64 offset = worker->file_addresses[i] - collector->parts[0].address;

		if (!is_nameless(worker, i) ||
		    !garbage_collector_holds(collector, worker->looked_up[i]))
			continue;
		text_clear(&worker->name);
		text_append(&worker->name, "gc_collect_main");
		message.origin = VALUE_frame_origin_code;
		if (offset < collector->parts[0].size_bytes)
			message.offset_bytes = offset;
		send(worker, message, text_string(&worker->name), "");
	}
}

/* Where its symbols are only those that it exports. What they name is sent before. */
static void find_collector(struct worker *worker)
{
	struct garbage_collector collector;

	if (!worker->symbols.stripped || !some_nameless(worker))
		return;
	flush(worker);
	if (!garbage_collector_find(worker->elf, &worker->symbols, &collector))
		send_collector(worker, &collector);
}

/* ---- by debug information ---- */

/* The function whose code it is has the name that its symbol says, where there is one: clones share debug information. */
static void on_lines(void *data, size_t index, const struct source_level *levels,
		     size_t level_count)
{
	struct worker *worker = data;
	const struct elf_symbol *symbol = symbol_at(worker, index);

	for (size_t level = 0; level < level_count; level++) {
		struct wire_message message = frame_of(worker, index);
		bool outermost = level + 1 == level_count;

		text_clear(&worker->name);
		message.level = level;
		message.line = levels[level].line;
		message.inlined = !outermost;
		if (outermost && symbol) {
			fill_symbol(worker, index, symbol, &message);
		} else if (levels[level].symbol) {
			function_names_append(levels[level].symbol, &worker->name);
			message.origin = VALUE_frame_origin_debug_info;
		}
		send(worker, message, text_string(&worker->name),
		     levels[level].file ? levels[level].file : "");
	}
}

/* What Go's runtime has for itself, and strip leaves. */
static void find_go_lines(struct worker *worker)
{
	struct elf_go_table table;

	if (elf_go_table_read(worker->elf, &table))
		return;
	for (size_t i = 0; i < worker->group->count && !worker->failed; i++) {
		const struct elf_symbol *symbol = symbol_at(worker, i);
		struct wire_message message = frame_of(worker, i);
		struct elf_go_line line;

		if (!symbol || !elf_go_table_line(&table, worker->looked_up[i], &line))
			continue;
		text_clear(&worker->name);
		fill_symbol(worker, i, symbol, &message);
		message.line = line.line;
		send(worker, message, text_string(&worker->name), line.file);
	}
	free(table.bytes);
}

static void find_lines(struct worker *worker, const char *root_path)
{
	_cleanup_close_ int fd = -1;
	u64 bytes;

	if (elf_file_debug_info_open(worker->elf, root_path, &fd, &bytes)) {
		find_go_lines(worker);
		return;
	}
	if (bytes > worker->config->debug_max_bytes) {
		struct wire_message cut = {.type = WIRE_CUT,
					   .index = worker->group - worker->config->groups};

		send(worker, cut, "", "");
		return;
	}
	(void)source_lines_find(fd, worker->looked_up, worker->group->count, on_lines, worker);
}

/* ---- a debug file that is missing ---- */

/* Where nothing but what the file exports has a name. */
static void want_debug_file(struct worker *worker)
{
	struct wire_message wanted = {.type = WIRE_WANTED,
				      .index = worker->group - worker->config->groups,
				      .level = worker->group->debug_fd >= 0};
	u8 id[ELF_BUILD_ID_MAX_BYTES];

	if (!worker->symbols.stripped ||
	    elf_debug_file_chance(worker->elf) != ELF_DEBUG_FILE_BY_NAME)
		return;
	for (size_t i = 0; i < worker->group->count; i++)
		wanted.line += is_nameless(worker, i);
	text_clear(&worker->name);
	text_append_bytes(&worker->name, id, elf_file_build_id(worker->elf, id));
	if (wanted.line && worker->name.length && !worker->name.failed)
		send_bytes(worker, wanted, worker->name.data, worker->name.length, "", 0);
}

/* ---- groups ---- */

static void root_path_of(const struct worker_group *group, char ret_path[64])
{
	ret_path[0] = '\0';
	if (group->process && group->process->root_fd >= 0)
		snprintf(ret_path, 64, "/proc/self/fd/%d", group->process->root_fd);
}

static bool is_behind_system_call(const struct worker *worker, u64 offset)
{
	static const u8 instruction[] = ARCH_SYSTEM_CALL_INSTRUCTION;
	u8 bytes[ARCH_SYSTEM_CALL_BYTES];

	return offset >= sizeof(bytes) &&
	       elf_file_read(worker->elf, offset - sizeof(bytes), bytes, sizeof(bytes)) ==
		       sizeof(bytes) &&
	       !memcmp(bytes, instruction, sizeof(bytes));
}

/* They stay sorted: a file whose segments are not in order gives nothing for those that are not. */
static void find_file_addresses(struct worker *worker)
{
	u64 last = 0;

	for (size_t i = 0; i < worker->group->count; i++) {
		u64 *address = &worker->file_addresses[i];
		u64 offset = worker->group->addresses[i].file_offset;

		if (elf_file_address(worker->elf, offset, address) || *address < last)
			*address = ~0ULL;
		else
			last = *address;
		worker->looked_up[i] = *address;
		if (*address != ~0ULL && is_behind_system_call(worker, offset))
			worker->looked_up[i]--;
	}
}

static void find_missing_callers(struct worker *worker)
{
	struct frame_chain *chain = frame_chain_open(worker->group->fd);

	for (size_t i = 0; chain && i < worker->group->count; i++)
		if (worker->file_addresses[i] != ~0ULL)
			worker->caller_missing[i] =
				frame_chain_leaves_out_caller(chain, worker->looked_up[i]);
	frame_chain_close(chain);
}

static void run_file(struct worker *worker)
{
	const struct worker_group *group = worker->group;
	char root_path[64];

	if (elf_file_open(group->fd, group->path, &worker->elf, NULL))
		return;
	elf_file_set_debug_file(worker->elf, group->debug_fd);
	root_path_of(group, root_path);
	find_file_addresses(worker);
	find_missing_callers(worker);
	if (!elf_symbols_load(worker->elf, root_path, &worker->symbols, NULL)) {
		send_symbols(worker);
		find_collector(worker);
		find_lines(worker, root_path);
		want_debug_file(worker);
		elf_symbols_free(&worker->symbols);
	}
	elf_file_free(worker->elf);
}

static void on_jit(void *data, size_t index, u64 start, const char *name, size_t length)
{
	struct worker *worker = data;
	u64 address = worker->group->addresses[index].file_offset;
	struct wire_message message = {.type = WIRE_FRAME,
				       .index = worker->group->addresses[index].index,
				       .file_address = ~0ULL,
				       .offset_bytes =
					       address - start < ~0U ? address - start : ~0U,
				       .origin = VALUE_frame_origin_jit};

	text_clear(&worker->name);
	text_append_bytes(&worker->name, name, length);
	send(worker, message, text_string(&worker->name), "");
}

static void run_jit(struct worker *worker)
{
	const struct worker_group *group = worker->group;
	_cleanup_close_ int fd = -1;

	if (!group->process || jit_map_open(group->process, &fd))
		return;
	for (size_t i = 0; i < group->count; i++)
		worker->file_addresses[i] = group->addresses[i].file_offset;
	(void)jit_map_read(fd, worker->file_addresses, group->count, on_jit, worker);
}

static void run_group(struct worker *worker, size_t index)
{
	struct wire_message begin = {.type = WIRE_GROUP, .index = index};

	worker->group = &worker->config->groups[index];
	if (worker->group->skip)
		return;
	send(worker, begin, "", "");
	worker->file_addresses = calloc(worker->group->count + 1, sizeof(u64));
	worker->looked_up = calloc(worker->group->count + 1, sizeof(u64));
	worker->caller_missing = calloc(worker->group->count + 1, sizeof(bool));
	if (!worker->file_addresses || !worker->looked_up || !worker->caller_missing)
		worker->failed = true;
	else if (worker->group->fd >= 0)
		run_file(worker);
	else
		run_jit(worker);
	free(worker->file_addresses);
	free(worker->looked_up);
	free(worker->caller_missing);
	flush(worker);
}

void worker_run(const struct worker_config *config)
{
	struct worker worker = {.config = config};

	for (size_t i = config->first; i < config->group_count && !worker.failed; i++)
		run_group(&worker, i);
	if (!worker.failed)
		send(&worker, (struct wire_message){.type = WIRE_END}, "", "");
	text_free(&worker.name);
	text_free(&worker.buffer);
}
