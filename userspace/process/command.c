/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/command.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/arch_x86_64.h"
#include "process/translators.h"
#include "base/cleanup.h"
#include "base/sudo_user.h"

/* In the child. Reports an errno through the pipe, which exec closes. */
static void run_child(char *const *arguments, void (*in_child)(void *data), void *data,
		      int report_fd)
{
	sigset_t none;
	int error;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	if (in_child)
		in_child(data);
	/* What the user who called sudo starts is theirs. */
	error = -sudo_user_become();
	if (!error && ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		error = errno;
	if (!error) {
		execvp(arguments[0], arguments);
		error = errno;
	}
	if (write(report_fd, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

/* The next stop by SIGTRAP; other signals are passed on. -ECHILD when it ended instead. */
static int wait_for_trap(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) == pid) {
		if (!WIFSTOPPED(status))
			return -ECHILD;
		if (WSTOPSIG(status) == SIGTRAP)
			return 0;
		if (ptrace(PTRACE_CONT, pid, NULL, (void *)(uintptr_t)WSTOPSIG(status)))
			return -errno;
	}
	return -errno;
}

static int read_entry_point(pid_t pid, u64 *ret_entry)
{
	_cleanup_fclose_ FILE *file = NULL;
	Elf64_auxv_t entry;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	file = fopen(path, "re");
	while (file && fread(&entry, sizeof(entry), 1, file) == 1) {
		if (entry.a_type != AT_ENTRY)
			continue;
		*ret_entry = entry.a_un.a_val;
		return 0;
	}
	return -ENOENT;
}

/* From its first instruction (the dynamic linker's) to its entry point. */
static int run_to_entry(pid_t pid)
{
	u64 entry = 0;
	long word;
	int result = read_entry_point(pid, &entry);

	/* Not a 64-bit program: whoever opens it as a target says so. */
	if (result == -ENOENT)
		return 0;
	if (result)
		return result;
	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, pid, (void *)entry, NULL);
	if (errno)
		return -errno;
	if (ptrace(PTRACE_POKETEXT, pid, (void *)entry, (void *)arch_word_with_breakpoint(word)) ||
	    ptrace(PTRACE_CONT, pid, NULL, NULL))
		return -errno;
	result = wait_for_trap(pid);
	if (result)
		return result;
	if (ptrace(PTRACE_POKETEXT, pid, (void *)entry, (void *)word))
		return -errno;
	return arch_rewind_breakpoint(pid, entry) ? 0 : -ENOEXEC;
}

int command_start(char *const *arguments, void (*in_child)(void *data), void *data,
		  struct command *ret_command, struct err *err)
{
	_cleanup_close_ int read_fd = -1;
	struct command command = {0};
	const char *who = translator_of_command(arguments[0]);
	int pipe_fds[2], error = 0, result;

	if (who)
		return err_set(err, -EBUSY,
			       "can't record under %s: it runs a translated copy of the code of "
			       "its program, where probes would kill it or never be hit. Run the "
			       "program without it.",
			       who);
	if (pipe2(pipe_fds, O_CLOEXEC))
		return err_errno(err, -errno, "can't start %s", arguments[0]);
	read_fd = pipe_fds[0];
	command.pid = fork();
	if (command.pid == 0)
		run_child(arguments, in_child, data, pipe_fds[1]);
	result = command.pid < 0 ? -errno : 0;
	close(pipe_fds[1]);
	if (result)
		return err_errno(err, result, "can't start %s", arguments[0]);
	if (read(read_fd, &error, sizeof(error)) == sizeof(error)) {
		waitpid(command.pid, NULL, 0);
		return err_errno(err, -error, "can't start %s", arguments[0]);
	}
	result = wait_for_trap(command.pid);
	if (!result)
		result = run_to_entry(command.pid);
	if (result) {
		command_abandon(&command);
		return err_set(err, result,
			       "can't start %s: it ended or could not be stopped before "
			       "its entry point (%s)",
			       arguments[0], strerror(-result));
	}
	*ret_command = command;
	return 0;
}

int command_release(struct command *command, struct err *err)
{
	if (ptrace(PTRACE_DETACH, command->pid, NULL, NULL))
		return err_errno(err, -errno, "can't let the command run");
	return 0;
}

int command_wait(struct command *command)
{
	int status;

	while (waitpid(command->pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void command_abandon(struct command *command)
{
	if (command->pid <= 0)
		return;
	kill(command->pid, SIGKILL);
	waitpid(command->pid, NULL, 0);
	command->pid = 0;
}

static bool is_program(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char magic[SELFMAG];
	struct stat status;

	return fd >= 0 && !fstat(fd, &status) && S_ISREG(status.st_mode) &&
	       (status.st_mode & 0111) && pread(fd, magic, SELFMAG, 0) == SELFMAG &&
	       !memcmp(magic, ELFMAG, SELFMAG);
}

static bool path_leads_to_program(const char *word)
{
	const char *folders = getenv("PATH");
	char path[PATH_MAX];

	while (folders && *folders) {
		size_t length = strcspn(folders, ":");

		if (length &&
		    snprintf(path, sizeof(path), "%.*s/%s", (int)length, folders, word) <
			    (int)sizeof(path) &&
		    is_program(path))
			return true;
		folders += length + (folders[length] == ':');
	}
	return false;
}

const char *command_program_among(char *const *arguments)
{
	if (!arguments[0])
		return NULL;
	for (size_t i = 1; arguments[i]; i++) {
		const char *word = arguments[i];

		if (strchr(word, '/') ? is_program(word) : *word && path_leads_to_program(word))
			return word;
	}
	return NULL;
}
