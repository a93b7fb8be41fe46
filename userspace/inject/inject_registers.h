/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The whole register state of a stopped thread, and what is done with it: system calls in its name, its
 * interrupted system call, and a way back that works without us. One file for each processor.
 */
#ifndef GPUPROBE_INJECT_INJECT_REGISTERS_H
#define GPUPROBE_INJECT_INJECT_REGISTERS_H

#include <sys/user.h>

#include "base/types.h"
#include "elf/elf_frame.h"

#define REGISTERS_EXTENDED_MAX_BYTES 16384

struct registers {
	struct user_regs_struct general;
	u8 extended[REGISTERS_EXTENDED_MAX_BYTES] __attribute__((aligned(64))); /* as NT_X86_XSTATE has it */
	size_t extended_bytes;
	u64 signal_mask;
	bool in_code; /* it was stopped in the middle of code, and in no system call that would go on */
};

/* Of the traced and stopped thread. 0 or -errno. */
int registers_read(u32 tid, struct registers *ret_registers);
/* All of it, in one step at the last: until then the thread goes on where it is, should we die. The system call
 * that it was in goes on (registers_restart). */
int registers_write(u32 tid, const struct registers *registers);
int registers_read_general(u32 tid, struct user_regs_struct *ret_general);
int registers_write_general(u32 tid, const struct user_regs_struct *general);

/* Was it stopped in a system call that blocked, which the kernel would begin again? Then its number and its
 * arguments; the two bytes before the program counter still have to be shown to be the instruction. */
bool registers_in_system_call(const struct registers *registers, u64 *ret_number, u64 ret_arguments[6]);
/* Was it stopped in a system call, or just behind one? Then its number. */
bool registers_after_system_call(const struct registers *registers, u64 *ret_number);
/* Sees to it that the call goes on as if it had not been interrupted, also one that the kernel would end with
 * EINTR because the thread was stopped (epoll_wait and others; signal(7) names them). */
void registers_restart(struct registers *registers);
/* Does this system call, made in between, take the place of what the kernel keeps of a wait with a time limit, to go on with it? sigreturn
 * does, too, and is not made. */
bool registers_loses_restart(u64 number);
/* Others (futex, poll) do where they are interrupted, by our own stop or one of the process: has one been, of which this is the result? */
bool registers_is_interrupted_wait(u64 result);
/* Then the wait begins anew, with all its time, instead of ending with EINTR or with what the other one would have ended with. By restart_number,
 * where it went on by restart_syscall already (registers_goes_on): 0: not known, and it stays so. */
void registers_restart_anew(struct registers *registers, u64 restart_number);
/* Does a wait go on there that was interrupted before, of which the registers have no number any more? */
bool registers_goes_on(const struct registers *registers);
/* Its number, by the function of the kernel that the thread slept in (/proc/TID/wchan, which may be "0"); 0: not known, or none that goes on so. */
u64 registers_restart_number(const struct registers *registers, const char *kernel_function);

/* As unwinding wants them. */
void registers_frame(const struct user_regs_struct *general, struct elf_frame *ret_frame);
u64 registers_program_counter(const struct user_regs_struct *general);
u64 registers_stack_pointer(const struct user_regs_struct *general);
u64 registers_thread_pointer(const struct user_regs_struct *general);
u64 registers_result(const struct user_regs_struct *general);

/* Registers that make the thread run code at address with that stack pointer; not in a system call. */
void registers_set_code(struct user_regs_struct *general, u64 address, u64 stack_pointer);
void registers_set_system_call(struct user_regs_struct *general, u64 number, const u64 arguments[6]);
/* At the entry of a system call: it is not made, the thread will run into it again. */
void registers_undo_system_call(struct user_regs_struct *general);

/*
 * What has to stand below the stack of a thread, and below its red zone, so that a function which returns with the
 * stack pointer way_back comes out where `registers` are, in the system call, if any, once more: the frame of a signal handler.
 * One that returns with way_out unmaps region_bytes at region before that. The kernel then keeps nothing of the wait any more:
 * it is made anew, by restart_number where it went on before.
 */
struct way_back {
	u64 address; /* where the bytes have to be */
	u64 way_back, way_out; /* stack pointers */
	size_t size_bytes;
	u8 bytes[REGISTERS_EXTENDED_MAX_BYTES + 4096] __attribute__((aligned(64)));
};
void registers_way_back(const struct registers *registers, u64 restart_number, u64 signal_return, u64 syscall_return, u64 region,
			size_t region_bytes, struct way_back *ret_way_back);

/* The two pieces of the libc's code that this takes: the offset in `code` of "syscall; ret" and of the signal
 * return; (size_t)-1 where it has none. */
size_t registers_find_syscall_return(const u8 *code, size_t size_bytes);
size_t registers_find_signal_return(const u8 *code, size_t size_bytes);
/* Do these two bytes make a system call? */
bool registers_is_system_call(const u8 instruction[2]);

#endif
