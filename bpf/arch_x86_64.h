/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What depends on the processor: where a function finds its return address and what the stack
 * pointer is at its return. arm64 has it in x30 and does not move sp.
 */
#ifndef GPUPROBE_BPF_ARCH_X86_64_H
#define GPUPROBE_BPF_ARCH_X86_64_H

/* At the first instruction sp points to the return address. */
static __always_inline u64 arch_entry_sp(const struct pt_regs *registers)
{
	return registers->rsp;
}

/* At the return the return address has been popped: the same call had entry sp == this value. */
static __always_inline u64 arch_entry_sp_at_return(const struct pt_regs *registers)
{
	return registers->rsp - 8;
}

/* The value that a hijacked return address holds; 0 when it cannot be known. */
static __always_inline u64 arch_trampoline(struct task_struct *task)
{
	struct xol_area *area = BPF_CORE_READ(task, mm, uprobes_state.xol_area);

	return area ? BPF_CORE_READ(area, vaddr) : 0;
}

/* Whole words in registers; what comes behind them lies on the stack, above the return address. */
#define ARCH_REGISTER_ARGUMENTS 6

/* Of the function at whose entry this is: 1 to ARCH_REGISTER_ARGUMENTS; any other number: 0. The empty asm keeps
 * each read apart, see arch_emulate_jump(). */
static __always_inline u64 arch_argument(const struct pt_regs *registers, u32 number)
{
	u64 value = 0;

#define ARGUMENT(place, name)                            \
	if (number == place) {                           \
		value = registers->name;                 \
		__asm__ volatile("" : "+r"(value));      \
	}
	ARGUMENT(1, rdi)
	ARGUMENT(2, rsi)
	ARGUMENT(3, rdx)
	ARGUMENT(4, rcx)
	ARGUMENT(5, r8)
	ARGUMENT(6, r9)
#undef ARGUMENT
	return value;
}

/* What a function returns, at its return. */
static __always_inline u64 arch_result(const struct pt_regs *registers)
{
	return registers->rax;
}

#define ARCH_KERNEL_STACK_BYTES 16384
#define ARCH_PAGE_BYTES		4096
#define ARCH_USER_ADDRESS_END	(1ULL << 63)

/* Can there be code of a program? (mmap_min_addr; 5-level paging) */
static __always_inline bool arch_is_code_address(u64 address)
{
	return address >= 0x10000 && address < 1ULL << 56;
}

/* Do these registers belong to a program, and not to the kernel? */
static __always_inline bool arch_is_user_mode(const struct pt_regs *registers)
{
	return (registers->cs & 3) == 3;
}

/* Did the thread come into the kernel by a system call? After a fault or an interrupt the number of the call is -1. */
static __always_inline bool arch_is_system_call(const struct pt_regs *registers)
{
	return (s64)registers->orig_rax >= 0;
}

static __always_inline u64 arch_system_call(const struct pt_regs *registers)
{
	return registers->orig_rax;
}

/* Argument 1 to 6 of the system call that the registers came with. */
static __always_inline u64 arch_system_call_argument(const struct pt_regs *registers, u32 number)
{
	return number == 4 ? registers->r10 : arch_argument(registers, number);
}

/* System calls that change what is mapped, and those that write to a file. */
enum {
	ARCH_WRITE = 1,
	ARCH_MMAP = 9,
	ARCH_MPROTECT = 10,
	ARCH_MUNMAP = 11,
	ARCH_PWRITE64 = 18,
	ARCH_WRITEV = 20,
	ARCH_MREMAP = 25,
	ARCH_PWRITEV = 296,
	ARCH_PWRITEV2 = 328,
	ARCH_PKEY_MPROTECT = 329,
};

/* Numbers of system calls: the one that goes on with an interrupted one, which these can be, and those that nothing comes after. */
enum {
	ARCH_POLL = 7,
	ARCH_CLONE = 56,
	ARCH_EXECVE = 59,
	ARCH_EXIT = 60,
	ARCH_FUTEX = 202,
	ARCH_RESTART = 219,
	ARCH_CLOCK_NANOSLEEP = 230, /* nanosleep too: glibc makes it of this one */
	ARCH_EXIT_GROUP = 231,
	ARCH_EXECVEAT = 322,
	ARCH_CLONE3 = 435,
};

/* System calls that wait for the file whose descriptor is their first argument. */
#define ARCH_DESCRIPTOR_CALLS(CALL)                                           \
	CALL(0) CALL(1)			    /* read, write */                 \
	CALL(5)				    /* fstat */                       \
	CALL(16)			    /* ioctl */                       \
	CALL(17) CALL(18)		    /* pread64, pwrite64 */           \
	CALL(19) CALL(20)		    /* readv, writev */               \
	CALL(40)			    /* sendfile */                    \
	CALL(42) CALL(43)		    /* connect, accept */             \
	CALL(44) CALL(45) CALL(46) CALL(47) /* sendto, recvfrom, sendmsg, recvmsg */ \
	CALL(72) CALL(73)		    /* fcntl, flock */                \
	CALL(74) CALL(75) CALL(77)	    /* fsync, fdatasync, ftruncate */ \
	CALL(217)			    /* getdents64 */                  \
	CALL(232) CALL(281) CALL(441)	    /* epoll_wait, epoll_pwait, epoll_pwait2 */ \
	CALL(275)			    /* splice */                      \
	CALL(285)			    /* fallocate */                   \
	CALL(288)			    /* accept4 */                     \
	CALL(295) CALL(296)		    /* preadv, pwritev */             \
	CALL(299) CALL(307)		    /* recvmmsg, sendmmsg */      \
	CALL(426)			    /* io_uring_enter */
/* Those that send by the socket whose descriptor is their first argument, or take from it what was sent. */
#define ARCH_SOCKET_CALLS(CALL)                                               \
	CALL(0) CALL(1) CALL(19) CALL(20)   /* read, write, readv, writev */  \
	CALL(40)			    /* sendfile */                    \
	CALL(42)			    /* connect */                     \
	CALL(44) CALL(45) CALL(46) CALL(47) /* sendto, recvfrom, sendmsg, recvmsg */ \
	CALL(48)			    /* shutdown */                    \
	CALL(299) CALL(307)		    /* recvmmsg, sendmmsg */
#define ARCH_ACCEPT_CALLS(CALL)	 CALL(43) CALL(288) /* accept, accept4 */
#define ARCH_EPOLL_CALLS(CALL)	 CALL(232) CALL(281) CALL(441) /* epoll_wait, epoll_pwait, epoll_pwait2 */
#define ARCH_SELECT	    23
#define ARCH_PSELECT6	    270
#define ARCH_PPOLL	    271
#define ARCH_IO_URING_ENTER 426

/* Is the thread in a call that ends it, or its program? */
static __always_inline bool arch_is_ending(const struct pt_regs *registers)
{
	u64 number = arch_system_call(registers);

	return number == ARCH_EXIT || number == ARCH_EXIT_GROUP || number == ARCH_EXECVE ||
	       number == ARCH_EXECVEAT;
}

/* Where does a thread begin that has executed nothing yet? Then the call that made it returns 0 in it. */
enum arch_beginning {
	ARCH_NO_BEGINNING,
	ARCH_ON_STACK_OF_ITS_OWN,
	ARCH_PERHAPS_ON_STACK_OF_ITS_OWN, /* the arguments that would say so may be overwritten already */
};

static __always_inline enum arch_beginning arch_beginning_of(const struct pt_regs *registers)
{
	u64 number = arch_system_call(registers);

	if (arch_result(registers))
		return ARCH_NO_BEGINNING;
	if (number == ARCH_CLONE3)
		return ARCH_PERHAPS_ON_STACK_OF_ITS_OWN;
	/* Without one it is as after a fork. */
	return number == ARCH_CLONE && registers->rsi ? ARCH_ON_STACK_OF_ITS_OWN : ARCH_NO_BEGINNING;
}

/* Does ip still point to the probe whose cookie has these low 12 bits? Another program on the same site may have
 * done the instruction already; where that led looks like a probe of the same 12 bits only by chance. */
static __always_inline bool arch_ip_is_at(const struct pt_regs *registers, u64 low_bits)
{
	u64 ip = registers->rip;
	u8 breakpoint;

	return !((ip ^ low_bits) & 0xfff) &&
	       !bpf_probe_read_user(&breakpoint, sizeof(breakpoint), (void *)ip) &&
	       breakpoint == 0xcc;
}

/* Does what `ret` (popped 8) or `ret n` does. A read that fails changes nothing: the kernel then steps the
 * instruction. */
static __always_inline void arch_emulate_return(struct pt_regs *registers, u64 popped)
{
	u64 sp = registers->rsp, address;

	if (bpf_probe_read_user(&address, sizeof(address), (void *)sp))
		return;
	registers->rsp = sp + popped;
	registers->rip = address;
}

#define FLAG_CARRY    (1 << 0)
#define FLAG_PARITY   (1 << 2)
#define FLAG_ZERO     (1 << 6)
#define FLAG_SIGN     (1 << 7)
#define FLAG_OVERFLOW (1 << 11)

/* Would jcc jump? condition: the low four bits of its opcode; the lowest one negates. */
static __always_inline bool arch_condition_holds(const struct pt_regs *registers, u32 condition)
{
	u64 flags = registers->eflags;
	bool less = !(flags & FLAG_SIGN) != !(flags & FLAG_OVERFLOW), holds = false;

	switch (condition >> 1) {
	case 0:
		holds = flags & FLAG_OVERFLOW;
		break;
	case 1:
		holds = flags & FLAG_CARRY;
		break;
	case 2:
		holds = flags & FLAG_ZERO;
		break;
	case 3:
		holds = flags & (FLAG_CARRY | FLAG_ZERO);
		break;
	case 4:
		holds = flags & FLAG_SIGN;
		break;
	case 5:
		holds = flags & FLAG_PARITY;
		break;
	case 6:
		holds = less;
		break;
	case 7:
		holds = less || (flags & FLAG_ZERO);
		break;
	}
	return holds != (condition & 1);
}

/* Does what `jmp *register` does; numbers as the processor encodes them. The empty asm keeps each read apart:
 * the compiler would join them to one at a computed place, which the verifier of 6.19 refuses. */
static __always_inline void arch_emulate_jump(struct pt_regs *registers, u32 number)
{
#define JUMP(value, name)                             \
	if (number == value) {                        \
		u64 address = registers->name;        \
                                                      \
		__asm__ volatile("" : "+r"(address)); \
		registers->rip = address;             \
	}
	JUMP(0, rax)
	JUMP(1, rcx)
	JUMP(2, rdx)
	JUMP(3, rbx)
	JUMP(5, rbp)
	JUMP(6, rsi)
	JUMP(7, rdi)
	JUMP(8, r8)
	JUMP(9, r9)
	JUMP(10, r10)
	JUMP(11, r11)
	JUMP(12, r12)
	JUMP(13, r13)
	JUMP(14, r14)
	JUMP(15, r15)
#undef JUMP
}

#define THREAD_FEATURE_SHADOW_STACK (1 << 0) /* ARCH_SHSTK_SHSTK */

/* A second copy of the return addresses, which only the processor's own `ret` takes from: where a program did it,
 * the next one faults. */
static __always_inline bool arch_has_shadow_stack(struct task_struct *task)
{
	return bpf_core_field_exists(task->thread.features) &&
	       BPF_CORE_READ(task, thread.features) & THREAD_FEATURE_SHADOW_STACK;
}

static __always_inline u64 arch_thread_pointer(struct task_struct *task)
{
	return BPF_CORE_READ(task, thread.fsbase);
}

#endif
