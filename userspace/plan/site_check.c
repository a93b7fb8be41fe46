/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/site_check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "plan/plan_parts.h"
#include "probe/kernel.h"
#include "process/maps.h"
#include "process/proc_file.h"

#define WINDOW_BYTES 4096
#define AT_ONCE	     512 /* a call takes 1,024 (UIO_MAXIOV) */
#define TRAMPOLINE   "[uprobes-trampoline]"

/* Of a module. */
struct place {
	u64 file_offset;
	const struct site_bytes *planned;
	bool *changed;
	const char *provider, *name; /* provider: of a USDT probe; NULL */
};

struct places {
	struct place *items;
	size_t count, capacity;
};

/* What of a target's memory is code. */
struct code_memory {
	u32 pid; /* of a thread that lives */
	int memory_fd;
	struct maps_line *lines; /* without their paths */
	size_t count, capacity;
	u64 trampolines[8]; /* where those of the kernel begin: one near each 2 GiB of code */
	size_t trampoline_count;
};

struct check {
	const struct code_module *module;
	const struct target *target; /* NULL: the file */
	struct site_changes *changes;
};

static void note(const struct check *check, const struct place *place)
{
	struct text text _cleanup_text_ = {0};

	if (*place->changed)
		return;
	*place->changed = true;
	if (check->changes->count++)
		return;
	if (place->provider) {
		text_append_terminal(&text, place->provider, strlen(place->provider));
		text_append_char(&text, ':');
	}
	text_append_terminal(&text, place->name, strlen(place->name));
	text_append(&text, " of ");
	text_append_terminal(&text, check->module->path, strlen(check->module->path));
	if (check->target)
		text_appendf(
			&text,
			": the code there in the memory of process %u is not that of the file: "
			"it was patched",
			check->target->pid);
	else
		text_append(&text, ": the file was changed since the probes were planned");
	snprintf(check->changes->first, sizeof(check->changes->first), "%s", text_string(&text));
}

/* ---- which places ---- */

static int add(struct places *places, const struct place *place)
{
	if (array_reserve(&places->items, &places->capacity, places->count + 1))
		return -ENOMEM;
	places->items[places->count++] = *place;
	return 0;
}

static int add_function(struct places *places, struct plan_function *function)
{
	struct place place = {.file_offset = function->file_offset,
			      .planned = &function->bytes,
			      .changed = &function->changed,
			      .name = function->name};
	int result = add(places, &place);

	/* Who patches a function writes over its first instruction: one that is probed behind it would not be seen. */
	if (function->placed_bytes && !result) {
		place.file_offset -= function->placed_bytes;
		place.planned = &function->first;
		result = add(places, &place);
	}
	for (size_t s = 0; s < function->site_count && !result; s++) {
		place.file_offset = function->sites[s].file_offset;
		place.planned = &function->sites[s].bytes;
		result = add(places, &place);
	}
	return result;
}

static int add_usdt(struct places *places, struct plan_usdt *usdt)
{
	int result = 0;

	for (size_t s = 0; s < usdt->site_count && !result; s++) {
		struct place place = {.file_offset = usdt->sites[s].file_offset,
				      .planned = &usdt->sites[s].bytes,
				      .changed = &usdt->sites[s].changed,
				      .provider = usdt->provider,
				      .name = usdt->name};

		result = add(places, &place);
	}
	return result;
}

static int compare_places(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	return a->file_offset < b->file_offset ? -1 : a->file_offset > b->file_offset;
}

/* By their place in the file. */
static int places_list(const struct plan *plan, size_t module, struct places *places)
{
	int result = 0;

	places->count = 0;
	for (size_t i = 0; i < plan->function_count && !result; i++)
		if (plan->functions[i].module == module)
			result = add_function(places, &plan->functions[i]);
	for (size_t i = 0; i < plan->usdt_count && !result; i++)
		if (plan->usdt[i].module == module)
			result = add_usdt(places, &plan->usdt[i]);
	if (places->count)
		qsort(places->items, places->count, sizeof(*places->items), compare_places);
	return result;
}

/* ---- the file ---- */

/* What can't be read any more has been cut off. */
static void check_file(const struct check *check, const struct places *places)
{
	u8 window[WINDOW_BYTES + SITE_BYTES_MAX];
	u64 begin = 0;
	size_t size = 0;

	for (size_t i = 0; i < places->count; i++) {
		const struct place *place = &places->items[i];
		u64 offset = place->file_offset, end = offset + place->planned->size_bytes;

		if (!size || offset < begin || end > begin + size) {
			ssize_t got;

			begin = offset - offset % WINDOW_BYTES;
			got = pread(check->module->fd, window, sizeof(window), (off_t)begin);
			size = got > 0 ? (size_t)got : 0;
		}
		if (end > begin + size ||
		    !site_bytes_match(place->planned, window + (offset - begin), 0, NULL, NULL))
			note(check, place);
	}
}

/* ---- the memory of a target ---- */

static void code_memory_close(struct code_memory *memory)
{
	free(memory->lines);
	cleanup_close(&memory->memory_fd);
}

static int code_memory_open(const struct target *target, struct code_memory *ret_memory)
{
	struct code_memory memory = {.pid = target->thread,
				     .memory_fd =
					     openat(target->proc_fd, "mem", O_RDONLY | O_CLOEXEC)};
	_cleanup_free_ char *text = NULL;
	struct maps_line line;
	char *rest;

	*ret_memory = (struct code_memory){.memory_fd = -1};
	/* One that has ended has nothing to compare. */
	if (proc_file_read(target->proc_fd, "maps", &text, NULL)) {
		code_memory_close(&memory);
		return 0;
	}
	rest = text;
	while (maps_next(&rest, &line)) {
		if (!strcmp(line.path, TRAMPOLINE) &&
		    memory.trampoline_count < ARRAY_SIZE(memory.trampolines))
			memory.trampolines[memory.trampoline_count++] = line.start;
		if (!line.executable || !line.inode)
			continue;
		if (array_reserve(&memory.lines, &memory.capacity, memory.count + 1)) {
			code_memory_close(&memory);
			return -ENOMEM;
		}
		line.path = NULL;
		memory.lines[memory.count++] = line;
	}
	*ret_memory = memory;
	return 0;
}

/* They begin with their page. */
static bool is_trampoline(const void *data, u64 address)
{
	const struct code_memory *memory = data;

	for (size_t i = 0; i < memory->trampoline_count; i++)
		if (memory->trampolines[i] == address)
			return true;
	return false;
}

/* Places [0, count) of a mapping that begins at `base` less its place in the file. */
static void check_some(const struct check *check, const struct code_memory *memory, u64 base,
		       const struct place *places, size_t count)
{
	u8 bytes[AT_ONCE][SITE_BYTES_MAX] = {{0}};
	struct iovec local[AT_ONCE], remote[AT_ONCE];
	size_t done = 0;

	for (size_t i = 0; i < count; i++) {
		size_t size = places[i].planned->size_bytes;

		local[i] = (struct iovec){bytes[i], size};
		remote[i] = (struct iovec){(void *)(base + places[i].file_offset), size};
	}
	while (done < count) {
		ssize_t got = process_vm_readv((pid_t)memory->pid, local + done, count - done,
					       remote + done, count - done, 0);

		if (got < 0 && errno != EFAULT)
			return;
		for (; done < count && got >= (ssize_t)local[done].iov_len; done++) {
			got -= (ssize_t)local[done].iov_len;
			if (!site_bytes_match(places[done].planned, bytes[done],
					      base + places[done].file_offset, is_trampoline,
					      memory))
				note(check, &places[done]);
		}
		if (done == count)
			return;
		/* That page may be executed but not read. */
		if (pread(memory->memory_fd, bytes[done], local[done].iov_len,
			  (off_t)(base + places[done].file_offset)) ==
			    (ssize_t)local[done].iov_len &&
		    !site_bytes_match(places[done].planned, bytes[done],
				      base + places[done].file_offset, is_trampoline, memory))
			note(check, &places[done]);
		done++;
	}
}

static void check_mapping(const struct check *check, const struct code_memory *memory,
			  const struct maps_line *line, const struct places *places)
{
	u64 base = line->start - line->file_offset;
	u64 end = line->file_offset + (line->end - line->start);
	size_t first = 0, count;

	while (first < places->count && places->items[first].file_offset < line->file_offset)
		first++;
	while (first < places->count && places->items[first].file_offset < end) {
		for (count = 0; count < AT_ONCE && first + count < places->count &&
				places->items[first + count].file_offset < end;
		     count++)
			;
		check_some(check, memory, base, &places->items[first], count);
		first += count;
	}
}

static void check_memory(const struct check *check, const struct code_memory *memory,
			 const struct places *places)
{
	for (size_t i = 0; i < memory->count; i++)
		if (memory->lines[i].device == check->module->maps_device &&
		    memory->lines[i].inode == check->module->maps_inode)
			check_mapping(check, memory, &memory->lines[i], places);
}

/* ---- all of it ---- */

static int check_modules(const struct plan *plan, const struct target *targets, size_t target_count,
			 const struct code_memory *memories, struct site_changes *changes)
{
	struct places places = {0};
	int result = 0;

	for (size_t m = 0; m < plan->module_count && !result; m++) {
		struct check check = {.module = &plan->modules[m], .changes = changes};

		result = places_list(plan, m, &places);
		if (result || !places.count)
			continue;
		check_file(&check, &places);
		for (size_t t = 0; t < target_count; t++) {
			check.target = &targets[t];
			if (module_is_mapped_by(check.module, t))
				check_memory(&check, &memories[t], &places);
		}
	}
	free(places.items);
	return result;
}

int site_check(const struct plan *plan, const struct target *targets, size_t target_count,
	       struct site_changes *changes)
{
	_cleanup_free_ struct code_memory *memories = calloc(target_count + 1, sizeof(*memories));
	size_t opened = 0;
	int result = memories ? 0 : -ENOMEM;

	if (!plan->function_count && !plan->usdt_count)
		return 0;
	for (; opened < target_count && !result; opened++)
		result = code_memory_open(&targets[opened], &memories[opened]);
	if (!result)
		result = check_modules(plan, targets, target_count, memories, changes);
	while (opened)
		code_memory_close(&memories[--opened]);
	return result;
}

/* ---- beside a plan ---- */

/* Of each place the instruction that the file has now; where it has none it can't be the same. One that this kernel makes something
 * deadly of is as one that has changed. */
static int functions_fill(const struct site_offsets *offsets, struct plan_function *functions,
			  struct site_changes *changes)
{
	struct decoder *decoder = NULL;
	int result = decoder_create(&decoder, NULL);
	bool asked = false, kills = false;

	for (size_t i = 0; i < offsets->count && !result; i++) {
		u8 bytes[INSTRUCTION_MAX_BYTES];
		ssize_t got = pread(offsets->fd, bytes, sizeof(bytes), (off_t)offsets->offsets[i]);

		functions[i].file_offset = offsets->offsets[i];
		functions[i].name = (char *)"a watched function";
		functions[i].bytes.size_bytes = 1;
		if (got > 0)
			site_bytes_keep(decoder, bytes, (size_t)got, 0, &functions[i].bytes);
		if (got <= 0 || !site_bytes_is_long_nop(&functions[i].bytes))
			continue;
		kills = asked ? kills : kernel_long_nop_probe() == KERNEL_LONG_NOP_KILLS;
		asked = true;
		functions[i].changed = kills;
		changes->count += kills;
		if (kills && changes->count == 1)
			snprintf(changes->first, sizeof(changes->first),
				 "a watched function begins with a nop of five "
				 "bytes: " PLAN_LONG_NOP_KILLS);
	}
	decoder_free(decoder);
	return result;
}

int site_check_offsets(const struct target *target, struct site_offsets *offsets,
		       struct site_changes *changes)
{
	size_t first_target = 0, kept = 0;
	struct code_module module = {.path = (char *)offsets->path,
				     .fd = offsets->fd,
				     .maps_device = offsets->maps_device,
				     .maps_inode = offsets->maps_inode,
				     .targets = &first_target,
				     .target_count = 1};
	_cleanup_free_ struct plan_function *functions =
		calloc(offsets->count + 1, sizeof(*functions));
	const struct plan plan = {.modules = &module,
				  .module_count = 1,
				  .functions = functions,
				  .function_count = offsets->count};
	int result = functions ? functions_fill(offsets, functions, changes) : -ENOMEM;

	if (!result)
		result = site_check(&plan, target, 1, changes);
	for (size_t i = 0; i < offsets->count && !result; i++) {
		if (functions[i].changed)
			continue;
		offsets->offsets[kept] = offsets->offsets[i];
		offsets->cookies[kept++] = offsets->cookies[i];
	}
	offsets->count = kept;
	return result;
}
