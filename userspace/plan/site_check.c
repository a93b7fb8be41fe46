/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/site_check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"
#include "plan/code_pieces.h"
#include "plan/plan_parts.h"
#include "probe/kernel.h"
#include "process/file_pages.h"

#define WINDOW_BYTES 4096

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

struct check {
	const struct plan *plan;
	const struct code_module *module;
	const struct target *target;	  /* NULL: the file */
	const struct code_memory *memory; /* its */
	bool unreached;			  /* what is told now takes no breakpoint */
	bool another_file;		  /* the target runs one that can't be reached any more */
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
	if (check->another_file)
		text_appendf(
			&text,
			": the file was written to, or given other permissions, since process "
			"%u mapped it: overlayfs has made a copy, and the process runs the one "
			"below, where no probe can be put in. It has to be started again",
			check->target->pid);
	else if (check->unreached)
		text_appendf(&text,
			     ": process %u can write to the code there, or shares it, and the "
			     "kernel puts no probe into such memory",
			     check->target->pid);
	else if (check->target)
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
		    !site_bytes_match(place->planned, window + (offset - begin)))
			note(check, place);
	}
}

/* ---- the memory of a target ---- */

static void on_changed(void *data, size_t number, u64 address)
{
	struct check *check = data;
	struct code_piece_owner owner = code_piece_owner(check->plan, number);
	struct place place;

	if (owner.function)
		place = (struct place){.changed = &owner.function->changed,
				       .name = owner.function->name};
	else
		place = (struct place){.changed = &owner.site->changed,
				       .provider = owner.usdt->provider,
				       .name = owner.usdt->name};
	check->module = &check->plan->modules[owner.module];
	check->unreached = !code_memory_takes_breakpoint(check->memory, address);
	if (owner.function && check->unreached)
		owner.function->unreached = true;
	note(check, &place);
}

/* The container of another target still leads to the file below: what is put in there is in all processes that run it. */
static bool is_reached_by_another(const struct plan *plan, const struct code_module *module,
				  const struct code_memory *memory)
{
	for (size_t m = 0; m < plan->module_count; m++) {
		const struct code_module *other = &plan->modules[m];

		if (other != module && other->overlay &&
		    !strcmp(path_base_name(other->path), path_base_name(module->path)) &&
		    !code_memory_is_of_another_file(memory, module, other->fd))
			return true;
	}
	return false;
}

/* Probes would be put in where the process does not run. */
static int check_file_below(const struct check *of_target, const struct code_memory *memory)
{
	const struct plan *plan = of_target->plan;
	struct check check = *of_target;
	struct places places = {0};
	int result = 0;

	check.another_file = true;
	for (size_t m = 0; m < plan->module_count && !result; m++) {
		check.module = &plan->modules[m];
		if (!check.module->overlay)
			continue;
		result = places_list(plan, m, &places);
		if (result || !places.count ||
		    !code_memory_is_of_another_file(memory, check.module, check.module->fd) ||
		    is_reached_by_another(plan, check.module, memory))
			continue;
		for (size_t i = 0; i < places.count; i++)
			note(&check, &places.items[i]);
	}
	free(places.items);
	return result;
}

static int check_memory(const struct plan *plan, const struct target *target,
			struct site_changes *changes)
{
	struct check check = {.plan = plan, .target = target, .changes = changes};
	struct code_memory *memory = NULL;
	int result = code_memory_open(target, &memory);

	if (!result)
		result = check_file_below(&check, memory);
	if (!result)
		code_memory_doubt_breakpoints(memory, target);
	check.memory = memory;
	if (!result)
		result = code_pieces_compare(plan, memory, on_changed, &check);
	code_memory_close(memory);
	return result;
}

/* ---- all of it ---- */

static int check_files(const struct plan *plan, struct site_changes *changes)
{
	struct places places = {0};
	int result = 0;

	for (size_t m = 0; m < plan->module_count && !result; m++) {
		struct check check = {
			.plan = plan, .module = &plan->modules[m], .changes = changes};

		result = places_list(plan, m, &places);
		if (!result)
			check_file(&check, &places);
	}
	free(places.items);
	return result;
}

int site_check(const struct plan *plan, const struct target *targets, size_t target_count,
	       struct site_changes *changes)
{
	int result = 0;

	if (!plan->function_count && !plan->usdt_count)
		return 0;
	result = check_files(plan, changes);
	for (size_t t = 0; t < target_count && !result; t++)
		result = check_memory(plan, &targets[t], changes);
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
	struct code_module module = {
		.path = (char *)offsets->path,
		.fd = offsets->fd,
		.overlay = file_pages_is_overlay(offsets->fd),
		.numbers = {.maps_device = offsets->maps_device, .maps_inode = offsets->maps_inode},
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
