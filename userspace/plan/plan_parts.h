/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files that make a plan share among themselves. */
#ifndef GPUPROBE_PLAN_PLAN_PARTS_H
#define GPUPROBE_PLAN_PLAN_PARTS_H

#include "code/module_code.h"
#include "plan/pattern.h"
#include "plan/plan.h"
#include "probe/kernel.h"
#include "elf/elf_file.h"

struct plan_builder {
	struct plan *plan;
	const struct target *targets;
	size_t target_count;
	struct pattern *patterns;
	size_t pattern_count;
	u64 *hits; /* of each pattern: functions that it fits, probed or not */
	const struct plan_limits *limits;
	size_t function_capacity, skipped_capacity;
	u64 too_many; /* functions beyond max_functions: only counted */
	int code_cache_fd; /* -1: none */
	bool *expects; /* of each module: its code knows which functions */
	bool kernel_asked; /* what becomes of nops of five bytes */
	enum kernel_long_nop kernel_long_nop;
	struct module_code **codes; /* of each module: kept, once opened, as long as it is needed; else NULL */
};

/* plan.c: what the others stand on. */
void plan_function_free(struct plan_function *function); /* what it points to */
/* Makes it one that is not probed, and frees what it points to. 0 or -ENOMEM. */
int plan_function_skip(struct plan_builder *builder, struct plan_function *function, const char *reason);

/* Opens it, unless it is open. */
int plan_code_open(struct plan_builder *builder, size_t module, struct module_code **ret_code, struct err *err);
/* The same, and lets it know which functions of the plan it will be asked for. */
int plan_code_open_for_functions(struct plan_builder *builder, size_t module, struct module_code **ret_code);
void plan_code_close(struct plan_builder *builder, size_t module);

/* plan_match.c: patterns and symbols -> functions and skipped ones. */
int plan_match(struct plan_builder *builder, struct err *err);
/* Does a target map that byte of the file executable? */
bool plan_maps_offset(const struct code_module *module, u64 file_offset);
/* A part of a function that is jumped to, not called; gcc and clang: foo.cold, BOLT: foo.cold.0, sections for
 * basic blocks: foo.__part.1 */
bool plan_is_cold_part(const char *name);

/* What is said of a nop of five bytes that is no place, behind what it is. */
#define PLAN_LONG_NOP_KILLS "this kernel turns a probed one into a call that crashes forked children"
/* What the kernel makes of nops of five bytes: it is asked when there is the first one. */
enum kernel_long_nop plan_kernel_long_nop(struct plan_builder *builder);

/* plan_patched.c: which rows of patchers.def are about a module, a bit each; why they speak against a function of it, NULL: they do not. */
u64 plan_patchers_find(const struct plan_builder *builder, size_t module);
const char *plan_patched_by(u64 found, const char *function);
/* Why nothing of a file is probed; NULL: it may be. */
const char *plan_file_differs(const struct elf_file *file);

/* plan_make.c: where children are recorded, files of programs that only they will run are probed too: those that a pattern has the path of. Adds it
 * at the end, if no target maps it; one that is not there is nothing. words: of the user. */
int plan_later_file_add(struct module_list *modules, const struct target *targets, const struct pattern *pattern,
			const char *words, struct err *err);

/* plan_forwards.c: leaves out what only hands calls on (forwarding_libraries.def). After plan_match. */
int plan_forwards_apply(struct plan_builder *builder, struct err *err);
/* plan_policy.c: how the returns of each function are seen. */
int plan_policy_apply(struct plan_builder *builder, struct err *err);
/* plan_reach.c: which links name no process. After plan_policy_apply. */
int plan_reach_apply(struct plan_builder *builder, struct err *err);
/* plan_exits.c: exits instead of trampolines, where they are better or the only way. After plan_reach_apply. */
int plan_exits_apply(struct plan_builder *builder, struct err *err);
/* plan_heap.c: with limits->heap, instead of the three above. */
int plan_heap_apply(struct plan_builder *builder, struct err *err);
/* Does a target have one (CET)? Return addresses then stand in two places. */
bool plan_has_shadow_stack(const struct plan_builder *builder);
/* plan_entries.c: the best places that are good however returns are seen, for entries that would be stepped. After plan_match. */
void plan_entries_first(struct plan_builder *builder);
/* plan_entries.c: better places for the entries of a module that would be stepped, once it is known how their
 * returns are seen. */
void plan_entries_apply(struct plan_builder *builder, size_t module);
/* plan_entries.c: leaves out those that would be probed on a nop of five bytes still. When all else is decided. */
int plan_entries_drop(struct plan_builder *builder);
/* By its name alone: VALUE_entry_only_reason_* and why, 0 when nothing speaks against it. */
u8 plan_policy_by_name(const char *mangled, const char **ret_why);

/* plan_objects.c: which libraries have their objects as they are known. They are asked in processes of their own, begun first, and
 * once the functions are known only those go on that are needed. */
int plan_objects_begin(struct plan_builder *builder, struct err *err);
void plan_objects_keep(struct plan *plan);
void plan_objects_free(struct plan *plan);

/* plan_suggest.c: errors with the names that come nearest. Always a negative errno. */
int plan_suggest_binary(const struct plan_builder *builder, const struct pattern *pattern,
			struct err *err);
int plan_suggest_function(const struct plan_builder *builder, const struct pattern *pattern,
			  struct err *err);

/* The root under which debug files of a module are looked up. */
const char *plan_module_root(const struct plan_builder *builder, const struct code_module *module);

#endif
