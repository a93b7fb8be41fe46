#include "attach/arch_x86_64.h"

#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/user.h>

/* In assembler, so that no compiler option (CET's endbr64, profiling) changes the first
 * instruction. */
__asm__(".pushsection .text\n"
	".p2align 4\n"
	".globl arch_calibrate_cheap\n"
	".type arch_calibrate_cheap, @function\n"
	"arch_calibrate_cheap:\n"
	"	nop\n"
	"	ret\n"
	".size arch_calibrate_cheap, . - arch_calibrate_cheap\n"
	".p2align 4\n"
	".globl arch_calibrate_stepped\n"
	".type arch_calibrate_stepped, @function\n"
	"arch_calibrate_stepped:\n"
	"	xor %eax, %eax\n"
	"	ret\n"
	".size arch_calibrate_stepped, . - arch_calibrate_stepped\n"
	".popsection\n");

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
