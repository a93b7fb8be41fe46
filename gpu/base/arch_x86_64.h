/* SPDX-License-Identifier: MIT */
/* What of the agent depends on the processor: system calls, who a thread is. The other file is resident_x86_64.S. */
#ifndef GPUPROBE_GPU_ARCH_X86_64_H
#define GPUPROBE_GPU_ARCH_X86_64_H

/* The kernel's answer: -errno on failure. libc's wrappers would write errno of a thread that is not ours. */
static inline long arch_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

/* As memset(); takes some tens of ns to begin. */
static inline void arch_fill(void *memory, int value, unsigned long bytes)
{
	__asm__ volatile("rep stosb" : "+D"(memory), "+c"(bytes) : "a"(value) : "memory");
}

/* An address of its own for each thread that lives: that of its libc's data about it, which begins with itself. */
static inline unsigned long arch_thread_self(void)
{
	unsigned long self;

	__asm__("mov %%fs:0, %0" : "=r"(self));
	return self;
}

#endif
