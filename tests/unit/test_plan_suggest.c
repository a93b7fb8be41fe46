/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is said of a pattern that fits no function, on this process and on small programs that are built and started here. */
#include "plan/plan.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scratch_folder.h"

static const struct plan_limits limits = {.has_session = true, .max_functions = 100000};

/* The pattern fits nothing, and the message has the words, or lacks those that it must not have. */
static void check_said(pid_t pid, const char *pattern, const char *words, const char *not_words)
{
	struct target target = {0};
	struct plan *plan = NULL;
	struct err err = {0};
	int result = target_open((u32)pid, false, &target, &err);

	if (!result)
		result = plan_build(&target, 1, (char *const[]){(char *)pattern, NULL}, 1, &limits,
				    &plan, &err);
	if (result != -ENOENT || !strstr(err.message, words) ||
	    (not_words && strstr(err.message, not_words)))
		UNIT_FAIL("%s: %d \"%s\", expected \"%s\", not \"%s\"", pattern, result,
			  err.message, words, not_words ? not_words : "");
	if (!result)
		plan_free(plan);
	target_close(&target);
}

/* (anonymous namespace)::concealed(), void general<int>(int), Holder<int>::release(), Holder<int>::operator<(int) */
#define FUNCTION(name)                                                \
	__asm__(".pushsection .text\n.type " name ",@function\n" name \
		": push %rbx\n pop %rbx\n ret\n.size " name ",.-" name "\n.popsection")
FUNCTION("_ZN12_GLOBAL__N_19concealedEv");
FUNCTION("_Z7generalIiEvT_");
FUNCTION("_ZN6HolderIiE7releaseEv");
FUNCTION("_ZN6HolderIiEltEi");

TEST(scopes_and_template_arguments_may_be_left_out)
{
	static const char concealed[] = "Nearest: (anonymous namespace)::concealed";
	static const struct {
		const char *pattern, *words;
	} rows[] = {
		{"concealed", concealed},
		{"conceald", concealed},
		{"conceal*", concealed},
		{"general", "Nearest: general<int>"},
		{"release", "Nearest: Holder<int>::release"},
		{"Holder::release", "Nearest: Holder<int>::release"},
		{"Holder<long>::release", "Holder<int>::release"},
		{"Holder::operator<", "Nearest: Holder<int>::operator<"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_said(getpid(), rows[i].pattern, rows[i].words, NULL);
	check_said(getpid(), "nothing_is_like_that", "no function matches", "Nearest");
}

TEST(other_files_that_have_it_are_named)
{
	check_said(getpid(), "getpid", "libc.so.6:getpid.", NULL);
	check_said(getpid(), "test_plan_suggest:getpid", "no function matches", "In another file");
	check_said(getpid(), "nothing_is_like_that", "no function matches", "In another file");
}

/* ---- programs of our own ---- */

static const char program[] =
	"#include <unistd.h>\\nint work(int a) { return a * 3; }\\n"
	"int main(void) { if (write(1, \"x\", 1) != 1) return 1;\\n for (;;) pause(); }\\n";

static bool can_build(void)
{
	return system("gcc --version >/dev/null 2>&1") == 0 &&
	       shell("printf '%%b' '%s' >program.c && gcc -w -O1 -o plain program.c", program);
}

/* Starts a file of the folder in the folder, with an argument, and waits until it says that it runs. */
static pid_t start(const char *name, const char *argument)
{
	char path[SCRATCH_PATH_BYTES], ready;
	int fds[2];
	pid_t pid;

	in_folder(path, name);
	if (pipe(fds))
		abort();
	pid = fork();
	if (pid == 0) {
		if (dup2(fds[1], 1) < 0 || chdir(folder))
			_exit(1);
		execl(path, path, argument, NULL);
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

TEST(a_program_that_the_dynamic_linker_has_started_is_named)
{
	pid_t pid;

	if (!can_build())
		SKIP("no gcc");
	if (!shell("cp /lib64/ld-linux-x86-64.so.2 linker"))
		return;
	pid = start("linker", "./plain");
	check_said(pid, "work", "/linker. In another file: plain:work.", NULL);
	check_said(pid, "wor*", "plain:wor*", NULL);
	stop(pid);
}

TEST(debug_symbols_are_asked_for_where_there_may_be_some)
{
	static const char install[] = "install its debug symbols";
	static const struct {
		const char *build, *words, *not_words;
	} rows[] = {
		{"gcc -w -O1 -s -rdynamic -Wl,--build-id=sha1 -o sample program.c",
		 "exported functions have names; install its debug symbols)", "none of its"},
		{"gcc -w -O1 -s -static -Wl,--build-id=none -o sample program.c",
		 "none of its functions has a name; it has neither build ID nor", install},
		/* As strip leaves Go's: from 1.24 on with a build id, for which there is no file. */
		{"gcc -w -O1 -static -Wl,--build-id=sha1 -o full program.c && echo go >go && "
		 "objcopy --add-section .go.buildinfo=go full sample && strip sample",
		 "none of its functions has a name; Go writes no file of debug symbols", install},
		/* A distribution's. */
		{"objcopy --only-keep-debug full gone.debug && "
		 "objcopy --add-gnu-debuglink=gone.debug sample linked && rm gone.debug && mv "
		 "linked sample",
		 install, "Go writes"},
		{"cp plain sample", "no function matches", "stripped"},
	};

	if (!can_build())
		SKIP("no gcc");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		pid_t pid;

		if (!shell("%s", rows[i].build))
			continue;
		pid = start("sample", NULL);
		check_said(pid, "no_such_name", rows[i].words, rows[i].not_words);
		stop(pid);
	}
}

UNIT_MAIN()
