#include "process/arch_x86_64.h"

#include <errno.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include "base/array.h"

/* The kernel's own: begin again unless a handler runs, else EINTR. */
#define ERESTARTNOHAND 514

#define EPOLL_PWAIT2 441 /* newer than the headers of some build machines */

#define STRING_OF(value) #value
#define STRING(value)	 STRING_OF(value)

/* In assembler, so that no compiler option (CET's endbr64, profiling) changes the first
 * instruction. */
/* clang-format off */
__asm__(".pushsection .text\n"
	".p2align 4\n"
	".globl arch_calibrate_cheap\n"
	".type arch_calibrate_cheap, @function\n"
	"arch_calibrate_cheap:\n"
	".rept " STRING(ARCH_CALIBRATE_COPIES) "\n"
	"	nop\n"
	"	ret\n"
	".balign " STRING(ARCH_CALIBRATE_COPY_BYTES) "\n"
	".endr\n"
	".size arch_calibrate_cheap, . - arch_calibrate_cheap\n"
	".globl arch_calibrate_stepped\n"
	".type arch_calibrate_stepped, @function\n"
	"arch_calibrate_stepped:\n"
	"	xor %eax, %eax\n"
	"	ret\n"
	".size arch_calibrate_stepped, . - arch_calibrate_stepped\n"
	".p2align 4\n"
	".globl arch_call_deep\n"
	".type arch_call_deep, @function\n"
	"arch_call_deep:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	test %edx, %edx\n"
	"	jz 1f\n"
	"	dec %edx\n"
	"	call arch_call_deep\n"
	"	pop %rbp\n"
	"	ret\n"
	"1:	push %rbx\n"
	"	push %r12\n"
	"	mov %rdi, %r12\n"
	"	mov %esi, %ebx\n"
	"2:	call *%r12\n"
	"	dec %ebx\n"
	"	jnz 2b\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n"
	".size arch_call_deep, . - arch_call_deep\n"
	".p2align 4\n"
	".globl arch_keep_below_stack\n"
	".type arch_keep_below_stack, @function\n"
	"arch_keep_below_stack:\n"
	"	movq %rdi, -8(%rsp)\n"
	".globl arch_keep_below_stack_nop\n"
	"arch_keep_below_stack_nop:\n"
	"	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
	"	movq -8(%rsp), %rax\n"
	"	ret\n"
	".size arch_keep_below_stack, . - arch_keep_below_stack\n"
	".popsection\n");
/* clang-format on */

long arch_word_with_breakpoint(long word)
{
	return (word & ~0xffL) | 0xcc;
}

bool arch_rewind_breakpoint(pid_t tid, u64 address)
{
	struct user_regs_struct registers;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &registers) || registers.rip != address + 1)
		return false;
	registers.rip = address;
	return !ptrace(PTRACE_SETREGS, tid, NULL, &registers);
}

bool arch_call_ends_by_stop(long call)
{
	static const long calls[] = {
		SYS_read,	  SYS_readv,	      SYS_recvfrom,	   SYS_recvmsg,
		SYS_recvmmsg,	  SYS_accept,	      SYS_accept4,	   SYS_epoll_wait,
		SYS_epoll_pwait,  EPOLL_PWAIT2,	      SYS_semop,	   SYS_semtimedop,
		SYS_io_getevents, SYS_io_uring_enter, SYS_rt_sigtimedwait,
	};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i] == call)
			return true;
	return false;
}

void arch_restart_call(pid_t tid)
{
	struct user_regs_struct registers;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &registers) || (long)registers.rax != -EINTR ||
	    !arch_call_ends_by_stop((long)registers.orig_rax))
		return;
	registers.rax = -ERESTARTNOHAND;
	ptrace(PTRACE_SETREGS, tid, NULL, &registers);
}
