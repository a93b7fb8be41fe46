/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From patterns to probes, on this very process and on small programs that are built and started
 * here. */
#include "plan/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../bpf/record.h"
#include "base/cleanup.h"
#include "scratch_folder.h"
#include "unit.h"

#define PATTERNS_MAX 8
#define TARGETS_MAX  2

/* Without stepped exits: what speaks against a trampoline shows. */
static const struct plan_limits all = {
	.has_session = true, .returns = PLAN_RETURNS_CHEAP, .max_functions = 100000};

/* What a level asks for, not -F. */
static const struct plan_limits by_level = {.has_session = true,
					    .max_functions = 100000,
					    .optional_patterns = 1,
					    .recorded_patterns = 1};

/* Patterns end with NULL. */
static int build(const u32 *pids, size_t pid_count, const struct plan_limits *limits,
		 struct plan **ret_plan, struct err *err, const char *const *patterns)
{
	struct target targets[TARGETS_MAX] = {0};
	size_t pattern_count = 0;
	int result = 0;

	for (size_t i = 0; i < pid_count; i++)
		CHECK_OK(target_open(pids[i], false, &targets[i], err), *err);
	while (patterns[pattern_count])
		pattern_count++;
	result = plan_build(targets, pid_count, (char *const *)patterns, pattern_count, limits,
			    ret_plan, err);
	for (size_t i = 0; i < pid_count; i++)
		target_close(&targets[i]);
	return result;
}

#define PLAN(pid, limits, ...)                                            \
	({                                                                \
		struct plan *plan_ = NULL;                                \
		struct err err_ = {0};                                    \
		u32 pid_ = (u32)(pid);                                    \
		CHECK_OK(build(&pid_, 1, limits, &plan_, &err_,           \
			       (const char *const[]){__VA_ARGS__, NULL}), \
			 err_);                                           \
		plan_;                                                    \
	})

/* The message must have the words. */
static void check_error(u32 pid, const struct plan_limits *limits, int code, const char *words,
			const char *const *patterns)
{
	struct plan *plan = NULL;
	struct err err = {0};
	int result = build(&pid, 1, limits, &plan, &err, patterns);

	if (result != code || err.code != code || !strstr(err.message, words))
		UNIT_FAIL("%s: %d \"%s\", expected %d and \"%s\"", patterns[0], result, err.message,
			  code, words);
	if (!result)
		plan_free(plan);
}

#define CHECK_ERROR(limits, code, words, ...) \
	check_error((u32)getpid(), limits, code, words, (const char *const[]){__VA_ARGS__, NULL})

static const struct plan_function *find(const struct plan *plan, const char *name)
{
	for (size_t i = 0; plan && i < plan->function_count; i++) {
		if (strcmp(plan->functions[i].name, name) == 0)
			return &plan->functions[i];
	}
	return NULL;
}

static const char *skip_reason(const struct plan *plan, const char *name)
{
	for (size_t i = 0; plan && i < plan->skipped_count; i++) {
		if (strcmp(plan->skipped[i].name, name) == 0)
			return plan->skipped[i].reason;
	}
	return NULL;
}

/* ---- this process
 * ----------------------------------------------------------------------------------- */

int plan_sample_one(int a);
int plan_sample_two(int a);
int plan_sample_alias_of_two(int a) __attribute__((alias("plan_sample_two")));

__attribute__((noinline)) int plan_sample_one(int a)
{
	__asm__ volatile("");
	return a + 1;
}

__attribute__((noinline)) int plan_sample_two(int a)
{
	__asm__ volatile("");
	return a + 2;
}

__attribute__((noinline, used)) static int plan_sample_static(int a)
{
	__asm__ volatile("");
	return a + 3;
}

__asm__(".pushsection .text\n"
	".type plan_sample_locked,@function\n"
	"plan_sample_locked: lock incl (%rdi)\n ret\n"
	".size plan_sample_locked,.-plan_sample_locked\n"
	".type plan_sample_one.cold,@function\n"
	"plan_sample_one.cold: push %rbx\n pop %rbx\n ret\n"
	".size plan_sample_one.cold,.-plan_sample_one.cold\n"
	".popsection");

TEST(offsets_lead_to_the_code_in_memory)
{
	struct plan *plan = PLAN(getpid(), &all, "plan_sample_*");
	const struct plan_function *one = find(plan, "plan_sample_one");
	const struct code_module *module;

	CHECK(one && find(plan, "plan_sample_static"));
	if (!one)
		return;
	module = &plan->modules[one->module];
	CHECK(module->main_executable && module->target_count == 1 && !module->deleted);
	CHECK_U64(module->start + one->file_offset - module->file_offset,
		  (u64)(uintptr_t)plan_sample_one + one->placed_bytes);
	CHECK(!one->mangled && one->address);
	plan_free(plan);
}

TEST(aliases_are_one_function)
{
	struct plan *plan = PLAN(getpid(), &all, "plan_sample_*two");
	struct plan *other = PLAN(getpid(), &all, "plan_sample_alias*");

	CHECK_U64(plan->function_count, 1);
	CHECK_U64(plan->matched_count, 1);
	CHECK_STRING(plan->functions[0].name, "plan_sample_two"); /* the shorter one */
	CHECK_U64(other->function_count, 1);
	CHECK_STRING(other->functions[0].name, "plan_sample_alias_of_two"); /* as asked */
	CHECK_U64(other->functions[0].file_offset, plan->functions[0].file_offset);
	plan_free(plan);
	plan_free(other);
	/* Excluding one name excludes the function. */
	plan = PLAN(getpid(), &all, "plan_sample_*", "!plan_sample_alias*");
	CHECK(!find(plan, "plan_sample_two") && find(plan, "plan_sample_one"));
	plan_free(plan);
}

TEST(what_cannot_be_probed_is_skipped_with_a_reason)
{
	struct plan *plan = PLAN(getpid(), &all, "plan_sample_*");
	const char *locked = skip_reason(plan, "plan_sample_locked");
	const char *cold = skip_reason(plan, "plan_sample_one.cold");

	CHECK(locked && strstr(locked, "lock prefix"));
	CHECK(cold && strstr(cold, "cold"));
	CHECK_U64(plan->matched_count, plan->function_count + plan->skipped_count);
	plan_free(plan);
	plan = PLAN(getpid(), &all, "plan_sample_one.cold");
	CHECK(find(plan, "plan_sample_one.cold") != NULL);
	CHECK(plan &&
	      plan->functions[0].entry_only_reason == VALUE_entry_only_reason_return_address);
	plan_free(plan);
	plan = PLAN(getpid(), &all, "libc.so.6:memcpy", "libc.so.6:abs");
	CHECK(skip_reason(plan, "memcpy") && strstr(skip_reason(plan, "memcpy"), "ifunc"));
	CHECK(find(plan, "abs") != NULL);
	plan_free(plan);
}

TEST(modules_are_listed_without_patterns)
{
	struct plan *plan = PLAN(getpid(), &all, NULL);
	bool libc = false;

	CHECK_U64(plan->function_count, 0);
	CHECK(plan->module_count > 1 && plan->modules[0].main_executable);
	for (size_t i = 0; i < plan->module_count; i++) {
		CHECK(plan->modules[i].path[0] == '/' && plan->modules[i].fd >= 0);
		libc |= strstr(plan->modules[i].path, "/libc.so.6") != NULL;
	}
	CHECK(libc);
	plan_free(plan);
}

TEST(errors_name_what_comes_nearest)
{
	struct plan_limits few = {.has_session = true, .max_functions = 2};

	CHECK_ERROR(&all, -ENOENT, "Nearest: plan_sample_one", "plan_sampel_one");
	CHECK_ERROR(&all, -ENOENT, "no function matches \"zzzzqqqq\" in /", "zzzzqqqq");
	CHECK_ERROR(&all, -ENOENT, "plan_sample_static", "*_sampel_stati*");
	CHECK_ERROR(&all, -ENOENT, "no target maps a file \"libcc.so.6\". Mapped: libc.so.6",
		    "libcc.so.6:x");
	CHECK_ERROR(&all, -ENOENT, "no target maps a file", "plan_sample_*", "!nothere:x");
	CHECK_ERROR(&few, -E2BIG, "--max-functions 5", "plan_sample_*", "!*static*", "errors_*",
		    "aliases_*", "offsets_*");
	CHECK_ERROR(&all, -ENOENT, "exclude every function", "plan_sample_*", "!plan_*");
	CHECK_ERROR(&all, -EINVAL, "only exclude", "!plan_*");
	CHECK_ERROR(&all, -EINVAL, "names no function", "libc.so.6:");
	/* One of several patterns that matches nothing is an error too. */
	CHECK_ERROR(&all, -ENOENT, "no_such_thing", "plan_sample_*", "no_such_thing_xyz");
}

TEST(what_holds_for_all_functions_comes_first)
{
	static const struct {
		struct plan_limits limits;
		u8 reason;
	} rows[] = {
		{{.has_session = true, .returns = PLAN_RETURNS_NONE, .max_functions = 10},
		 VALUE_entry_only_reason_asked},
		{{.has_session = true, .single_probes = true, .max_functions = 10},
		 VALUE_entry_only_reason_single_probes},
		{{.returns = PLAN_RETURNS_CHEAP, .max_functions = 10},
		 VALUE_entry_only_reason_kernel},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct plan *plan = PLAN(getpid(), &rows[i].limits, "plan_sample_one");

		CHECK_U64(plan->functions[0].returns, VALUE_returns_none);
		CHECK_U64(plan->functions[0].entry_only_reason, rows[i].reason);
		plan_free(plan);
	}
}

/* ---- programs of our own
 * ---------------------------------------------------------------------------- */

/* Starts folder/name and waits until it says that it runs. */
static pid_t start(const char *name, const char *argv0)
{
	char path[SCRATCH_PATH_BYTES], ready;
	int fds[2];
	pid_t pid;

	in_folder(path, name);
	if (pipe(fds))
		abort();
	pid = fork();
	if (pid == 0) {
		dup2(fds[1], 1);
		execl(path, argv0 ? argv0 : path, NULL);
		_exit(1);
	}
	close(fds[1]);
	if (read(fds[0], &ready, 1) != 1)
		UNIT_FAIL("%s does not start", path);
	close(fds[0]);
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static const char program[] =
	"#include <dlfcn.h>\\n#include <unistd.h>\\n"
	"int work(int a) { return a * 3; }\\n"
	"int my_setjmp(int a) { return a * 5; }\\n"
	"int qsort(int a) { return a * 7; }\\n"
	"int main(int argc, char **argv) {\\n"
	"#ifdef LIBRARY\\n if (!dlopen(LIBRARY, RTLD_NOW)) return 1;\\n#endif\\n"
	" if (write(1, \"x\", 1) != 1) return 1;\\n for (;;) pause(); }\\n";

static bool programs_build(void)
{
	static int built = -1;

	if (built < 0)
		built = !system("gcc --version >/dev/null 2>&1") &&
			shell("printf '%%b' '%s' >program.c && cp program.c program.cc && "
			      "gcc -w -O1 -o plain program.c",
			      program);
	return built;
}

static void check_function(const struct plan *plan, const char *name, u8 reason, const char *detail)
{
	const struct plan_function *function = find(plan, name);

	if (!function) {
		UNIT_FAIL("%s is not planned", name);
		return;
	}
	CHECK_U64(function->entry_only_reason, reason);
	CHECK_U64(function->returns, reason ? VALUE_returns_none : VALUE_returns_session);
	if (detail && (!function->detail || !strstr(function->detail, detail)))
		UNIT_FAIL("%s: detail \"%s\", expected \"%s\"", name,
			  function->detail ? function->detail : "", detail);
}

TEST(plain_c_has_durations_but_for_some_functions)
{
	struct plan *plan;
	pid_t pid;

	if (!programs_build())
		SKIP("no gcc");
	pid = start("plain", NULL);
	plan = PLAN(pid, &all, "work", "my_setjmp", "qsort", "libc.so.6:getpid");
	check_function(plan, "work", 0, NULL);
	check_function(plan, "my_setjmp", VALUE_entry_only_reason_return_address, "longjmp");
	check_function(plan, "qsort", VALUE_entry_only_reason_callback, "comparison");
	check_function(plan, "getpid", VALUE_entry_only_reason_shared_file, NULL);
	plan_free(plan);
	stop(pid);
}

TEST(a_file_that_others_map_has_none)
{
	struct plan *plan = NULL;
	struct err err = {0};
	char words[32];
	u32 pids[2];

	if (!programs_build())
		SKIP("no gcc");
	pids[0] = (u32)start("plain", NULL);
	pids[1] = (u32)start("plain", NULL);
	snprintf(words, sizeof(words), "%u plain", pids[1]);
	plan = PLAN(pids[0], &all, "work");
	check_function(plan, "work", VALUE_entry_only_reason_shared_file, words);
	plan_free(plan);
	/* As two targets they are no strangers. */
	CHECK_OK(build(pids, 2, &all, &plan, &err, (const char *const[]){"work", NULL}), err);
	check_function(plan, "work", 0, NULL);
	CHECK_U64(plan->functions ? plan->modules[plan->functions[0].module].target_count : 0, 2);
	plan_free(plan);
	stop((pid_t)pids[0]);
	stop((pid_t)pids[1]);
}

TEST(code_that_can_throw_takes_durations_away)
{
	static const struct {
		const char *build, *function;
		u8 reason;
		const char *detail;
	} rows[] = {
		/* the object itself */
		{"g++ -w -O1 -DTHROWS -o sample program.cc", "work*",
		 VALUE_entry_only_reason_exceptions, "/sample"},
		/* plain C in a C++ program */
		{"gcc -w -O1 -fPIC -shared -DPART -o libpart.so part.c && "
		 "g++ -w -O1 -DTHROWS -o sample program.cc -Wl,--no-as-needed -L. -lpart "
		 "-Wl,-rpath,$PWD",
		 "libpart.so:part", VALUE_entry_only_reason_exceptions, "/sample"},
		/* a C++ library somewhere in a C program */
		{"g++ -O1 -fPIC -shared -o libthrows.so throws.cc && "
		 "gcc -w -O1 -DLIBRARY=\\\"$PWD/libthrows.so\\\" -o sample program.c",
		 "work", VALUE_entry_only_reason_foreign_code, "/libthrows.so"},
		/* one that is known to be harmless */
		{"g++ -O1 -fPIC -shared -o libjemalloc.so.2 throws.cc && "
		 "gcc -w -O1 -DLIBRARY=\\\"$PWD/libjemalloc.so.2\\\" -o sample program.c",
		 "work", 0, NULL},
		/* stacks that are copied over one another */
		{"gcc -O1 -fPIC -shared -o _greenlet.cpython-311.so part.c && "
		 "gcc -w -O1 -DLIBRARY=\\\"$PWD/_greenlet.cpython-311.so\\\" -o sample program.c",
		 "work", VALUE_entry_only_reason_stack_switch, "_greenlet"},
		{"gcc -w -O1 -o go program.c && "
		 "objcopy --add-section .gopclntab=part.c go sample",
		 "work", VALUE_entry_only_reason_stack_switch, "Go"},
	};

	if (!programs_build() || system("g++ --version >/dev/null 2>&1"))
		SKIP("no g++");
	CHECK(shell("echo 'int part(int a) { return a * 9; }' >part.c && "
		    "echo 'struct g { ~g(); }; void f(); extern \"C\" void throws() { try { f(); } "
		    "catch (...) { } } void f() { throw 1; }' >throws.cc && "
		    "{ echo 'void t() { try { throw 1; } catch (...) { } }'; cat program.c; } "
		    ">program.cc"));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct plan *plan;
		pid_t pid;

		if (!shell("rm -f sample && %s", rows[i].build))
			continue;
		pid = start("sample", NULL);
		plan = PLAN(pid, &all, rows[i].function);
		check_function(plan, plan && plan->function_count ? plan->functions[0].name : "?",
			       rows[i].reason, rows[i].detail);
		plan_free(plan);
		stop(pid);
	}
}

/* cuDNN's libcudnn.so.9 loads its parts and calls the function of the same name there. */
TEST(a_call_that_is_only_handed_on_is_there_once)
{
	struct plan *plan;
	pid_t pid;

	if (!programs_build())
		SKIP("no compiler");
	CHECK(shell("echo 'int cudnnExecute(int a) { return a * 9; }' >part.c && "
		    "gcc -w -O1 -fPIC -shared -Wl,-soname,libcudnn.so.9 -o libcudnn.so.9 part.c && "
		    "gcc -w -O1 -fPIC -shared -o libcudnn_graph.so.9 part.c && "
		    "gcc -w -O1 -DLIBRARY=\\\"$PWD/libcudnn_graph.so.9\\\" -o sample program.c "
		    "-Wl,--no-as-needed -L. -l:libcudnn.so.9 -Wl,-rpath,$PWD"));
	pid = start("sample", NULL);
	plan = PLAN(pid, &by_level, "libcudnn*.so*:cudnnExecute");
	CHECK_U64(plan->function_count, 1);
	CHECK(strstr(plan->modules[plan->functions[0].module].path, "libcudnn_graph.so.9"));
	CHECK(strstr(skip_reason(plan, "cudnnExecute"), "another library"));
	plan_free(plan);
	/* What is named is there. */
	plan = PLAN(pid, &all, "libcudnn*.so*:cudnnExecute");
	CHECK_U64(plan->function_count, 2);
	plan_free(plan);
	stop(pid);
}

/* A level does not have the end of each call single-stepped, nor that of launches seen at all. */
TEST(what_a_level_probes_has_no_dear_ends)
{
	struct plan_limits limits = by_level;
	struct plan *plan;
	pid_t pid;

	if (!programs_build() || system("g++ --version >/dev/null 2>&1"))
		SKIP("no g++");
	CHECK(shell("echo 'int gemm(int a) { return a * 9; } int cuLaunchKernel(int a) { return a "
		    "* 7; }' >part.c && "
		    "{ echo 'void t() { try { throw 1; } catch (...) { } }'; cat program.c; } "
		    ">program.cc && "
		    "gcc -w -O1 -fPIC -shared -o libpart.so part.c && "
		    "g++ -w -O1 -DTHROWS -o throws program.cc -Wl,--no-as-needed -L. -lpart "
		    "-Wl,-rpath,$PWD && "
		    "gcc -w -O1 -o plain program.c -Wl,--no-as-needed -L. -lpart -Wl,-rpath,$PWD"));
	pid = start("throws", NULL);
	plan = PLAN(pid, &limits, "libpart.so:gemm");
	CHECK_U64(find(plan, "gemm")->entry_only_reason, VALUE_entry_only_reason_dear);
	plan_free(plan);
	/* With -F. */
	limits.optional_patterns = 0;
	plan = PLAN(pid, &limits, "libpart.so:gemm");
	CHECK_U64(find(plan, "gemm")->returns, VALUE_returns_stepped);
	plan_free(plan);
	stop(pid);
	pid = start("plain", NULL);
	plan = PLAN(pid, &by_level, "libpart.so:*");
	CHECK_U64(find(plan, "gemm")->returns, VALUE_returns_session);
	CHECK_U64(find(plan, "cuLaunchKernel")->entry_only_reason, VALUE_entry_only_reason_dear);
	plan_free(plan);
	stop(pid);
}

TEST(a_program_is_known_by_the_names_it_was_started_by)
{
	static const char *const patterns[] = {"odd file\nname:work", "service:work",
					       "odd*name:work", "./title/service:work"};
	pid_t pid;

	if (!programs_build() || !shell("cp plain 'odd file\nname'"))
		SKIP("no gcc");
	/* A title in place of the arguments, as servers write it. */
	pid = start("odd file\nname", "/opt/service: worker process");
	for (size_t i = 0; i < 3; i++) {
		/* The kernel writes a newline of a path as "\012". */
		struct plan *plan = PLAN(pid, &all, i ? patterns[i] : "odd file\\\\012name:work");

		CHECK_U64(plan ? plan->function_count : 0, 1);
		plan_free(plan);
	}
	check_error((u32)pid, &all, -ENOENT, "no target maps",
		    (const char *const[]){patterns[3], NULL});
	stop(pid);
}

TEST(a_deleted_executable_is_read_all_the_same)
{
	struct plan *plan;
	pid_t pid;

	if (!programs_build() || !shell("cp plain gone"))
		SKIP("no gcc");
	pid = start("gone", NULL);
	CHECK(shell("rm gone && echo other >gone"));
	plan = PLAN(pid, &all, "gone:work");
	check_function(plan, "work", 0, NULL);
	if (plan) {
		const struct code_module *module = &plan->modules[plan->functions[0].module];

		CHECK(module->deleted);
		CHECK(!strstr(module->path, "deleted"));
	}
	plan_free(plan);
	stop(pid);
}

/* A program that copies its code into anonymous memory and maps that in its place. */
static const char mover[] =
	"#define _GNU_SOURCE\\n#include <string.h>\\n#include <sys/mman.h>\\n#include <unistd.h>\\n"
	"__attribute__((aligned(4096), section(\".text.moved\"))) int moved(int a) { return a * 3; "
	"}\\n"
	"__attribute__((aligned(4096), section(\".text.stays\"))) int stays(int a) { return a * 5; "
	"}\\n"
	"int main(void) { void *copy = mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);\\n"
	" memcpy(copy, (void *)moved, 4096);\\n"
	" if (mremap(copy, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)moved) == "
	"MAP_FAILED) return 1;\\n"
	" if (write(1, \"x\", 1) != 1) return 1;\\n for (;;) pause(); }\\n";

TEST(code_that_was_moved_is_not_probed)
{
	struct plan *plan;
	const char *reason;
	pid_t pid;

	if (system("gcc --version >/dev/null 2>&1") ||
	    !shell("printf '%%b' '%s' >mover.c && gcc -w -O1 -o mover mover.c", mover))
		SKIP("no gcc");
	pid = start("mover", NULL);
	plan = PLAN(pid, &all, "moved", "stays");
	reason = skip_reason(plan, "moved");
	CHECK(reason && strstr(reason, "moved its code"));
	CHECK(find(plan, "stays") != NULL);
	plan_free(plan);
	stop(pid);
}

TEST(debug_symbols_and_static_programs)
{
	static const char *const builds[] = {
		"gcc -w -O1 -static -o sample program.c",
		"gcc -w -O1 -static-pie -o sample program.c",
		"gcc -w -O1 -no-pie -o sample program.c",
		"gcc -w -O1 -o sample program.c && objcopy --only-keep-debug sample s.debug && "
		"strip sample && objcopy --add-gnu-debuglink=s.debug sample"};

	if (!programs_build())
		SKIP("no gcc");
	for (size_t i = 0; i < ARRAY_SIZE(builds); i++) {
		struct plan *plan;
		pid_t pid;

		if (!shell("rm -f sample && %s", builds[i]))
			continue;
		pid = start("sample", NULL);
		plan = PLAN(pid, &all, "work");
		check_function(plan, "work", 0, NULL);
		plan_free(plan);
		stop(pid);
	}
}

UNIT_MAIN()
