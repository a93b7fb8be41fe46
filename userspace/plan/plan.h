/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What will be probed, decided before anything is touched: targets and patterns -> files -> functions ->
 * for each one where the probe goes, at what class of cost, how its returns are seen, or why not.
 * `record` carries the plan out, `check` prints it.
 */
#ifndef GPUPROBE_PLAN_PLAN_H
#define GPUPROBE_PLAN_PLAN_H

#include "plan/allocators.h"
#include "plan/cublaslt_check.h"
#include "code/function_code.h"
#include "code/instruction.h"
#include "plan/matmuls.h"
#include "process/modules.h"
#include "process/target.h"
#include "base/err.h"
#include "base/map.h"
#include "base/types.h"
#include "../bpf/usdt.h"

struct plan_function {
	size_t module;	 /* index */
	/* Of several names at its address, of those that a pattern matched: a global one, then one without a
	 * leading underscore, then the shortest, then the first by alphabet. */
	char *name;	 /* as the user reads it: demangled */
	char *mangled;	 /* NULL where it is the same */
	u64 address;	 /* of its start, in the file */
	u64 size_bytes;	 /* of its code from there, by its symbol */
	u64 file_offset; /* of the probed instruction */
	struct site_bytes bytes, first; /* of that, and of the first one of the function */
	bool changed; /* what stands there now is something else: it is left out (plan/site_check.h) */
	bool unreached; /* or it is the same, but the kernel puts no breakpoint there */
	u8 placed_bytes; /* how far behind the start that is */
	enum instruction_cost cost;
	bool long_nop; /* that is a nop of five bytes, which this kernel makes something deadly of: only while the plan is made */
	struct displaced_instruction displaced; /* what the program does there; DISPLACED_NONE: the kernel does it */
	u32 stack_bytes; /* see struct function_place */
	bool restarts; /* see struct function_place */
	u32 lost_arguments; /* the same */
	u8 condition;
	u8 returns;	      /* VALUE_returns_* of record.def */
	u8 entry_only_reason; /* VALUE_entry_only_reason_*, 0 where returns are taken */
	bool by_level;	      /* a level switched it on, no pattern of the user's */
	bool forwarded;	      /* only while the plan is made: see plan_forwards_apply() */
	bool counted;	      /* its calls are only counted */
	bool launch;	      /* its entries have their stack taken as that of a launch, */
	bool launch_only;     /* and that is all that is recorded of it */
	bool session_safe;    /* its return address may be taken, also where its exits were the better choice */
	char *detail;	      /* more about the reason: the object, the process; NULL: none */
	const struct allocator *allocator; /* what it does to memory; NULL: nothing of that */
	const struct matmul_arguments *matmul; /* where it has the sizes of matrices; NULL: it multiplies none */
	struct return_site *sites; /* all its exits, where its returns are seen there */
	size_t site_count;
};

/* A match that is not probed, and why. "foo.cold" is no function but a part of foo that is jumped to: it is
 * skipped unless a pattern names it in full. */
struct plan_skipped {
	size_t module;
	char *name; /* as the user reads it */
	u64 address;
	const char *reason;
};

/* One place of a USDT probe. */
struct plan_usdt_site {
	u64 address; /* in the file */
	u64 file_offset;
	struct site_bytes bytes;
	bool changed; /* see struct plan_function */
	u64 semaphore_file_offset; /* 0: it has none */
	bool long_nop; /* five bytes: see plan_usdt.c */
	size_t argument_count; /* in its note: more than USDT_ARGUMENTS_MAX are not recorded */
	struct usdt_argument arguments[USDT_ARGUMENTS_MAX];
};

/* A USDT probe of a file. */
struct plan_usdt {
	size_t module; /* index */
	char *provider, *name;
	u8 role;	/* VALUE_usdt_role_* */
	u8 annotation;	/* VALUE_usdt_annotation_* for those of provider gpuprobe; 0 */
	size_t partner; /* index of what ends or begins the span; unless role says point */
	size_t stem_length; /* of its name without what it shares with no partner */
	struct plan_usdt_site *sites;
	size_t site_count, site_capacity;
};

/* A library of which sizes of matrices are read out of objects. */
struct plan_library {
	size_t module; /* index */
	bool is_asked; /* plan_libraries_await() is still to come */
	struct cublaslt_check check;
	u8 verdict;    /* enum cublaslt_verdict: of OTHER nothing is read */
	struct err why; /* it is UNTRIED */
};

/* A file that no target maps now, and one may map later: probes are put in for then. */
struct plan_later_file {
	size_t target; /* index */
	char *path;    /* as it sees it */
};

/* What the kernel can do, and what the user allows; filled by the caller. */
struct plan_limits {
	bool has_session;      /* uprobe sessions: durations are possible */
	bool can_emulate;      /* a program may do what the probed instruction does */
	bool single_probes;    /* no uprobe_multi */
	enum plan_returns {
		/* The best that cannot harm the target. */
		PLAN_RETURNS_AUTO,
		PLAN_RETURNS_NONE,
		/* Of every function, whatever speaks against it. */
		PLAN_RETURNS_TRAMPOLINE,
		PLAN_RETURNS_STEPPED,
		PLAN_RETURNS_EMULATED,
		/* As auto, but no stepped exits. */
		PLAN_RETURNS_CHEAP,
	} returns;
	bool children; /* what the targets fork is to be recorded too */
	u64 max_functions;
	const char *code_cache; /* folder of code/code_cache.h; NULL: none */
	bool heap; /* only the functions of plan/heap_functions.def, by rules of their own: plan_heap.c */
	size_t optional_patterns; /* the first so many patterns may match nothing, nor a file: those of levels */
	size_t launch_patterns;	  /* the first so many of these are for stacks at launches only, */
	bool launch_quietly;	  /* and nobody asked for what only these match: users are not told of it */
	const struct plan_later_file *later_files; /* that targets may map later, */
	size_t later_file_count;
	size_t recorded_patterns; /* the calls of functions that patterns behind the first so many match are only counted */
};

struct plan {
	struct code_module *modules;
	size_t module_count;
	struct plan_function *functions; /* by module, then file offset; each offset once */
	size_t function_count;
	struct plan_skipped *skipped;
	size_t skipped_count;
	size_t stepped_count; /* of these, functions of levels that would be single-stepped */
	struct plan_usdt *usdt; /* by module, then provider and name; added by plan_add_usdt() */
	size_t usdt_count, usdt_capacity;
	struct plan_library *libraries;
	size_t library_count;
	size_t matched_count; /* symbols that the patterns matched, aliases counted once */
	bool launch_quietly;  /* as it was built; matched_count and skipped are without what only launch_patterns match then */
};

/* patterns: `[!][binary:]glob`, see plan/pattern.h. Each pattern but the optional ones must match something. No match: -ENOENT,
 * naming the nearest names; unknown binary: names those mapped; more than max_functions: -E2BIG with the
 * number and how to narrow. With no patterns the plan has modules but no functions. Reads the symbols of the
 * files that patterns name and, where returns are wanted, the unwind tables of all mapped files and
 * /proc/PID/maps of every process: up to a few seconds. */
int plan_build(const struct target *targets, size_t target_count, char *const *patterns,
	       size_t pattern_count, const struct plan_limits *limits, struct plan **ret_plan,
	       struct err *err);
/* Does anything that the target maps now speak against overwriting return addresses in it, as the plan decides it? known:
 * what was found out about its files, kept from one call to the next; the caller's to free. Reads its maps and the
 * unwind tables of files that it does not know: up to a second. */
int plan_judge_again(const struct target *target, struct map *known, bool *ret_harmless,
		     struct err *err);
/* VALUE_returns_* of its functions, a bit each, but of those that are only probed for stacks of launches. */
u32 plan_returns(const struct plan *plan);
/* Does it have return addresses overwritten? */
bool plan_hijacks_returns(const struct plan *plan);
/* Of how many functions calls are only counted. */
size_t plan_counted(const struct plan *plan);
/* Of how many functions users are told: of all but those that are probed for stacks of launches that nobody asked for. */
size_t plan_told_count(const struct plan *plan);
bool plan_is_told(const struct plan *plan, const struct plan_function *function);
/* Are stacks of launches taken at any of its functions? */
bool plan_takes_launch_stacks(const struct plan *plan);
/* Are sizes of matrices recorded of its calls? Not where its probe comes too late to see them. */
bool plan_reads_sizes(const struct plan_function *function);
/* Of the calls of any function? */
bool plan_has_matmuls(const struct plan *plan);
/* Libraries are asked while the recording is prepared. Before the first probe: waits for the answers, a second since
 * plan_build() at most, fills in the verdicts, and takes the sizes from functions of libraries with other objects. */
void plan_libraries_await(const struct plan *plan);
/* What was found out about it, a sentence for people without the dot, escaped for the terminal. */
struct text;
void plan_library_tell(const struct plan *plan, const struct plan_library *library,
		       struct text *text);
/* Will what it returns be seen at each of its returns? */
bool plan_sees_results(const struct plan_function *function);
/* How the names of the libraries of patchers.def begin, each once; how many. */
#define PLAN_PATCHER_NAME_BYTES 16
size_t plan_patcher_names(char (*ret_names)[PLAN_PATCHER_NAME_BYTES], size_t room);
/* Which of its rows are about what the target maps now, a bit each; the first of them that patches the function, as a reason for people;
 * NULL: none does. */
u64 plan_patchers_mapped(const struct target *target);
const char *plan_is_patched(const struct plan *plan, const struct plan_function *function, u64 found);
struct plan *plan_free(struct plan *plan); /* NULL allowed; returns NULL */

#endif
