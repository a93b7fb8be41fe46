/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recording/frames.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/text.h"
#include "resolve/debug_server.h"
#include "resolve/debug_store.h"
#include "resolve/kernel_symbols.h"
#include "resolve/resolve.h"

#define TIME_MAX_NS	 (5 * NS_PER_SECOND)
#define MEMORY_MAX_BYTES (1ULL << 30)
#define DEBUG_MAX_BYTES	 (256ULL << 20)

struct output {
	const struct code_map *code;
	const struct stack_address *addresses;
	struct text_ids *texts;
	struct batch *batch;
	u64 now_ns;
};

static u8 yes_no(bool yes)
{
	return yes ? VALUE_yes_no_yes : 0;
}

/* Memory without a file has no fact yet. */
static int add_anonymous_module(const struct output *output, const struct code_mapping *mapping)
{
	struct record_module fact = {.header = {.size_bytes = sizeof(fact),
						.kind = KIND_module,
						.source = RECORD_SOURCE_TOOL,
						.ts = mapping->first_seen_ns,
						.pid = mapping->pid},
				     .id = mapping->id,
				     .start = mapping->start,
				     .end = mapping->end,
				     .file_offset = ~0ULL};
	int result = text_ids_get(output->texts, output->batch, "[anonymous]", &fact.header.name);

	return result ? result : batch_add(output->batch, &fact.header);
}

static int add_frame(void *data, const struct resolve_frame *frame)
{
	const struct output *output = data;
	const struct code_mapping *mapping = &output->code->mappings[frame->mapping - 1];
	struct record_frame fact = {.header = {.size_bytes = sizeof(fact),
					       .kind = KIND_frame,
					       .source = RECORD_SOURCE_TOOL,
					       .ts = output->now_ns,
					       .pid = output->addresses[frame->address].pid},
				    .address = output->addresses[frame->address].address,
				    .file_address = frame->file_address,
				    .module = frame->mapping,
				    .line = frame->line,
				    .offset_bytes = frame->offset_bytes,
				    .level = frame->level,
				    .inlined = yes_no(frame->inlined),
				    .origin = frame->origin,
				    .begins = yes_no(frame->begins),
				    .caller_missing = yes_no(frame->caller_missing)};
	int result = text_ids_get(output->texts, output->batch, frame->name, &fact.header.name);

	if (!result)
		result = text_ids_get(output->texts, output->batch, frame->file, &fact.file);
	if (!result && !mapping->inode && mapping->path[0] != '[')
		result = add_anonymous_module(output, mapping);
	return result ? result : batch_add(output->batch, &fact.header);
}

/* Modules of the kernel have facts of their own, beside the files that processes map. */
#define KERNEL_MODULES_FIRST 0x80000000U

struct kernel_modules {
	struct string_table names;
};

/* The id of the fact for it, which is written when it is first asked for. */
static int kernel_module_id(const struct output *output, struct kernel_modules *modules,
			    const char *module, u32 *ret_id)
{
	size_t before = modules->names.count;
	_cleanup_text_ struct text name = {0};
	struct record_module fact = {.header = {.size_bytes = sizeof(fact),
						.kind = KIND_module,
						.source = RECORD_SOURCE_TOOL,
						.ts = output->now_ns},
				     .file_offset = ~0ULL};
	s64 number;
	int result;

	text_appendf(&name, "[%s]", module[0] ? module : "kernel");
	number = name.failed ? -ENOMEM : string_table_add(&modules->names, name.data, name.length);
	if (number < 0)
		return -ENOMEM;
	*ret_id = fact.id = KERNEL_MODULES_FIRST + (u32)number;
	if (modules->names.count == before)
		return 0;
	result = text_ids_get(output->texts, output->batch, text_string(&name), &fact.header.name);
	return result ? result : batch_add(output->batch, &fact.header);
}

static int add_kernel_frame(const struct output *output, struct kernel_modules *modules,
			    const struct kernel_symbols *symbols, u64 address)
{
	const struct kernel_symbol *symbol = kernel_symbols_find(symbols, address);
	struct record_frame fact = {.header = {.size_bytes = sizeof(fact),
					       .kind = KIND_frame,
					       .source = RECORD_SOURCE_TOOL,
					       .ts = output->now_ns},
				    .address = address,
				    .file_address = ~0ULL,
				    .offset_bytes = ~0U};
	int result = kernel_module_id(output, modules, symbol ? symbol->module : "", &fact.module);

	if (!result && symbol) {
		fact.offset_bytes = (u32)(address - symbol->address);
		fact.origin = VALUE_frame_origin_kernel;
		result =
			text_ids_get(output->texts, output->batch, symbol->name, &fact.header.name);
	}
	return result ? result : batch_add(output->batch, &fact.header);
}

/* Its symbols are read only where it is in a stack. */
static int add_kernel_frames(const struct output *output, const struct stack_addresses *stacks)
{
	struct kernel_symbols symbols = {0};
	struct kernel_modules modules = {0};
	bool read = false;
	int result = 0;

	for (size_t i = 0; i < stacks->count && !result; i++) {
		if (!stack_address_is_kernel(stacks->items[i].address))
			continue;
		if (!read)
			kernel_symbols_read(KERNEL_SYMBOLS_PATH, &symbols);
		read = true;
		result = add_kernel_frame(output, &modules, &symbols, stacks->items[i].address);
	}
	kernel_symbols_free(&symbols);
	string_table_free(&modules.names);
	return result;
}

static int add_python_frame(const struct output *output, const struct stack_address *address,
			    const struct python_codes *codes)
{
	struct python_place place = python_codes_find(codes, address->address);
	struct record_frame fact = {.header = {.size_bytes = sizeof(fact),
					       .kind = KIND_frame,
					       .source = RECORD_SOURCE_TOOL,
					       .ts = output->now_ns,
					       .pid = address->pid},
				    .address = address->address,
				    .file_address = ~0ULL,
				    .line = place.line,
				    .function_line = place.function_line,
				    .offset_bytes = ~0U,
				    .origin = VALUE_frame_origin_python};
	int result = text_ids_get(output->texts, output->batch, place.name, &fact.header.name);

	if (!result)
		result = text_ids_get(output->texts, output->batch, place.file, &fact.file);
	return result ? result : batch_add(output->batch, &fact.header);
}

static int add_python_frames(const struct output *output, const struct stack_addresses *stacks,
			     const struct python_codes *codes)
{
	int result = 0;

	for (size_t i = 0; i < stacks->count && !result; i++)
		if (PYTHON_IS_FRAME(stacks->items[i].address))
			result = add_python_frame(output, &stacks->items[i], codes);
	return result;
}

static struct resolve_mapping *make_mappings(const struct code_map *code)
{
	struct resolve_mapping *mappings = calloc(code->count + 1, sizeof(*mappings));

	for (size_t i = 0; mappings && i < code->count; i++) {
		const struct code_mapping *mapping = &code->mappings[i];

		mappings[i] = (struct resolve_mapping){
			.pid = mapping->pid,
			.id = mapping->id,
			.start = mapping->start,
			.end = mapping->end,
			.file_offset = mapping->file_offset,
			.first_seen_ns = mapping->first_seen_ns,
			.last_seen_ns = mapping->last_seen_ns,
			.path = mapping->path,
			.fd = mapping->file == SIZE_MAX ? -1 : code->files[mapping->file].fd,
		};
	}
	return mappings;
}

static struct resolve_process *make_processes(const struct code_map *code)
{
	struct resolve_process *processes = calloc(code->process_count + 1, sizeof(*processes));

	for (size_t i = 0; processes && i < code->process_count; i++)
		processes[i] = (struct resolve_process){
			.pid = code->processes[i].pid,
			.pid_in_namespace = code->processes[i].pid_in_namespace,
			.uid = code->processes[i].uid,
			.root_fd = code->processes[i].root_fd,
		};
	return processes;
}

static struct resolve_address *make_addresses(const struct stack_addresses *stacks,
					      const struct code_map *code)
{
	struct resolve_address *addresses = calloc(stacks->count + 1, sizeof(*addresses));

	for (size_t i = 0; addresses && i < stacks->count; i++)
		addresses[i] = (struct resolve_address){
			.address = stacks->items[i].address,
			.first_ns = stacks->items[i].first_ns,
			.last_ns = stacks->items[i].last_ns,
			.pid = code_map_owner(code, stacks->items[i].pid, stacks->items[i].last_ns),
		};
	return addresses;
}

static int add_cut(struct batch *batch, u64 count)
{
	const struct record_loss fact = {.header = {.size_bytes = sizeof(fact),
						    .kind = KIND_loss,
						    .source = RECORD_SOURCE_TOOL,
						    .ts = clock_monotonic_ns()},
					 .reason = VALUE_loss_reason_names_cut,
					 .count = count};

	return count ? batch_add(batch, &fact.header) : 0;
}

static struct resolve_limits limits_of(const struct frames_config *config)
{
	struct resolve_limits limits = {.time_ns = TIME_MAX_NS,
					.memory_bytes = MEMORY_MAX_BYTES,
					.debug_max_bytes = DEBUG_MAX_BYTES};

	if (debug_server_is_set())
		limits.debug = (struct resolve_debug){
			.folder = config->keeps_debug_files ? DEBUG_STORE_FOLDER : NULL,
			.time_ns = FRAMES_DEBUG_TIME_NS,
			.bytes = FRAMES_DEBUG_BYTES,
			.on_ask = config->on_debug_files_asked};
	return limits;
}

int frames_put(const struct frames_config *config, const struct stack_addresses *stacks,
	       const struct code_map *code, const struct python_codes *python,
	       struct text_ids *texts, struct batch *batch, struct resolve_debug_status *ret_debug)
{
	const struct resolve_limits limits = limits_of(config);
	_cleanup_free_ struct resolve_mapping *mappings = make_mappings(code);
	_cleanup_free_ struct resolve_process *processes = make_processes(code);
	_cleanup_free_ struct resolve_address *addresses = make_addresses(stacks, code);
	const struct resolve_input input = {.mappings = mappings,
					    .mapping_count = code->count,
					    .processes = processes,
					    .process_count = code->process_count,
					    .addresses = addresses,
					    .address_count = stacks->count};
	struct output output = {code, stacks->items, texts, batch, clock_monotonic_ns()};
	struct resolve_status status = {0};
	struct err err = {0};
	int result;

	if (!mappings || !processes || !addresses)
		return -ENOMEM;
	result = resolve_frames(&input, &limits, add_frame, &output, &status, &err);
	log_debug("%llu addresses of stacks have names, %llu have none: %.2f s",
		  (unsigned long long)status.named_count, (unsigned long long)status.unnamed_count,
		  (double)status.took_ns / NS_PER_SECOND);
	*ret_debug = status.debug;
	if (!result)
		result = add_kernel_frames(&output, stacks);
	if (!result)
		result = add_python_frames(&output, stacks, python);
	return result ? result : add_cut(batch, status.cut_count + stacks->dropped_count);
}
