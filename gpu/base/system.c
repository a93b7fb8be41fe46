/* SPDX-License-Identifier: MIT */
#include "system.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "arch_x86_64.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

bool system_failed(long result)
{
	return result < 0 && result > -4096;
}

void *system_map(size_t bytes)
{
	long result = arch_syscall(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return system_failed(result) ? NULL : (void *)result;
}

void *system_map_wiped_on_fork(size_t bytes)
{
	void *memory = system_map(bytes);

	/* Linux 4.14 and later; a driver that knows CUDA 11.8 runs on none before. */
	if (memory && arch_syscall(SYS_madvise, (long)memory, bytes, MADV_WIPEONFORK, 0, 0, 0)) {
		system_unmap(memory, bytes);
		return NULL;
	}
	return memory;
}

void system_unmap(void *memory, size_t bytes)
{
	if (memory)
		arch_syscall(SYS_munmap, (long)memory, bytes, 0, 0, 0, 0);
}

static u64 now(clockid_t clock)
{
	struct timespec time = {0};

	clock_gettime(clock, &time);
	return time.tv_sec * NS_PER_SECOND + time.tv_nsec;
}

void system_discard(void *memory, size_t bytes)
{
	arch_syscall(SYS_madvise, (long)memory, (long)bytes, MADV_DONTNEED, 0, 0, 0);
}

u64 system_now_ns(void)
{
	return now(CLOCK_MONOTONIC);
}

u64 system_realtime_ns(void)
{
	return now(CLOCK_REALTIME);
}

u64 system_thread_cpu_ns(void)
{
	return now(CLOCK_THREAD_CPUTIME_ID);
}

u32 system_tid(void)
{
	return arch_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

u32 system_pid(void)
{
	return arch_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

bool system_thread_lives(u32 pid, u32 tid)
{
	return arch_syscall(SYS_tgkill, pid, tid, 0, 0, 0, 0) != -ESRCH;
}

static void wait_for_word(const u32 *word, u32 value, u64 timeout_ns, u32 flags)
{
	u64 end_ns = system_now_ns() + timeout_ns;
	struct timespec until = {end_ns / NS_PER_SECOND, end_ns % NS_PER_SECOND};
	long result;

	do {
		/* An absolute moment of CLOCK_MONOTONIC. */
		result = arch_syscall(SYS_futex, (long)word, FUTEX_WAIT_BITSET | flags, value,
				      (long)&until, 0, FUTEX_BITSET_MATCH_ANY);
	} while (result == -EINTR);
}

void system_wait(const u32 *word, u32 value, u64 timeout_ns)
{
	wait_for_word(word, value, timeout_ns, FUTEX_PRIVATE_FLAG);
}

void system_wake(const u32 *word)
{
	arch_syscall(SYS_futex, (long)word, FUTEX_WAKE_PRIVATE, INT32_MAX, 0, 0, 0);
}

void system_wait_shared(const u32 *word, u32 value, u64 timeout_ns)
{
	wait_for_word(word, value, timeout_ns, 0);
}

void system_wake_shared(const u32 *word)
{
	arch_syscall(SYS_futex, (long)word, FUTEX_WAKE, INT32_MAX, 0, 0, 0);
}

long system_memfd(const char *name, u32 flags)
{
	long fd = arch_syscall(SYS_memfd_create, (long)name, flags | MFD_CLOEXEC | MFD_EXEC, 0, 0,
			       0, 0);

	if (fd == -EINVAL) /* before Linux 6.3 all are executable */
		fd = arch_syscall(SYS_memfd_create, (long)name, flags | MFD_CLOEXEC, 0, 0, 0, 0);
	return fd;
}

long system_open(const char *path)
{
	long fd;

	do {
		fd = arch_syscall(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	} while (fd == -EINTR);
	return fd;
}

long system_read(int fd, void *buffer, size_t bytes)
{
	size_t done = 0;

	while (done < bytes) {
		long result = arch_syscall(SYS_read, fd, (long)((u8 *)buffer + done), bytes - done,
					   0, 0, 0);

		if (result == -EINTR)
			continue;
		if (result < 0)
			return done ? (long)done : result;
		if (result == 0)
			break;
		done += result;
	}
	return done;
}

void system_close(int fd)
{
	arch_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
}
