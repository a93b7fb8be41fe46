/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * refuses_walks PROGRAM COMMAND...: runs COMMAND on a kernel whose verifier refuses the BPF program of that name, among the first programs
 * of gpuprobe that are loaded, and takes it among the next ones. A process of its own answers, by a seccomp filter on bpf().
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define DATA_OF_PROGRAMS "gpuprobe.rodata" /* made once for each time that they are loaded */

static int install(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, BPF_MAP_CREATE, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, BPF_PROG_LOAD, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    &program);
}

static int is_refused(const struct seccomp_notif *call, const char *name, int *loads)
{
	union bpf_attr attributes = {0};
	size_t bytes =
		call->data.args[2] < sizeof(attributes) ? call->data.args[2] : sizeof(attributes);
	struct iovec here = {&attributes, bytes}, there = {(void *)call->data.args[1], bytes};

	if (process_vm_readv((pid_t)call->pid, &here, 1, &there, 1, 0) != (ssize_t)bytes)
		return 0;
	if (call->data.args[0] == BPF_MAP_CREATE) {
		*loads += !strcmp(attributes.map_name, DATA_OF_PROGRAMS);
		return 0;
	}
	return *loads == 1 && !strncmp(attributes.prog_name, name, BPF_OBJ_NAME_LEN - 1);
}

static void answer(int listener, const char *name)
{
	struct pollfd ready = {listener, POLLIN, 0};
	int loads = 0;

	while (poll(&ready, 1, -1) >= 0 && !(ready.revents & POLLHUP)) {
		struct seccomp_notif call = {0};
		struct seccomp_notif_resp response = {0};

		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call))
			continue;
		response.id = call.id;
		if (is_refused(&call, name, &loads))
			response.error = -EACCES;
		else
			response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
	}
}

int main(int argc, char **argv)
{
	int ready[2], taken[2], number, listener, owner;
	pid_t self = getpid(), child;
	char byte = 0;

	if (argc < 3 || pipe2(ready, O_CLOEXEC) || pipe2(taken, O_CLOEXEC))
		return 77;
	child = fork();
	if (!child) {
		/* No child of the command's, which waits for its own. */
		if (fork())
			_exit(0);
		setsid();
		owner = (int)syscall(SYS_pidfd_open, self, 0);
		if (read(ready[0], &number, sizeof(number)) != sizeof(number))
			_exit(1);
		listener = (int)syscall(SYS_pidfd_getfd, owner, number, 0);
		if (listener < 0 || write(taken[1], &byte, 1) != 1)
			_exit(1);
		for (int i = 0; i < listener; i++)
			close(i);
		answer(listener, argv[1]);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	close(taken[1]);
	number = install();
	if (number < 0 || write(ready[1], &number, sizeof(number)) != sizeof(number) ||
	    read(taken[0], &byte, 1) != 1)
		return 77;
	execv(argv[2], argv + 2);
	return 78;
}
