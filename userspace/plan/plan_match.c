/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/plan_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/heap_functions.h"
#include "base/cleanup.h"
#include "base/demangle.h"
#include "elf/elf_sleds.h"

/* The matching of one module. */
struct matcher {
	struct plan_builder *builder;
	size_t module;
	struct module_code *code;
	struct pattern_name name;
	bool *relevant;	     /* for each pattern: does its BINARY mean this module? */
	const char *differs; /* see plan_file_differs() */
	u64 patchers;	     /* see plan_patchers_find() */
	struct elf_sleds sleds;
};

/* All symbols at one address: one function with aliases. */
struct alias_group {
	const struct elf_symbol *symbols;
	size_t count;
	const struct elf_symbol *best; /* of those that a pattern includes */
	bool exact;		       /* a pattern names one of them without wildcards */
	bool by_user, counted, launch,
		other; /* what the patterns that include one of them are for */
};

bool plan_is_cold_part(const char *name)
{
	static const char *const suffixes[] = {".cold", ".__part"};

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		const char *found = strstr(name, suffixes[i]);
		char next = found ? found[strlen(suffixes[i])] : 0;

		if (found && (next == 0 || next == '.'))
			return true;
	}
	return false;
}

/* Is `a` the better name to show? See plan.h. */
static bool name_is_better(const struct elf_symbol *a, const struct elf_symbol *b)
{
	size_t length_a = strlen(a->name), length_b = strlen(b->name);

	if (a->global != b->global)
		return a->global;
	if ((a->name[0] == '_') != (b->name[0] == '_'))
		return a->name[0] != '_';
	if (length_a != length_b)
		return length_a < length_b;
	return strcmp(a->name, b->name) < 0;
}

static const struct allocator *find_allocator(const struct matcher *matcher, const char *name)
{
	return matcher->builder->limits->heap ? heap_function_find(name) : allocator_find(name);
}

/* There are too many for patterns. */
static bool group_allocates(const struct matcher *matcher, struct alias_group *group)
{
	for (size_t i = 0; i < group->count; i++) {
		const struct elf_symbol *symbol = &group->symbols[i];

		if (find_allocator(matcher, symbol->name) &&
		    (!group->best || name_is_better(symbol, group->best)))
			group->best = symbol;
	}
	return group->best;
}

/* Applies all patterns to all aliases: an exclusion of one name takes the function away. */
static bool group_matches(struct matcher *matcher, struct alias_group *group)
{
	struct plan_builder *builder = matcher->builder;
	bool excluded = false;

	for (size_t p = 0; p < builder->pattern_count; p++) {
		const struct pattern *pattern = &builder->patterns[p];
		bool hit = false;

		if (!matcher->relevant[p] || (pattern->exclude && !group->best))
			continue;
		for (size_t i = 0; i < group->count; i++) {
			const struct elf_symbol *symbol = &group->symbols[i];

			if (matcher->name.mangled != symbol->name)
				pattern_name_set(&matcher->name, symbol->name);
			if (!pattern_matches_name(pattern, &matcher->name))
				continue;
			hit = true;
			if (pattern->exclude)
				break;
			group->by_user |= p >= builder->limits->optional_patterns;
			group->counted |= p >= builder->limits->recorded_patterns;
			group->launch |= p < builder->limits->launch_patterns;
			group->other |= p >= builder->limits->launch_patterns;
			group->exact |= pattern_is_exactly(pattern, symbol->name);
			if (!group->best || name_is_better(symbol, group->best))
				group->best = symbol;
		}
		builder->hits[p] += hit;
		excluded |= hit && pattern->exclude;
	}
	return group->best && !excluded;
}

static char *readable_name(struct matcher *matcher, const char *mangled)
{
	struct text *full = &matcher->name.full;

	return strdup(demangle(mangled, DEMANGLE_FULL, full) ? text_string(full) : mangled);
}

static int skipped_add(struct matcher *matcher, const struct elf_symbol *symbol, const char *reason)
{
	struct plan_builder *builder = matcher->builder;
	struct plan *plan = builder->plan;
	char *name;

	if (plan->skipped_count == builder->skipped_capacity) {
		size_t capacity = builder->skipped_capacity * 2 + 64;
		struct plan_skipped *skipped =
			reallocarray(plan->skipped, capacity, sizeof(*skipped));

		if (!skipped)
			return -ENOMEM;
		plan->skipped = skipped;
		builder->skipped_capacity = capacity;
	}
	name = readable_name(matcher, symbol->name);
	if (!name)
		return -ENOMEM;
	plan->skipped[plan->skipped_count++] =
		(struct plan_skipped){matcher->module, name, symbol->address, reason};
	return 0;
}

/* Of one of unknown size what its probe, and the way there, may take. */
#define UNKNOWN_SIZE_BYTES 64

static u64 group_size(const struct alias_group *group)
{
	u64 size_bytes = 0;

	for (size_t i = 0; i < group->count; i++)
		if (group->symbols[i].size_bytes > size_bytes)
			size_bytes = group->symbols[i].size_bytes;
	return size_bytes ? size_bytes : UNKNOWN_SIZE_BYTES;
}

static int function_add(struct matcher *matcher, const struct alias_group *group,
			const struct function_place *place)
{
	struct plan_builder *builder = matcher->builder;
	struct plan *plan = builder->plan;
	struct plan_function *function;
	const char *why = NULL;

	if (plan->function_count == builder->function_capacity) {
		size_t capacity = builder->function_capacity * 2 + 256;
		struct plan_function *functions =
			reallocarray(plan->functions, capacity, sizeof(*functions));

		if (!functions)
			return -ENOMEM;
		plan->functions = functions;
		builder->function_capacity = capacity;
	}
	function = &plan->functions[plan->function_count++];
	*function = (struct plan_function){
		.module = matcher->module,
		.address = group->best->address,
		.size_bytes = group_size(group),
		.file_offset = place->file_offset,
		.bytes = place->bytes,
		.first = place->first,
		.placed_bytes = place->placed_bytes,
		.cost = place->cost,
		.long_nop = place->long_nop,
		.restarts = place->restarts,
		.lost_arguments = place->lost_arguments,
		.condition = place->condition,
		.by_level = !group->by_user,
		.counted = group->counted,
		.launch = group->launch,
		.launch_only = group->launch && !group->other,
		.name = readable_name(matcher, group->best->name),
	};
	if (function->name && strcmp(function->name, group->best->name) != 0 &&
	    !(function->mangled = strdup(group->best->name)))
		return -ENOMEM;
	/* Any of its names may be the one that tells. */
	for (size_t i = 0; i < group->count && !function->entry_only_reason; i++)
		function->entry_only_reason = plan_policy_by_name(group->symbols[i].name, &why);
	/* Of those that are only probed for stacks nothing else is recorded. */
	for (size_t i = 0; i < group->count && !function->allocator && !function->launch_only; i++)
		function->allocator = find_allocator(matcher, group->symbols[i].name);
	for (size_t i = 0; i < group->count && !function->matmul; i++)
		function->matmul = matmul_find(group->symbols[i].name);
	if (why && !(function->detail = strdup(why)))
		return -ENOMEM;
	return function->name ? 0 : -ENOMEM;
}

/* Programs that copy their code to huge pages leave the file's pages unmapped: a probe there is
 * never hit. */
bool plan_maps_offset(const struct code_module *module, u64 file_offset)
{
	for (size_t i = 0; i < module->range_count; i++) {
		const struct mapped_range *range = &module->ranges[i];

		if (file_offset >= range->file_offset &&
		    file_offset - range->file_offset < range->size_bytes)
			return true;
	}
	return false;
}

static bool has_sled(const struct matcher *matcher, const struct alias_group *group)
{
	return elf_sleds_has(&matcher->sleds, group->symbols[0].address, group_size(group));
}

/* The reason why a matched function is not probed; NULL: it is. */
static const char *group_check(struct matcher *matcher, const struct alias_group *group,
			       struct function_place *ret_place)
{
	const struct code_module *module = &matcher->builder->plan->modules[matcher->module];
	const struct elf_symbol *symbol = group->best;
	const char *reason = matcher->differs;
	u64 file_offset;

	for (size_t i = 0; i < group->count && !reason; i++)
		reason = plan_patched_by(matcher->patchers, group->symbols[i].name);
	if (!reason && has_sled(matcher, group))
		reason = "its code has places that the process overwrites by itself (XRay, "
			 "-fpatchable-function-entry, -mrecord-mcount): a probe there would harm";
	if (reason)
		return reason;
	for (size_t i = 0; i < group->count; i++) {
		if (group->symbols[i].ifunc)
			return "it only chooses an implementation (ifunc): probe that by its own "
			       "name";
	}
	if (plan_is_cold_part(symbol->name) && !group->exact)
		return "the cold part of a function is jumped to, not called (name it in full to "
		       "probe it)";
	if (elf_file_offset(module_code_file(matcher->code), symbol->address, &file_offset))
		return "its address is in no executable segment";
	if (!plan_maps_offset(module, file_offset))
		return "its page is not mapped from the file: the program has moved its code";
	/* plan_entries_first() finds better ones for all that match together. */
	reason = module_code_place_quickly(matcher->code, symbol->address, ret_place);
	if (!reason && !plan_maps_offset(module, ret_place->file_offset))
		reason = "it reaches into a page that is not mapped from the file";
	return reason;
}

static int group_visit(struct matcher *matcher, struct alias_group *group)
{
	struct plan_builder *builder = matcher->builder;
	struct function_place place;
	const char *reason;
	bool is_untold;

	if (builder->limits->heap ? !group_allocates(matcher, group)
				  : !group_matches(matcher, group))
		return 0;
	is_untold = builder->limits->launch_quietly && group->launch && !group->other;
	builder->plan->matched_count += !is_untold;
	reason = group_check(matcher, group, &place);
	if (reason && is_untold)
		return 0;
	if (reason)
		return skipped_add(matcher, group->best, reason);
	if (builder->plan->function_count >= builder->limits->max_functions) {
		builder->too_many++;
		return 0;
	}
	return function_add(matcher, group, &place);
}

static int symbols_visit(struct matcher *matcher, const struct elf_symbols *symbols)
{
	size_t next;

	for (size_t i = 0; i < symbols->count; i = next) {
		struct alias_group group = {.symbols = &symbols->items[i]};
		int result;

		for (next = i + 1; next < symbols->count; next++) {
			if (symbols->items[next].address != symbols->items[i].address)
				break;
		}
		group.count = next - i;
		result = group_visit(matcher, &group);
		if (result)
			return result;
	}
	return 0;
}

static int module_match(struct matcher *matcher, struct err *err)
{
	struct plan_builder *builder = matcher->builder;
	u64 functions_before = builder->plan->function_count;
	struct err problem;
	int result = plan_code_open(builder, matcher->module, &matcher->code, &problem);

	/* Files that are no ELF have no symbols: JITs map their own (.NET's doublemapper), and a page of our agent's stays. */
	if (result == -ENOEXEC)
		return 0;
	if (result)
		return err_set(err, result, "%s", problem.message);
	pattern_name_set(&matcher->name, NULL);
	matcher->differs = plan_file_differs(module_code_file(matcher->code));
	matcher->patchers = plan_patchers_find(builder, matcher->module);
	result = elf_sleds_load(module_code_file(matcher->code), &matcher->sleds);
	if (!result)
		result = symbols_visit(matcher, module_code_symbols(matcher->code));
	elf_sleds_free(&matcher->sleds);
	if (result)
		err_errno(err, result, "can't match the functions of %s",
			  builder->plan->modules[matcher->module].path);
	/* Nobody will ask for it again. */
	if (builder->plan->function_count == functions_before)
		plan_code_close(builder, matcher->module);
	return result;
}

static bool is_optional(const struct plan_builder *builder, size_t pattern)
{
	return pattern < builder->limits->optional_patterns;
}

/* Which patterns mean which modules. An unknown BINARY is an error, in an exclusion too: it is a
 * typing mistake that would leave in what was to be left out. */
static int relevance_find(const struct plan_builder *builder, bool *ret_relevant, struct err *err)
{
	const struct plan *plan = builder->plan;

	for (size_t p = 0; p < builder->pattern_count; p++) {
		bool known = false;

		for (size_t m = 0; m < plan->module_count; m++) {
			bool *relevant = &ret_relevant[m * builder->pattern_count + p];

			*relevant = pattern_matches_module(&builder->patterns[p], &plan->modules[m],
							   builder->targets);
			known |= *relevant;
		}
		if (!known && !is_optional(builder, p))
			return plan_suggest_binary(builder, &builder->patterns[p], err);
	}
	return 0;
}

static bool any_included(const struct plan_builder *builder, const bool *relevant)
{
	for (size_t p = 0; p < builder->pattern_count; p++) {
		if (relevant[p] && !builder->patterns[p].exclude)
			return true;
	}
	return false;
}

static int check_hits(const struct plan_builder *builder, struct err *err)
{
	const struct plan *plan = builder->plan;

	bool includes = false;

	for (size_t p = 0; p < builder->pattern_count; p++) {
		bool needed = !is_optional(builder, p) && !builder->patterns[p].exclude;

		if (!builder->hits[p] && needed)
			return plan_suggest_function(builder, &builder->patterns[p], err);
		includes |= needed;
	}
	if (!plan->matched_count && includes)
		return err_set(err, -ENOENT,
			       "nothing is left to probe: the patterns with ! exclude every "
			       "function that the "
			       "others match");
	if (builder->too_many)
		return err_set(
			err, -E2BIG,
			"%llu functions match, and no more than %llu are probed. Narrow the "
			"pattern, "
			"exclude some (-F '!GLOB'), or allow more with --max-functions %llu.",
			(unsigned long long)(plan->function_count + builder->too_many),
			(unsigned long long)builder->limits->max_functions,
			(unsigned long long)(plan->function_count + builder->too_many));
	return 0;
}

int plan_match(struct plan_builder *builder, struct err *err)
{
	struct matcher matcher = {.builder = builder};
	size_t module_count = builder->plan->module_count;
	_cleanup_free_ bool *relevant =
		calloc(module_count * builder->pattern_count + 1, sizeof(bool));
	int result;

	if (!relevant)
		return err_errno(err, -ENOMEM, "can't match functions");
	result = relevance_find(builder, relevant, err);
	for (size_t m = 0; m < module_count && !result; m++) {
		matcher.module = m;
		matcher.relevant = relevant + m * builder->pattern_count;
		if (any_included(builder, matcher.relevant))
			result = module_match(&matcher, err);
	}
	pattern_name_free(&matcher.name);
	return result ? result : check_hits(builder, err);
}
