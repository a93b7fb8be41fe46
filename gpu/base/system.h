/* SPDX-License-Identifier: MIT */
/*
 * What the agent asks of the kernel. Results are the kernel's own: -errno on failure; errno is never touched.
 * Calls that a signal interrupts are made again.
 */
#ifndef GPUPROBE_GPU_SYSTEM_H
#define GPUPROBE_GPU_SYSTEM_H

#include "types.h"

/* Zeroed private memory; NULL: there is none. */
void *system_map(size_t bytes);
/* The same, which a fork()ed child finds zeroed again. */
void *system_map_wiped_on_fork(size_t bytes);
void system_unmap(void *memory, size_t bytes);
/* The memory behind whole pages goes; they are zeros then. */
void system_discard(void *memory, size_t bytes);

u64 system_now_ns(void); /* CLOCK_MONOTONIC */
u64 system_realtime_ns(void);
u64 system_thread_cpu_ns(void); /* CPU time of the calling thread */
u32 system_tid(void);
u32 system_pid(void);
bool system_thread_lives(u32 pid, u32 tid);

/* Sleeps until *word is not value any more, somebody wakes it, or time is over. */
void system_wait(const u32 *word, u32 value, u64 timeout_ns);
void system_wake(const u32 *word);

/* The same for a word in memory that another process shares, and may wake. */
void system_wait_shared(const u32 *word, u32 value, u64 timeout_ns);
void system_wake_shared(const u32 *word);

/* Is it what a system call returns when it fails, and no address? */
bool system_failed(long result);

/* A file without a path, of which code may run; flags: MFD_* beside MFD_CLOEXEC. */
long system_memfd(const char *name, u32 flags);
long system_open(const char *path); /* read-only, O_CLOEXEC */
/* Reads up to bytes from the current position, whole where it can: how many were read. */
long system_read(int fd, void *buffer, size_t bytes);
void system_close(int fd);

#endif
