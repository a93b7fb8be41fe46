/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inject/inject_registers.h"

#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>

#include "base/err.h"

#define RED_ZONE_BYTES	  128
#define SYSTEM_CALL_BYTES 2
#define FIRST_ADDRESS	  4096 /* nothing is mapped below */

/* What the kernel leaves in rax of a system call that it will begin again (<linux/errno.h>, not for
 * programs). */
enum {
	RESTART_SYSTEM = 512,
	RESTART_ALWAYS = 513,
	RESTART_NO_HANDLER = 514, /* EINTR when a handler runs, again when none does */
	RESTART_BLOCK = 516,	  /* by restart_syscall, with the end of the wait as it was */
};

int registers_read_general(u32 tid, struct user_regs_struct *ret_general)
{
	struct iovec vector = {ret_general, sizeof(*ret_general)};

	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &vector))
		return -errno;
	return vector.iov_len == sizeof(*ret_general) ? 0 : -EOPNOTSUPP;
}

int registers_write_general(u32 tid, const struct user_regs_struct *general)
{
	struct iovec vector = {(void *)general, sizeof(*general)};

	return ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &vector) ? -errno : 0;
}

int registers_read(u32 tid, struct registers *ret_registers)
{
	struct iovec vector = {ret_registers->extended, sizeof(ret_registers->extended)};
	int result = registers_read_general(tid, &ret_registers->general);

	if (result)
		return result;
	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_X86_XSTATE, &vector))
		return -errno;
	if (vector.iov_len >= sizeof(ret_registers->extended))
		return -EOPNOTSUPP; /* it may be cut */
	ret_registers->extended_bytes = vector.iov_len;
	if (ptrace(PTRACE_GETSIGMASK, tid, sizeof(u64), &ret_registers->signal_mask))
		return -errno;
	return 0;
}

int registers_write(u32 tid, const struct registers *registers)
{
	struct iovec vector = {(void *)registers->extended, registers->extended_bytes};
	int result = 0;

	if (ptrace(PTRACE_SETREGSET, tid, (void *)NT_X86_XSTATE, &vector))
		result = -errno;
	if (ptrace(PTRACE_SETSIGMASK, tid, sizeof(u64), &registers->signal_mask) && !result)
		result = -errno;
	return registers_write_general(tid, &registers->general) ?: result;
}

bool registers_in_system_call(const struct registers *registers, u64 *ret_number,
			      u64 ret_arguments[6])
{
	const struct user_regs_struct *general = &registers->general;
	s64 result = -(s64)general->rax;

	if ((s64)general->orig_rax < 0)
		return false;
	if (result != EINTR && result != RESTART_SYSTEM && result != RESTART_ALWAYS &&
	    result != RESTART_NO_HANDLER && result != RESTART_BLOCK)
		return false;
	*ret_number = general->orig_rax;
	ret_arguments[0] = general->rdi;
	ret_arguments[1] = general->rsi;
	ret_arguments[2] = general->rdx;
	ret_arguments[3] = general->r10;
	ret_arguments[4] = general->r8;
	ret_arguments[5] = general->r9;
	return true;
}

bool registers_after_system_call(const struct registers *registers, u64 *ret_number)
{
	*ret_number = registers->general.orig_rax;
	return (s64)*ret_number >= 0;
}

void registers_restart(struct registers *registers)
{
	/* Without a signal whose handler runs the call is made again, with one it ends with EINTR, as it should.
	 * What RESTART_BLOCK needs the kernel keeps for the thread: registers_loses_restart(). */
	if (registers->general.rax == (u64)-EINTR)
		registers->general.rax = (u64)-RESTART_NO_HANDLER;
}

bool registers_loses_restart(u64 number)
{
	return number == SYS_nanosleep || number == SYS_clock_nanosleep;
}

bool registers_is_interrupted_wait(u64 result)
{
	return result == (u64)-RESTART_BLOCK;
}

bool registers_goes_on(const struct registers *registers)
{
	return registers->general.orig_rax == SYS_restart_syscall;
}

/* The arguments are still those of the call. Who sleeps has no function of its own there (hrtimer_nanosleep_restart jumps to one that is
 * the scheduler's), and there are no others. No clock has a number as large as an address. */
u64 registers_restart_number(const struct registers *registers, const char *kernel_function)
{
	s32 clock = (s32)registers->general.rdi;

	if (!registers_goes_on(registers) || !*kernel_function || strcmp(kernel_function, "0") == 0)
		return 0;
	if (strncmp(kernel_function, "futex", strlen("futex")) == 0)
		return SYS_futex;
	if (strstr(kernel_function, "poll"))
		return SYS_poll;
	return registers->general.rdi < FIRST_ADDRESS || clock < 0 ? SYS_clock_nanosleep
								   : SYS_nanosleep;
}

void registers_restart_anew(struct registers *registers, u64 restart_number)
{
	if (registers->in_code || registers->general.rax != (u64)-RESTART_BLOCK)
		return;
	if (registers_goes_on(registers)) {
		if (!restart_number)
			return;
		registers->general.orig_rax = restart_number;
	}
	registers->general.rax = (u64)-RESTART_NO_HANDLER;
}

void registers_frame(const struct user_regs_struct *general, struct elf_frame *ret_frame)
{
	*ret_frame = (struct elf_frame){
		.registers = {general->rax, general->rdx, general->rcx, general->rbx, general->rsi,
			      general->rdi, general->rbp, general->rsp, general->r8, general->r9,
			      general->r10, general->r11, general->r12, general->r13, general->r14,
			      general->r15, general->rip},
		.known = (1U << ELF_REGISTERS) - 1,
	};
}

u64 registers_program_counter(const struct user_regs_struct *general)
{
	return general->rip;
}

u64 registers_stack_pointer(const struct user_regs_struct *general)
{
	return general->rsp;
}

u64 registers_thread_pointer(const struct user_regs_struct *general)
{
	return general->fs_base;
}

u64 registers_result(const struct user_regs_struct *general)
{
	return general->rax;
}

void registers_set_code(struct user_regs_struct *general, u64 address, u64 stack_pointer)
{
	general->orig_rax = (u64)-1;
	general->rip = address;
	general->rsp = stack_pointer;
	/* The direction flag is clear in every function; of one that runs, traps of single steps and of alignment may be on. */
	general->eflags &= ~0x40500ULL;
}

void registers_set_system_call(struct user_regs_struct *general, u64 number, const u64 arguments[6])
{
	general->rax = number;
	general->rdi = arguments[0];
	general->rsi = arguments[1];
	general->rdx = arguments[2];
	general->r10 = arguments[3];
	general->r8 = arguments[4];
	general->r9 = arguments[5];
}

void registers_undo_system_call(struct user_regs_struct *general)
{
	general->rip -= SYSTEM_CALL_BYTES;
	general->rax = general->orig_rax;
	general->orig_rax = (u64)-1;
}

/* ---- the frame of a signal handler -------------------------------------------------------------------- */

/* Of the kernel's <asm/sigcontext.h>, in the bytes of the FXSAVE image that are left to software. */
struct extended_frame {
	u32 magic, extended_bytes;
	u64 features;
	u32 state_bytes;
};
#define EXTENDED_MAGIC	       0x46505853U
#define EXTENDED_END_MAGIC     0x46505845U
#define EXTENDED_FRAME_OFFSET  464
#define EXTENDED_HEADER_OFFSET 512
#define FEATURE_TILES	       18

#define UC_FP_XSTATE	     1
#define UC_SIGCONTEXT_SS     2
#define UC_STRICT_RESTORE_SS 4
#define INVALID_ALTSTACK \
	7 /* ss_flags that no kernel takes: the thread's signal stack stays as it is */

/* The kernel takes no more than the thread was given, and tiles (AMX) are given at their first use. */
static size_t extended_size(const struct registers *registers)
{
	unsigned size, offset, unused;
	u64 used;

	memcpy(&used, registers->extended + EXTENDED_HEADER_OFFSET, sizeof(used));
	if (used >> FEATURE_TILES & 1 ||
	    !__get_cpuid_count(0xd, FEATURE_TILES, &size, &offset, &unused, &unused) || !offset ||
	    offset > registers->extended_bytes)
		return registers->extended_bytes;
	return offset;
}

static void context_fill(ucontext_t *context, const struct user_regs_struct *general, u64 extended,
			 u64 signal_mask)
{
	greg_t *registers = context->uc_mcontext.gregs;

	context->uc_flags = UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS | (extended ? UC_FP_XSTATE : 0);
	context->uc_stack.ss_flags = INVALID_ALTSTACK;
	registers[REG_R8] = (greg_t)general->r8;
	registers[REG_R9] = (greg_t)general->r9;
	registers[REG_R10] = (greg_t)general->r10;
	registers[REG_R11] = (greg_t)general->r11;
	registers[REG_R12] = (greg_t)general->r12;
	registers[REG_R13] = (greg_t)general->r13;
	registers[REG_R14] = (greg_t)general->r14;
	registers[REG_R15] = (greg_t)general->r15;
	registers[REG_RDI] = (greg_t)general->rdi;
	registers[REG_RSI] = (greg_t)general->rsi;
	registers[REG_RBP] = (greg_t)general->rbp;
	registers[REG_RBX] = (greg_t)general->rbx;
	registers[REG_RDX] = (greg_t)general->rdx;
	registers[REG_RAX] = (greg_t)general->rax;
	registers[REG_RCX] = (greg_t)general->rcx;
	registers[REG_RSP] = (greg_t)general->rsp;
	registers[REG_RIP] = (greg_t)general->rip;
	registers[REG_EFL] = (greg_t)general->eflags;
	registers[REG_CSGSFS] =
		(greg_t)((general->cs & 0xffff) | (general->gs & 0xffff) << 16 |
			 (general->fs & 0xffff) << 32 | (general->ss & 0xffff) << 48);
	memcpy(&context->uc_mcontext.fpregs, &extended, sizeof(extended));
	memcpy(&context->uc_sigmask, &signal_mask, sizeof(signal_mask));
}

#define CONTEXT_BYTES (offsetof(ucontext_t, uc_sigmask) + sizeof(u64))
#define FRAME_BYTES   (sizeof(u64) + CONTEXT_BYTES) /* return address, context */

static void frame_put(u8 *at, u64 signal_return, const struct user_regs_struct *general,
		      u64 extended, u64 signal_mask)
{
	ucontext_t context;

	memset(&context, 0, sizeof(context));
	context_fill(&context, general, extended, signal_mask);
	memcpy(at, &signal_return, sizeof(signal_return));
	memcpy(at + sizeof(signal_return), &context, CONTEXT_BYTES);
}

static void extended_put(u8 *at, const struct registers *registers, size_t size)
{
	struct extended_frame frame = {EXTENDED_MAGIC, (u32)(size + sizeof(u32)), 0, (u32)size};
	u32 end = EXTENDED_END_MAGIC;

	memcpy(at, registers->extended, size);
	/* ptrace puts the features that the processor has where a signal frame has `magic`. */
	memcpy(&frame.features, registers->extended + EXTENDED_FRAME_OFFSET,
	       sizeof(frame.features));
	memcpy(at + EXTENDED_FRAME_OFFSET, &frame, sizeof(frame));
	memcpy(at + size, &end, sizeof(end));
}

void registers_way_back(const struct registers *registers, u64 restart_number, u64 signal_return,
			u64 syscall_return, u64 region, size_t region_bytes,
			struct way_back *ret_way_back)
{
	struct user_regs_struct back = registers->general, out = registers->general;
	size_t extended_bytes = extended_size(registers);
	size_t frame_bytes = (FRAME_BYTES + 63) & ~(size_t)63;
	u8 *bytes = ret_way_back->bytes;
	u64 address;

	memset(bytes, 0, sizeof(ret_way_back->bytes));
	ret_way_back->size_bytes = 2 * frame_bytes + extended_bytes + sizeof(u32);
	address = (registers->general.rsp - RED_ZONE_BYTES - ret_way_back->size_bytes) & ~63ULL;
	ret_way_back->address = address;
	ret_way_back->way_out = address;
	ret_way_back->way_back = address + frame_bytes;

	if (!registers->in_code) {
		back.rip -= SYSTEM_CALL_BYTES; /* the system call once more */
		back.rax = registers_goes_on(registers) && restart_number ? restart_number
									  : back.orig_rax;
	}
	frame_put(bytes + frame_bytes, signal_return, &back, address + 2 * frame_bytes,
		  registers->signal_mask);
	extended_put(bytes + 2 * frame_bytes, registers, extended_bytes);

	registers_set_system_call(&out, SYS_munmap, (u64[6]){region, region_bytes});
	registers_set_code(&out, syscall_return, ret_way_back->way_back);
	frame_put(bytes, signal_return, &out, 0, ~0ULL);
}

/* ---- code of the libc ----------------------------------------------------------------------------------- */

static size_t find(const u8 *code, size_t size, const void *wanted, size_t wanted_size)
{
	const u8 *at = memmem(code, size, wanted, wanted_size);

	return at ? (size_t)(at - code) : (size_t)-1;
}

size_t registers_find_syscall_return(const u8 *code, size_t size_bytes)
{
	return find(code, size_bytes, "\x0f\x05\xc3", 3);
}

size_t registers_find_signal_return(const u8 *code, size_t size_bytes)
{
	return find(code, size_bytes, "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", 9);
}

bool registers_is_system_call(const u8 instruction[2])
{
	return instruction[0] == 0x0f && instruction[1] == 0x05;
}
