/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/proc_file.h"
#include "process/target.h"
#include "process/time_namespace.h"
#include "base/cleanup.h"
#include "base/text.h"

#define HOST_PID_NAMESPACE_INODE 0xEFFFFFFCU /* PROC_PID_INIT_INO: the same on every kernel */
#define WHOLE_USER_ID_RANGE	 "4294967295"

/* What attaching takes, each with the older, wider capability that contains it. */
static const struct {
	unsigned number;
	unsigned contained_in;
	const char *name;
	const char *what_for;
} needs[] = {
	{CAP_BPF, CAP_SYS_ADMIN, "CAP_BPF", "load BPF programs"},
	{CAP_PERFMON, CAP_SYS_ADMIN, "CAP_PERFMON", "place probes"},
	{CAP_SYS_PTRACE, CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "read /proc of the target"},
	{CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, "CAP_DAC_READ_SEARCH", "read files of the target"},
};

static int effective_capabilities(u64 *ret_mask)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	*ret_mask = data[0].effective | (u64)data[1].effective << 32;
	return 0;
}

static int check_capabilities(struct err *err)
{
	_cleanup_text_ struct text missing = {0};
	u64 mask = 0;
	int result = effective_capabilities(&mask);

	if (result)
		return err_errno(err, result, "can't read our own capabilities");
	for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
		if (mask & (1ULL << needs[i].number | 1ULL << needs[i].contained_in))
			continue;
		text_appendf(&missing, "%s%s (to %s)", missing.length ? ", " : "", needs[i].name,
			     needs[i].what_for);
	}
	if (!missing.length)
		return 0;
	return err_set(err, -EPERM, "not permitted to attach: missing %s. Run gpuprobe with sudo.",
		       text_string(&missing));
}

/* Capabilities of another user namespace than the host's count for nothing here. */
static int check_user_namespace(struct err *err)
{
	_cleanup_free_ char *map = NULL;

	if (proc_file_read(AT_FDCWD, "/proc/self/uid_map", &map, NULL) ||
	    strstr(map, WHOLE_USER_ID_RANGE))
		return 0;
	return err_set(err, -EPERM,
		       "gpuprobe runs in a user namespace, where root may not attach probes. Run "
		       "it on the "
		       "host, or in a container without user namespace.");
}

static int check_pid_namespace(struct err *err)
{
	u64 inode = proc_inode(AT_FDCWD, "/proc/self/ns/pid");

	if (!inode || inode == HOST_PID_NAMESPACE_INODE)
		return 0;
	return err_set(
		err, -EPERM,
		"gpuprobe runs in a PID namespace of its own, where the kernel's process numbers "
		"are "
		"not those seen here. Run it on the host, or in a container with --pid=host.");
}

/* The kernel takes the times of all that is recorded by its own clock. */
static int check_time_namespace(struct err *err)
{
	s64 ahead_ns = time_namespace_own_offset_ns();

	if (!ahead_ns)
		return 0;
	return err_set(err, -EPERM,
		       "gpuprobe runs in a time namespace, whose CLOCK_MONOTONIC is %.9g s off the "
		       "kernel's: no time would be right. Run it in the host's: nsenter -t 1 -T "
		       "gpuprobe ...",
		       (double)ahead_ns / NS_PER_SECOND);
}

/* Secure boot: "none [integrity] confidentiality". */
static int check_lockdown(struct err *err)
{
	_cleanup_free_ char *mode = NULL;

	if (proc_file_read(AT_FDCWD, "/sys/kernel/security/lockdown", &mode, NULL) ||
	    !strstr(mode, "[confidentiality]"))
		return 0;
	return err_set(
		err, -EPERM,
		"the kernel is locked down (lockdown=confidentiality), so BPF may not read memory. "
		"Boot with lockdown=integrity.");
}

int privileges_check(struct err *err)
{
	int result = check_capabilities(err);

	if (!result)
		result = check_user_namespace(err);
	if (!result)
		result = check_pid_namespace(err);
	if (!result)
		result = check_time_namespace(err);
	return result ? result : check_lockdown(err);
}
