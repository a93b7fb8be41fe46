/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/confinement.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"

#define NOBODY 65534

static int compare_fds(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Without memory all stay open. */
static void close_others(const int *fds, size_t count)
{
	_cleanup_free_ int *sorted = malloc((count + 1) * sizeof(*sorted));
	unsigned from = 0;

	if (!sorted)
		return;
	memcpy(sorted, fds, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare_fds);
	for (size_t i = 0; i < count; i++) {
		if (sorted[i] < 0 || (unsigned)sorted[i] < from)
			continue;
		if ((unsigned)sorted[i] > from)
			syscall(SYS_close_range, from, sorted[i] - 1, 0);
		from = sorted[i] + 1;
	}
	syscall(SYS_close_range, from, ~0U, 0);
}

static void limit_memory(u64 memory_bytes)
{
	struct rlimit limit;
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (!file)
		return;
	if (fscanf(file, "%lu", &pages) == 1) {
		limit.rlim_cur = limit.rlim_max = pages * sysconf(_SC_PAGESIZE) + memory_bytes;
		setrlimit(RLIMIT_AS, &limit);
	}
	fclose(file);
}

/* Before privileges are dropped: the file is root's then. */
static void go_first(void)
{
	_cleanup_close_ int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)file_write(fd, "1000", 4);
}

static void drop_privileges(bool reads_files)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};
	u32 kept = reads_files ? 1U << CAP_DAC_READ_SEARCH : 0;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (geteuid() == 0) {
		prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
		if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
		    setresuid(NOBODY, NOBODY, NOBODY))
			_exit(1);
	}
	data[0].effective = data[0].permitted = kept;
	if (syscall(SYS_capset, &header, data))
		syscall(SYS_capset, &header, (struct __user_cap_data_struct[2]){{0}});
}

void confine(const struct confinement *confinement)
{
	struct rlimit no_files = {0, 0};
	pid_t parent = getppid();

	prctl(PR_SET_NAME, confinement->name);
	limit_memory(confinement->memory_bytes);
	setrlimit(RLIMIT_CORE, &no_files);
	if (confinement->goes_first)
		go_first();
	drop_privileges(confinement->reads_files);
	close_others(confinement->fds, confinement->fd_count);
	/* Last: a change of user switches it off. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
}
