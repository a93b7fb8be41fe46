/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A USDT probe is a nop. A long one (five bytes) the kernels 6.18 to 7.0 turn into a call: children of fork() die of it, and it writes
 * below sp, where a leaf function may keep something (docs/uprobes.md). So such places are told apart.
 */
#include "plan/plan_usdt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../bpf/record.h"
#include "code/below_stack.h"
#include "probe/kernel.h"
#include "plan/plan_parts.h"
#include "plan/usdt_arguments.h"
#include "plan/usdt_pattern.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "elf/elf_usdt.h"

struct usdt_builder {
	struct plan *plan;
	const struct target *targets;
	size_t target_count;
	const struct plan_usdt_request *request;
	const struct plan_limits *limits;
	struct usdt_pattern *patterns;
	bool *hits; /* of each pattern */
	bool *here; /* of each: does it fit the module that is read? */
	struct decoder *decoder;
	/* The module that is read. */
	size_t module;
	struct elf_file *file;
	struct elf_symbols symbols; /* loaded when first needed */
	bool symbols_loaded;
	struct elf_variables variables; /* loaded when first needed */
	bool variables_loaded;
	struct string_table names; /* "PROVIDER:NAME" of the module, in the order of the plan */
	size_t first;		   /* in the plan, of the module */
	bool kernel_asked;	   /* what becomes of long nops */
	enum kernel_long_nop kernel_long_nop;
	size_t site_count; /* in all */
};

/* ---- one place ---- */

static bool find_variable(void *data, const char *name, size_t length, u64 *ret_address)
{
	struct usdt_builder *builder = data;

	/* Without memory some are missing, and what names them is unreadable. */
	if (!builder->variables_loaded)
		elf_variables_load(builder->file, &builder->variables);
	builder->variables_loaded = true;
	return !elf_variables_find(&builder->variables, name, length, ret_address);
}

/* NULL; or why it is no place. Where the kernel writes below sp, a function whose extent is not known may have something there. */
static const char *long_nop_harms(struct usdt_builder *builder, u64 address)
{
	const struct code_module *module = &builder->plan->modules[builder->module];
	const struct target *target = &builder->targets[module->targets[0]];
	const char *root = target->other_mount_namespace ? target->root_path : "";

	if (!builder->kernel_asked) {
		builder->kernel_asked = true;
		builder->kernel_long_nop = kernel_long_nop_probe();
	}
	if (builder->kernel_long_nop == KERNEL_LONG_NOP_KILLS)
		return "it is a nop of five bytes: " PLAN_LONG_NOP_KILLS;
	if (builder->kernel_long_nop == KERNEL_LONG_NOP_STAYS)
		return NULL;
	if (!builder->symbols_loaded &&
	    elf_symbols_load(builder->file, root, &builder->symbols, NULL))
		builder->symbols = (struct elf_symbols){0};
	builder->symbols_loaded = true;
	return function_may_keep_below_stack(builder->file, &builder->symbols, builder->decoder,
					     address)
		       ? "it is a nop of five bytes, which this kernel makes a call that would "
			 "overwrite what the function keeps below its stack pointer"
		       : NULL;
}

/* NULL and what stands there; or why it is not probed. */
static const char *place_check(struct usdt_builder *builder, struct plan_usdt_site *site)
{
	u8 bytes[INSTRUCTION_MAX_BYTES] = {0};
	struct instruction instruction;
	ssize_t size = elf_file_read(builder->file, site->file_offset, bytes, sizeof(bytes));

	if (plan_file_differs(builder->file))
		return plan_file_differs(builder->file);
	if (!plan_maps_offset(&builder->plan->modules[builder->module], site->file_offset))
		return "no target maps this part of the file executable";
	if (size <= 0 ||
	    !decoder_read(builder->decoder, bytes, (size_t)size, site->address, &instruction))
		return "what stands there is no instruction that is known";
	if (!instruction.nop)
		return "what stands there is no nop: the note is wrong, or the file was changed";
	site_bytes_keep(builder->decoder, bytes, (size_t)size, site->address, &site->bytes);
	site->long_nop = instruction.size_bytes == 5;
	return site->long_nop ? long_nop_harms(builder, site->address) : NULL;
}

static int skip(struct plan *plan, size_t module, const struct elf_usdt_note *note,
		const char *reason)
{
	struct plan_skipped *skipped =
		reallocarray(plan->skipped, plan->skipped_count + 1, sizeof(*skipped));
	char *name;

	if (!skipped)
		return -ENOMEM;
	plan->skipped = skipped;
	if (asprintf(&name, "%s:%s", note->provider, note->name) < 0)
		return -ENOMEM;
	skipped[plan->skipped_count++] = (struct plan_skipped){
		.module = module, .name = name, .address = note->address, .reason = reason};
	return 0;
}

/* What gpuprobe.h gives to programs. */
static const struct annotation_row {
	const char *name;
	u8 annotation;
	u32 strings; /* as in struct usdt_pattern */
} annotations[] = {
#define USDT_ANNOTATION(name, annotation, strings) \
	{name, VALUE_usdt_annotation_##annotation, strings},
#include "plan/usdt_annotations.def"
#undef USDT_ANNOTATION
};

static const struct annotation_row *annotation_find(const char *provider, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(annotations); i++)
		if (!strcmp(provider, USDT_ANNOTATION_PROVIDER) &&
		    !strcmp(name, annotations[i].name))
			return &annotations[i];
	return NULL;
}

/* Those of a module stand together. */
static struct plan_usdt *usdt_get(struct usdt_builder *builder, const struct elf_usdt_note *note)
{
	struct text name _cleanup_text_ = {0};
	struct plan *plan = builder->plan;
	const struct annotation_row *annotation;
	struct plan_usdt *usdt;
	s64 number;

	text_appendf(&name, "%s:%s", note->provider, note->name);
	number = name.failed ? -ENOMEM
			     : string_table_add(&builder->names, text_string(&name), name.length);
	if (number < 0)
		return NULL;
	if (builder->first + (size_t)number < plan->usdt_count)
		return &plan->usdt[builder->first + (size_t)number];
	if (array_reserve(&plan->usdt, &plan->usdt_capacity, plan->usdt_count + 1))
		return NULL;
	usdt = &plan->usdt[plan->usdt_count++];
	*usdt = (struct plan_usdt){.module = builder->module,
				   .provider = strdup(note->provider),
				   .name = strdup(note->name),
				   .role = VALUE_usdt_role_point};
	annotation = annotation_find(note->provider, note->name);
	usdt->annotation = annotation ? annotation->annotation : 0;
	return usdt->provider && usdt->name ? usdt : NULL;
}

static void mark_strings(struct plan_usdt_site *site, u32 strings, bool all)
{
	for (size_t i = 0; i < site->argument_count && i < USDT_ARGUMENTS_MAX; i++) {
		struct usdt_argument *argument = &site->arguments[i];
		bool may_point = argument->size_bytes == sizeof(u64) &&
				 argument->kind != USDT_UNREADABLE &&
				 argument->kind != USDT_CONSTANT;

		if (may_point && (all || strings & 1U << i))
			argument->as_string = true;
	}
}

static int site_add(struct usdt_builder *builder, const struct elf_usdt_note *note,
		    const struct plan_usdt_site *site)
{
	struct plan_usdt *usdt = usdt_get(builder, note);

	if (!usdt || array_reserve(&usdt->sites, &usdt->site_capacity, usdt->site_count + 1))
		return -ENOMEM;
	usdt->sites[usdt->site_count++] = *site;
	return 0;
}

/* Do the patterns that fit this file want the probe? Notes which did. */
static bool is_wanted(struct usdt_builder *builder, const struct elf_usdt_note *note)
{
	bool wanted = false, excluded = false;

	for (size_t i = 0; i < builder->request->count; i++) {
		const struct usdt_pattern *pattern = &builder->patterns[i];

		if (!builder->here[i] || !usdt_pattern_matches(pattern, note->provider, note->name))
			continue;
		builder->hits[i] = true;
		wanted |= !pattern->exclude;
		excluded |= pattern->exclude;
	}
	return wanted && !excluded;
}

static int visit_note(void *data, const struct elf_usdt_note *note)
{
	struct usdt_builder *builder = data;
	struct usdt_place place = {note->address, elf_file_is_movable(builder->file), find_variable,
				   builder};
	struct plan_usdt_site site = {.address = note->address,
				      .file_offset = note->file_offset,
				      .semaphore_file_offset = note->semaphore_file_offset};
	const struct annotation_row *annotation = annotation_find(note->provider, note->name);
	const char *reason;

	if (!is_wanted(builder, note))
		return 0;
	reason = place_check(builder, &site);
	if (reason)
		return skip(builder->plan, builder->module, note, reason);
	/* They are counted on, to say how many there are. */
	if (++builder->site_count > builder->limits->max_functions)
		return 0;
	site.argument_count = usdt_arguments_parse(note->arguments, &place, site.arguments);
	for (size_t i = 0; i < builder->request->count; i++)
		if (builder->here[i] && !builder->patterns[i].exclude &&
		    usdt_pattern_matches(&builder->patterns[i], note->provider, note->name))
			mark_strings(&site, builder->patterns[i].strings,
				     builder->patterns[i].all_strings);
	if (annotation)
		mark_strings(&site, annotation->strings, false);
	return site_add(builder, note, &site);
}

/* ---- pairs ---- */

static const struct {
	const char *begin, *end;
} pairs[] = {
#define USDT_PAIR(begin, end) {begin, end},
#include "plan/usdt_pairs.def"
#undef USDT_PAIR
};

/* The length of name without `ending`; SIZE_MAX: it does not end so. */
static size_t stem(const char *name, const char *ending)
{
	size_t length = strlen(name), cut = strlen(ending);

	if (length < cut || strcmp(name + length - cut, ending) != 0)
		return SIZE_MAX;
	length -= cut;
	if (length && name[length - 1] != '_' && name[length - 1] != '-')
		return SIZE_MAX;
	return length;
}

/* The probe of the same module and provider whose name is the first length bytes of this one's and `end`. */
static int find_end(struct usdt_builder *builder, size_t begin, const char *end, size_t length)
{
	struct plan_usdt *usdt = &builder->plan->usdt[begin], *other;
	struct text name _cleanup_text_ = {0};
	s64 number;

	text_appendf(&name, "%s:%.*s%s", usdt->provider, (int)length, usdt->name, end);
	if (name.failed)
		return -ENOMEM;
	number = string_table_find(&builder->names, text_string(&name), name.length);
	if (number < 0)
		return 0;
	other = &builder->plan->usdt[builder->first + (size_t)number];
	if (other->role != VALUE_usdt_role_point || other == usdt)
		return 0;
	usdt->role = VALUE_usdt_role_begin;
	usdt->partner = builder->first + (size_t)number;
	other->role = VALUE_usdt_role_end;
	other->partner = begin;
	while (length && (usdt->name[length - 1] == '_' || usdt->name[length - 1] == '-'))
		length--;
	usdt->stem_length = other->stem_length = length;
	return 0;
}

/* Among the probes of a module. */
static int find_pairs(struct usdt_builder *builder)
{
	struct plan *plan = builder->plan;
	int result = 0;

	for (size_t p = 0; p < ARRAY_SIZE(pairs); p++)
		for (size_t i = builder->first; i < plan->usdt_count && !result; i++) {
			size_t length = stem(plan->usdt[i].name, pairs[p].begin);

			if (plan->usdt[i].role == VALUE_usdt_role_point && length != SIZE_MAX)
				result = find_end(builder, i, pairs[p].end, length);
		}
	return result;
}

/* ---- files ---- */

static int module_read(struct usdt_builder *builder, size_t index)
{
	const struct code_module *module = &builder->plan->modules[index];
	bool any = false;
	int result;

	for (size_t i = 0; i < builder->request->count; i++) {
		builder->here[i] = usdt_pattern_matches_module(&builder->patterns[i], module,
							       builder->targets);
		any |= builder->here[i] && !builder->patterns[i].exclude;
	}
	/* A file that is no ELF has no probes. */
	if (!any || elf_file_open(module->fd, module->path, &builder->file, NULL))
		return 0;
	builder->module = index;
	builder->first = builder->plan->usdt_count;
	result = elf_usdt_visit(builder->file, visit_note, builder, NULL);
	if (!result && builder->site_count <= builder->limits->max_functions)
		result = find_pairs(builder);
	builder->file = elf_file_free(builder->file);
	if (builder->symbols_loaded)
		elf_symbols_free(&builder->symbols);
	elf_variables_free(&builder->variables);
	string_table_free(&builder->names);
	builder->names = (struct string_table){0};
	builder->symbols_loaded = builder->variables_loaded = false;
	return result;
}

/* ---- names of spans ---- */

char *plan_usdt_span_name(const struct plan_usdt *usdt)
{
	char *name;

	if (asprintf(&name, "%s%s%.*s", usdt->provider, usdt->stem_length ? ":" : "",
		     (int)usdt->stem_length, usdt->name) < 0)
		return NULL;
	return name;
}

/* ---- what matches nothing ---- */

#define NAMES_SHOWN 12

struct offered {
	struct text *text;
	size_t count;
	char *last;
};

static int list_note(void *data, const struct elf_usdt_note *note)
{
	struct offered *offered = data;
	size_t length = strlen(note->provider);

	/* One name a provider: the notes of one stand together. */
	if (offered->last && !strncmp(offered->last, note->provider, length) &&
	    offered->last[length] == ':')
		return 0;
	free(offered->last);
	if (asprintf(&offered->last, "%s:%s", note->provider, note->name) < 0)
		offered->last = NULL;
	if (offered->last && offered->count++ < NAMES_SHOWN)
		text_appendf(offered->text, "%s%s", offered->count > 1 ? ", " : "", offered->last);
	return 0;
}

static int say_unmatched(const struct usdt_builder *builder, const struct usdt_pattern *pattern,
			 struct err *err)
{
	struct text names _cleanup_text_ = {0};
	struct offered offered = {.text = &names};
	size_t files = 0;

	for (size_t i = 0; i < builder->plan->module_count; i++) {
		const struct code_module *module = &builder->plan->modules[i];
		struct elf_file *file;

		if (!usdt_pattern_matches_module(pattern, module, builder->targets) ||
		    elf_file_open(module->fd, module->path, &file, NULL))
			continue;
		files++;
		elf_usdt_visit(file, list_note, &offered, NULL);
		elf_file_free(file);
	}
	free(offered.last);
	if (!files)
		return err_set(err, -ENOENT,
			       "no target maps a file \"%s\" (-U \"%s\"): gpuprobe check -p PID "
			       "lists those that are mapped. A program that a target starts later "
			       "is named by its path, and recorded with --children: %s-U "
			       "'PROVIDER:GLOB@/PATH'",
			       pattern->binary.binary, pattern->text,
			       builder->limits->children ? "" : "--children ");
	if (!offered.count)
		return err_set(err, -ENOENT,
			       "no USDT probe matches \"%s\": the files that are mapped have none",
			       pattern->text);
	return err_set(
		err, -ENOENT,
		"no USDT probe matches \"%s\". There are, one of each provider: %s (gpuprobe "
		"check -p PID -U '*:*' lists all)",
		pattern->text, text_string(&names));
}

/* ---- all ---- */

static int usdt_compare_sites(const void *left, const void *right)
{
	const struct plan_usdt_site *a = left, *b = right;

	return a->file_offset < b->file_offset ? -1 : a->file_offset > b->file_offset;
}

/* In the order of the file, each once. */
static void sort_sites(struct plan_usdt *usdt)
{
	size_t count = 0;

	qsort(usdt->sites, usdt->site_count, sizeof(*usdt->sites), usdt_compare_sites);
	for (size_t i = 0; i < usdt->site_count; i++)
		if (!count || usdt->sites[count - 1].file_offset != usdt->sites[i].file_offset)
			usdt->sites[count++] = usdt->sites[i];
	usdt->site_count = count;
}

static int patterns_parse(struct usdt_builder *builder, struct err *err)
{
	size_t count = builder->request->count, optional = builder->request->optional_count;
	size_t excluded = 0;

	builder->patterns = calloc(count + 1, sizeof(*builder->patterns));
	builder->hits = calloc(count + 1, sizeof(*builder->hits));
	builder->here = calloc(count + 1, sizeof(*builder->here));
	if (!builder->patterns || !builder->hits || !builder->here)
		return err_errno(err, -ENOMEM, "can't match USDT probes");
	for (size_t i = 0; i < count; i++) {
		int result = usdt_pattern_parse(builder->request->patterns[i],
						&builder->patterns[i], err);

		if (result)
			return result;
		excluded += builder->patterns[i].exclude;
	}
	if (count > optional && excluded == count - optional)
		return err_set(err, -EINVAL,
			       "the patterns of -U only exclude probes. Add one that says what to "
			       "record, such as -U '*:*'");
	return 0;
}

/* As plan_reach.c does for functions, for files without any. */
static int reach_apply(struct usdt_builder *builder, struct err *err)
{
	struct plan_builder functions = {.plan = builder->plan,
					 .targets = builder->targets,
					 .target_count = builder->target_count,
					 .limits = builder->limits};

	return plan_reach_apply(&functions, err);
}

static int later_files_add(struct usdt_builder *builder, struct err *err)
{
	struct module_list modules = {builder->plan->modules, builder->plan->module_count};
	int result = 0;

	for (size_t i = 0; i < builder->request->count && builder->limits->children && !result; i++)
		if (!builder->patterns[i].exclude)
			result = plan_later_file_add(&modules, builder->targets,
						     &builder->patterns[i].binary,
						     builder->patterns[i].text, err);
	builder->plan->modules = modules.items;
	builder->plan->module_count = modules.count;
	return result;
}

static int usdt_build(struct usdt_builder *builder, struct err *err)
{
	struct plan *plan = builder->plan;
	int result = patterns_parse(builder, err);

	if (!result)
		result = later_files_add(builder, err);
	if (!result)
		result = decoder_create(&builder->decoder, err);
	if (result)
		return result;
	for (size_t i = 0; i < plan->module_count && !result; i++)
		result = module_read(builder, i);
	if (result)
		return err_errno(err, result, "can't plan the USDT probes");
	for (size_t i = builder->request->optional_count; i < builder->request->count; i++)
		if (!builder->hits[i] && !builder->patterns[i].exclude)
			return say_unmatched(builder, &builder->patterns[i], err);
	if (builder->site_count > builder->limits->max_functions)
		return err_set(err, -E2BIG,
			       "%zu places of USDT probes match, more than %llu: name fewer, or "
			       "raise --max-functions",
			       builder->site_count,
			       (unsigned long long)builder->limits->max_functions);
	for (size_t i = 0; i < plan->usdt_count; i++)
		sort_sites(&plan->usdt[i]);
	return plan->usdt_count ? reach_apply(builder, err) : 0;
}

int plan_add_usdt(struct plan *plan, const struct target *targets, size_t target_count,
		  const struct plan_usdt_request *request, const struct plan_limits *limits,
		  struct err *err)
{
	struct usdt_builder builder = {.plan = plan,
				       .targets = targets,
				       .target_count = target_count,
				       .request = request,
				       .limits = limits};
	int result;

	if (!request->count)
		return 0;
	result = usdt_build(&builder, err);
	for (size_t i = 0; builder.patterns && i < request->count; i++)
		usdt_pattern_free(&builder.patterns[i]);
	decoder_free(builder.decoder);
	free(builder.patterns);
	free(builder.hits);
	free(builder.here);
	return result;
}

size_t plan_usdt_sites(const struct plan *plan)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->usdt_count; i++)
		count += plan->usdt[i].site_count;
	return count;
}
