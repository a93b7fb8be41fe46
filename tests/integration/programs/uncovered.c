/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sleeps below functions that no unwind table knows, as those of assemblers and code made at run time; what they call has one. */
#include <alloca.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static volatile int sink;

__attribute__((noinline, noclone, used)) void rest(void)
{
	struct timespec time = {0, 2000000};

	nanosleep(&time, NULL);
	sink = sink + 1;
}

/* As MKL does it: rbp is kept on the stack and used for a number; and the stack is rounded down, where it was before being on it. */
__asm__(".text\n"
	".p2align 4\n"
	".type keeps_rbp, @function\n"
	"keeps_rbp:\n"
	"	sub $40, %rsp\n"
	"	mov %rbp, 8(%rsp)\n"
	"	mov $12345, %ebp\n"
	"	call rest\n"
	"	mov 8(%rsp), %rbp\n"
	"	add $40, %rsp\n"
	"	ret\n"
	".size keeps_rbp, .-keeps_rbp\n"
	".p2align 4\n"
	".type rounds_down, @function\n"
	"rounds_down:\n"
	"	mov %rsp, %rax\n"
	"	and $-64, %rsp\n"
	"	sub $192, %rsp\n"
	"	mov %rax, 64(%rsp)\n"
	"	call keeps_rbp\n"
	"	mov 64(%rsp), %rsp\n"
	"	ret\n"
	".size rounds_down, .-rounds_down\n");

void keeps_rbp(void);
void rounds_down(void);

__attribute__((noinline, noclone)) void first(void)
{
	keeps_rbp();
	sink = sink + 1;
}

__attribute__((noinline, noclone)) void second(void)
{
	rounds_down();
	sink = sink + 1;
}

/* Begins as oneDNN's code does, which has no symbol either: push rbx, rbp, r12; sub rsp,32; mov ebp,12345; call rdi; and back. */
static const unsigned char made_code[] = {0x53, 0x55, 0x41, 0x54, 0x48, 0x83, 0xec, 0x20,
					  0xbd, 0x39, 0x30, 0x00, 0x00, 0xff, 0xd7, 0x48,
					  0x83, 0xc4, 0x20, 0x41, 0x5c, 0x5d, 0x5b, 0xc3};
static void (*made)(void (*)(void));

static void make_code(void)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(code, made_code, sizeof(made_code));
	made = (void (*)(void (*)(void)))code;
}

/* Leaves in all words below its caller's frame where a call of a function of this file would return to. */
__asm__(".text\n"
	".p2align 4\n"
	".type soil, @function\n"
	"soil:\n"
	"	.cfi_startproc\n"
	"	call 1f\n"
	"1:	pop %rax\n"
	"	mov $64, %ecx\n"
	"	lea -8(%rsp), %rdx\n"
	"2:	mov %rax, (%rdx)\n"
	"	sub $8, %rdx\n"
	"	dec %ecx\n"
	"	jne 2b\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size soil, .-soil\n");

void soil(void);

/* Its frame is found by rbp only. */
__attribute__((noinline, noclone)) void third(int bytes)
{
	char *room = alloca(bytes);

	memset(room, 1, bytes);
	soil();
	made(rest);
	sink = sink + room[bytes / 2];
}

int main(void)
{
	make_code();
	puts("ready");
	fflush(stdout);
	for (;;) {
		first();
		second();
		third(100);
	}
}
