/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who can be recorded: processes made here, one for each refusal. */
#include "process/target.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit.h"

static void check_refused(u32 pid, bool traced_by_us, const char *words)
{
	struct target target;
	struct err err = {0};

	if (!target_open(pid, traced_by_us, &target, &err)) {
		UNIT_FAIL("%u is accepted, expected \"%s\"", pid, words);
		target_close(&target);
	} else if (!strstr(err.message, words) || !strstr(err.message, "can't attach to")) {
		UNIT_FAIL("\"%s\" has not \"%s\"", err.message, words);
	}
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A child that does nothing until it is killed. */
static pid_t start_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		for (;;)
			pause();
	}
	return pid;
}

TEST(a_process_is_described)
{
	struct target target;
	struct err err = {0};
	char executable[256];
	ssize_t length = readlink("/proc/self/exe", executable, sizeof(executable) - 1);

	executable[length < 0 ? 0 : length] = 0;
	CHECK_OK(target_open((u32)getpid(), false, &target, &err), err);
	CHECK_U64(target.pid, (u32)getpid());
	CHECK_U64(target.pid_in_namespace, (u32)getpid());
	CHECK(target.pidfd >= 0 && target.proc_fd >= 0);
	CHECK_STRING(target.comm, "test_target");
	CHECK_STRING(target.executable, executable);
	CHECK(!target.other_mount_namespace && !target.other_pid_namespace);
	CHECK(!target.executable_deleted && target.start_time_ticks > 0);
	CHECK(!target_is_gone(&target));
	target_close(&target);
	CHECK(target.pidfd == -1 && target.proc_fd == -1);
}

TEST(cpu_time_grows_with_work)
{
	struct target target;
	struct err err = {0};
	u64 before;

	CHECK_OK(target_open((u32)getpid(), false, &target, &err), err);
	before = target_cpu_time_ns(&target);
	for (clock_t start = clock(); clock() - start < CLOCKS_PER_SEC / 10;)
		;
	CHECK(target_cpu_time_ns(&target) >= before + 50 * NS_PER_MILLISECOND);
	CHECK(target_cpu_time_ns(&target) < before + 10 * NS_PER_SECOND);
	target_close(&target);
}

TEST(a_number_of_no_process_is_refused)
{
	pid_t pid = start_child();

	end_child(pid);
	check_refused((u32)pid, false, "no such process");
	check_refused(0x7fffffff, false, "no such process");
}

TEST(a_target_that_ends_is_gone)
{
	pid_t pid = start_child();
	struct target target;
	struct err err = {0};

	CHECK_OK(target_open((u32)pid, false, &target, &err), err);
	CHECK(!target_is_gone(&target));
	kill(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT);
	CHECK(target_is_gone(&target)); /* a zombie */
	waitpid(pid, NULL, 0);
	CHECK(target_is_gone(&target));
	CHECK_U64(target_cpu_time_ns(&target), 0);
	target_close(&target);
}

TEST(a_zombie_is_refused)
{
	pid_t pid = start_child();

	kill(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT);
	check_refused((u32)pid, false, "zombie");
	waitpid(pid, NULL, 0);
}

TEST(a_kernel_thread_is_refused)
{
	char comm[32] = "";
	FILE *file = fopen("/proc/2/comm", "re");

	if (file) {
		if (!fgets(comm, sizeof(comm), file))
			comm[0] = 0;
		fclose(file);
	}
	if (strcmp(comm, "kthreadd\n") != 0)
		SKIP("process 2 is not kthreadd: in a container");
	check_refused(2, false, "it is a kernel thread (kthreadd)");
}

static void *thread_run(void *data)
{
	*(pid_t *)data = (pid_t)syscall(SYS_gettid);
	for (;;)
		pause();
	return NULL;
}

TEST(a_thread_names_its_process)
{
	volatile pid_t tid = 0;
	char words[64];
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, thread_run, (void *)&tid) == 0);
	while (!tid)
		usleep(1000);
	snprintf(words, sizeof(words), "it is a thread of process %d. Use -p %d", getpid(),
		 getpid());
	check_refused((u32)tid, false, words);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
}

TEST(a_process_whose_first_thread_has_ended_is_named_by_another_one)
{
	struct target target;
	struct err err = {0};
	pid_t pid = fork();

	if (pid == 0) {
		static pid_t tid;
		pthread_t thread;

		pthread_create(&thread, NULL, thread_run, &tid);
		/* Not pthread_exit: under the sanitizer it would be more than that. */
		syscall(SYS_exit, 0);
	}
	for (int i = 0; i < 1000; i++) {
		char path[64], state = 0;
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		file = fopen(path, "re");
		if (file && fscanf(file, "%*d (test_target) %c", &state) != 1)
			state = 0;
		if (file)
			fclose(file);
		if (state == 'Z')
			break;
		usleep(1000);
	}
	CHECK_OK(target_open((u32)pid, false, &target, &err), err);
	CHECK(target.first_thread_ended);
	CHECK(target.thread != (u32)pid);
	CHECK_U64(target.pid, (u32)pid);
	CHECK_U64(target.pid_in_namespace, (u32)pid);
	CHECK(strstr(target.executable, "test_target"));
	CHECK(target_thread_lives((u32)pid, target.thread));
	CHECK(!target_thread_lives((u32)pid, (u32)pid));
	CHECK_U64(target_living_thread((u32)pid, 0), target.thread);
	CHECK_U64(target_living_thread((u32)pid, target.thread), 0);
	CHECK(!target_is_gone(&target));
	end_child(pid);
	CHECK(target_is_gone(&target));
	target_close(&target);
}

TEST(a_traced_process_names_its_tracer)
{
	pid_t pid = start_child();
	struct target target;
	struct err err = {0};
	char words[64];

	if (ptrace(PTRACE_SEIZE, pid, 0, 0) < 0) {
		end_child(pid);
		SKIP("ptrace is not permitted");
	}
	snprintf(words, sizeof(words), "test_target (%d) is tracing it", getpid());
	check_refused((u32)pid, false, words);
	CHECK_OK(target_open((u32)pid, true, &target, &err), err);
	target_close(&target);
	end_child(pid);
}

/* i386: jmp to itself */
static const u8 program_32[] = {0x7f, 'E', 'L', 'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 3, 0,
				1, 0, 0, 0, 0x54, 0x80, 4, 8, 52, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
				52, 0, 32, 0, 1, 0, 0, 0, 0, 0, 0, 0,
				/* PT_LOAD of the whole file at 0x08048000, r-x */
				1, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 4, 8, 0, 0x80, 4, 8, 86, 0, 0, 0,
				86, 0, 0, 0, 5, 0, 0, 0, 0, 0x10, 0, 0, 0xeb, 0xfe};

TEST(a_32_bit_process_is_refused)
{
	int status, fd = memfd_create("program_32", 0);
	char *arguments[] = {"program_32", NULL};
	pid_t pid;

	CHECK(write(fd, program_32, sizeof(program_32)) == (ssize_t)sizeof(program_32));
	pid = fork();
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		fexecve(fd, arguments, arguments + 1);
		_exit(1);
	}
	close(fd);
	waitpid(pid, &status, 0);
	if (!WIFSTOPPED(status))
		SKIP("this kernel runs no 32-bit programs");
	check_refused((u32)pid, true, "it is a 32-bit process. Only 64-bit targets are supported.");
	end_child(pid);
}

TEST(a_deleted_executable_is_noted)
{
	char path[] = "/tmp/gpuprobe-test-target-XXXXXX", command[128];
	_cleanup_close_ int fd = mkstemp(path);
	struct target target;
	struct err err = {0};
	pid_t pid;

	CHECK(fd >= 0);
	snprintf(command, sizeof(command), "cp /bin/sleep %s && chmod 755 %s", path, path);
	CHECK(system(command) == 0);
	close(take_fd(&fd));
	pid = fork();
	if (pid == 0) {
		execl(path, path, "1000", NULL);
		_exit(1);
	}
	usleep(200000);
	unlink(path);
	CHECK_OK(target_open((u32)pid, false, &target, &err), err);
	CHECK(target.executable_deleted);
	CHECK_STRING(target.executable, path);
	target_close(&target);
	end_child(pid);
}

static int namespace_child(void *data)
{
	for (;;)
		pause();
	return 0;
}

TEST(namespaces_are_noted)
{
	static char stack[65536] __attribute__((aligned(16)));
	struct target target;
	struct err err = {0};
	pid_t pid = clone(namespace_child, stack + sizeof(stack),
			  CLONE_NEWPID | CLONE_NEWNS | SIGCHLD, NULL);

	if (pid < 0)
		pid = clone(namespace_child, stack + sizeof(stack),
			    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | SIGCHLD, NULL);
	if (pid < 0)
		SKIP("namespaces are not permitted");
	CHECK_OK(target_open((u32)pid, false, &target, &err), err);
	CHECK(target.other_mount_namespace && target.other_pid_namespace);
	CHECK_U64(target.pid, (u32)pid);
	CHECK_U64(target.pid_in_namespace, 1);
	target_close(&target);
	end_child(pid);
}

/* What a process without capabilities is told, through a pipe. */
static void check_missing_capabilities(int fd)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
	struct err err = {0};

	syscall(SYS_capset, &header, data);
	if (privileges_check(&err) == -EPERM && write(fd, err.message, strlen(err.message)) < 0)
		_exit(1);
	_exit(0);
}

TEST(missing_capabilities_are_named)
{
	static const char *const words[] = {"CAP_BPF", "CAP_PERFMON", "CAP_SYS_PTRACE",
					    "CAP_DAC_READ_SEARCH", "sudo"};
	char message[1024] = "";
	int pipe_fds[2];
	pid_t pid;

	CHECK(pipe(pipe_fds) == 0);
	pid = fork();
	if (pid == 0)
		check_missing_capabilities(pipe_fds[1]);
	close(pipe_fds[1]);
	waitpid(pid, NULL, 0);
	CHECK(read(pipe_fds[0], message, sizeof(message) - 1) > 0);
	close(pipe_fds[0]);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (!strstr(message, words[i]))
			UNIT_FAIL("\"%s\" has not \"%s\"", message, words[i]);
	}
}

UNIT_MAIN()
