/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `gpuprobe check -p PID [-F PATTERN]...`: what would be attached and how, or why not. Touches
 * nothing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/memory_room.h"
#include "plan/site_check.h"
#include "probe/uprobe.h"
#include "base/log.h"
#include "base/text.h"
#include "elf/elf_file.h"
#include "store/schema.h"
#include "options/levels.h"
#include "recording/attachment.h"
#include "unwind/row_reader.h"
#include "verbs/check_usdt.h"
#include "verbs/announce_follow.h"
#include "verbs/check_gpu.h"
#include "verbs/check_python.h"
#include "verbs/announce_heap.h"
#include "verbs/page.h"
#include "verbs/verbs.h"

static void append_escaped(struct text *text, const char *string)
{
	text_append_terminal(text, string, strlen(string));
}

static void append_target(struct text *text, const struct target *target)
{
	append_escaped(text, target->comm);
	text_appendf(text, " (%u): ", target->pid);
	append_escaped(text, target->executable);
	text_append_char(text, '\n');
	if (target->executable_deleted)
		text_append(text, "  its executable was deleted or replaced since it started; the "
				  "one that runs is used\n");
	if (target->other_mount_namespace)
		text_append(text, "  it has its own mount namespace: paths are as it sees them\n");
	if (target->other_pid_namespace)
		text_appendf(text, "  it has its own PID namespace, where it is %u\n",
			     target->pid_in_namespace);
	check_python_append(target, text);
}

static void append_kernel(struct text *text, const struct attachment *attachment)
{
	const struct kernel_abilities *abilities = &attachment->abilities;

	text_appendf(text, "Linux %s: ", abilities->release);
	if (attachment->single_probes)
		text_appendf(text,
			     "single probes (%.1f s each to detach%s); returns: entries only, "
			     "--returns stepped on request\n",
			     UPROBE_SINGLE_DETACH_SECONDS,
			     abilities->half_multi
				     ? "; its uprobe_multi sees the first thread of a process alone"
				     : "");
	else
		text_appendf(text, "uprobe_multi; returns: %s%sstepped exits\n",
			     abilities->set_registers ? "emulated exits, " : "",
			     abilities->uprobe_session ? "return addresses (uprobe sessions), "
						       : "");
}

/* ---- modules
 * ---------------------------------------------------------------------------------------- */

static const char *symbols_source(const struct elf_symbols *symbols)
{
	if (!symbols->count)
		return "none";
	if (symbols->from_debug_file)
		return "debug file";
	if (symbols->from_gnu_debugdata)
		return "debugdata";
	if (symbols->from_go_table)
		return "gopclntab";
	return symbols->stripped ? "dynsym" : "symtab";
}

static void append_hex(struct text *text, const u8 *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		text_appendf(text, "%02x", bytes[i]);
}

/* How much of its code stacks can be followed through; behind the table, in notes: where they end in spite of it. */
static void append_unwind_rows(struct text *text, struct text *notes, struct row_reader *reader,
			       int fd, const char *path)
{
	struct elf_unwind_rows rows;
	u64 bytes;

	if (!reader || row_reader_rows(reader, fd, path, &rows, NULL)) {
		text_appendf(text, "%10s  %8s  %9s  ", "-", "-", "-");
		return;
	}
	bytes = elf_unwind_rows_bytes(&rows);
	text_appendf(text, "%10u  %8.1f  %7.2f %%  ", rows.row_count, (double)bytes / 1000,
		     rows.code_bytes
			     ? 100.0 * (double)rows.uncovered_bytes / (double)rows.code_bytes
			     : 0.0);
	if (rows.unsupported_bytes) {
		append_escaped(notes, path);
		text_appendf(notes,
			     ": %llu bytes of its code have rows that are not followed: stacks end "
			     "there\n",
			     (unsigned long long)rows.unsupported_bytes);
	}
	elf_unwind_rows_free(&rows);
}

static void append_module(struct text *text, struct text *notes, struct row_reader *reader,
			  const struct attachment *attachment, const struct code_module *module)
{
	const struct target *target = &attachment->targets[module->targets[0]];
	const char *root = target->other_mount_namespace ? target->root_path : "";
	struct elf_symbols symbols = {0};
	struct elf_file *file;
	struct err err = {0};
	size_t before;

	if (elf_file_open(module->fd, module->path, &file, &err)) {
		text_appendf(text, "%10s  %-10s  %-10s  %10s  %8s  %9s  %-40s  ", "-", "-", "-",
			     "-", "-", "-", "-");
	} else {
		u8 id[ELF_BUILD_ID_MAX_BYTES];

		if (elf_symbols_load(file, root, &symbols, &err))
			symbols = (struct elf_symbols){0};
		text_appendf(text, "%10zu  %-10s  %-10s  ", symbols.count, symbols_source(&symbols),
			     elf_file_is_go(file)	      ? "Go"
			     : elf_file_has_personality(file) ? "yes"
							      : "no");
		append_unwind_rows(text, notes, reader, module->fd, module->path);
		before = text->length;
		append_hex(text, id, elf_file_build_id(file, id));
		text_appendf(text, "%*s  ", (int)(40 - (long)(text->length - before)), "");
		elf_symbols_free(&symbols);
		elf_file_free(file);
	}
	append_escaped(text, module->path);
	text_append(text, module->deleted ? " (deleted or replaced)\n" : "\n");
}

static void append_modules(struct text *text, const struct attachment *attachment)
{
	_cleanup_text_ struct text notes = {0};
	struct row_reader *reader = NULL;

	(void)row_reader_start(&reader, NULL);
	text_appendf(text, "\n%10s  %-10s  %-10s  %10s  %8s  %9s  %-40s  %s\n", "Functions",
		     "Symbols", "Exceptions", "Stack rows", "Table KB", "Uncovered", "Build ID",
		     "Path");
	for (size_t i = 0; i < attachment->plan->module_count; i++)
		append_module(text, &notes, reader, attachment, &attachment->plan->modules[i]);
	row_reader_stop(reader);
	text_append(text,
		    "\nStack rows: stretches of code of which the file's tables say where the "
		    "caller is. Uncovered: the share of its code without.\n");
	text_append_bytes(text, notes.data, notes.length);
	text->failed |= notes.failed;
	text_append(text, "Name functions with -F '[BINARY:]GLOB' to see how they would be "
			  "probed.\n");
}

/* ---- functions
 * -------------------------------------------------------------------------------------- */

#define PLACE_COLUMNS	4  /* +NNN behind the address */
#define RETURNS_COLUMNS 18 /* emulated (NNN exits) */

static void append_padded(struct text *text, size_t columns, const char *format, unsigned number)
{
	size_t before = text->length;

	text_appendf(text, format, number);
	while (text->length - before < columns)
		text_append_char(text, ' ');
}

/* How its returns are seen. */
static void append_returns(struct text *text, const struct plan_function *function)
{
	static const char *const formats[] = {
		[VALUE_returns_session] = "return address",
		[VALUE_returns_none] = "entries only",
		[VALUE_returns_stepped] = "%u stepped exits",
		[VALUE_returns_emulated] = "%u emulated exits",
	};

	append_padded(text, RETURNS_COLUMNS, formats[function->returns], function->site_count);
	text_append(text, "  ");
}

static void append_function(struct text *text, const struct plan_function *function)
{
	const struct schema_enum_value *reason;

	text_appendf(text, "  0x%010llx", (unsigned long long)function->address);
	append_padded(text, PLACE_COLUMNS, function->placed_bytes ? "+%u" : "",
		      function->placed_bytes);
	text_appendf(text, "  %-7s  ", function->cost == COST_CHEAP ? "cheap" : "stepped");
	append_returns(text, function);
	append_escaped(text, function->name);
	reason = schema_enum("entry_only_reason", function->entry_only_reason);
	if (function->returns == VALUE_returns_none && reason) {
		text_appendf(text, "  (%s", reason->meaning);
		if (function->detail) {
			text_append(text, ": ");
			append_escaped(text, function->detail);
		}
		text_append_char(text, ')');
	}
	if (function->unreached)
		text_append(text, "  (left out: the process can write to the code there, or "
				  "shares it, and the kernel puts no probe into such memory)");
	else if (function->changed)
		text_append(text, "  (left out: its code in memory is not that of its file, it was "
				  "patched)");
	text_append_char(text, '\n');
}

static void append_libraries(struct text *text, const struct plan *plan)
{
	plan_libraries_await(plan);
	for (size_t i = 0; i < plan->library_count; i++) {
		plan_library_tell(plan, &plan->libraries[i], text);
		text_append_char(text, '\n');
	}
}

static void append_functions(struct text *text, const struct plan *plan)
{
	size_t last = SIZE_MAX;

	for (size_t i = 0; i < plan->function_count; i++) {
		size_t module = plan->functions[i].module;

		if (!plan_is_told(plan, &plan->functions[i]))
			continue;
		if (module != last) {
			last = module;
			text_append_char(text, '\n');
			append_escaped(text, plan->modules[module].path);
			text_append_char(text, '\n');
		}
		append_function(text, &plan->functions[i]);
	}
	if (plan->skipped_count)
		text_append(text, "\nskipped\n");
	for (size_t i = 0; i < plan->skipped_count; i++) {
		const struct plan_skipped *skipped = &plan->skipped[i];

		text_appendf(text, "  0x%010llx       ", (unsigned long long)skipped->address);
		append_escaped(text, skipped->name);
		text_appendf(text, "  (%s)\n", skipped->reason);
	}
}

/* What `record` would leave out if it began now: marked in the plans. */
static int compare_code(const struct attachment *attachment)
{
	struct site_changes changes = {0};
	int result = site_check(attachment->plan, attachment->targets, attachment->target_count,
				&changes);

	if (!result && attachment->heap_plan)
		result = site_check(attachment->heap_plan, attachment->targets,
				    attachment->target_count, &changes);
	return result;
}

/* What `record` would find when it begins. */
static void append_refusal(struct text *text, const struct attachment *attachment)
{
	struct err err = {0};

	if (!memory_room_check(attachment->plan, attachment->targets, attachment->target_count,
			       &err))
		return;
	text_append(text, "record refuses: ");
	append_escaped(text, err.message);
	text_append_char(text, '\n');
}

/* What nothing tells of (docs/limits.md). */
static void append_unseen(struct text *text, const struct plan *plan)
{
	if (plan_told_count(plan))
		text_append(
			text,
			"Not seen: a copy that a process makes of a function while a probe is in "
			"it has the breakpoint, and the process dies where it runs the copy\n");
}

static void append_offers(struct text *text, const struct attachment *attachment)
{
	append_modules(text, attachment);
	check_append_usdt_offers(text, attachment->plan);
}

static void append_all(struct text *text, const struct attachment *attachment,
		       const struct options *options)
{
	for (size_t i = 0; i < attachment->target_count; i++)
		append_target(text, &attachment->targets[i]);
	append_kernel(text, attachment);
	if (levels_wants_blocking(options))
		text_appendf(text, "Recorded in any case: %s (--no-blocking: not)\n",
			     level_row(LEVEL_blocking)->words);
	if (plan_takes_launch_stacks(attachment->plan) && attachment->plan->launch_quietly)
		text_appendf(text, "Recorded in any case: %s (--launch-stacks off: not)\n",
			     level_row(LEVEL_launch_stacks)->words);
	if (levels_wants_samples(options))
		text_appendf(text, "Recorded in any case: %s (--cpu-hz 0: not)\n",
			     level_row(LEVEL_samples)->words);
	if (attachment_wants_growth(attachment, options))
		text_appendf(text, "Recorded in any case: %s (--alloc off: not)\n",
			     level_row(LEVEL_memory_growth)->words);
	if (!attachment_names_probes(options))
		append_offers(text, attachment);
	check_append_usdt(text, attachment->plan);
	if (attachment->heap_plan) {
		announce_heap_append_plan(text, attachment, options);
		append_functions(text, attachment->heap_plan);
	}
	if (!plan_told_count(attachment->plan) && !attachment_names_probes(options)) {
		check_gpu_append(options, attachment, text);
		return;
	}
	append_functions(text, attachment->plan);
	append_libraries(text, attachment->plan);
	check_gpu_append(options, attachment, text);
	text_append_char(text, '\n');
	announce_follow_append_plan(text, attachment, options);
	append_unseen(text, attachment->plan);
	append_refusal(text, attachment);
	attachment_summary(attachment, text);
	text_append_char(text, '\n');
}

static int print(const struct text *text)
{
	struct page page;

	if (text->failed || page_open(&page) < 0) {
		log_error("out of memory");
		return EXIT_FAILURE;
	}
	fwrite(text->data, 1, text->length, page.file);
	return page_write(&page);
}

int verb_check(const struct options *options)
{
	_cleanup_text_ struct text text = {0};
	struct attachment attachment;
	struct err err = {0};

	if (!options->pids.count) {
		log_error("check needs a process: gpuprobe check -p PID");
		return EXIT_USAGE;
	}
	if (attachment_plan(options, 0, &attachment, &err)) {
		log_error("%s", err.message);
		return EXIT_FAILURE;
	}
	text.failed = compare_code(&attachment) != 0;
	append_all(&text, &attachment, options);
	attachment_free(&attachment);
	return print(&text);
}
