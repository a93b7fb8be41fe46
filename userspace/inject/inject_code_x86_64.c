/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inject/inject_code.h"

#include <sys/syscall.h>

/* Offsets in struct inject_data, as the assembler wants them. */
#define AT_PTHREAD_CREATE 0
#define AT_PTHREAD_DETACH 8
#define AT_DLOPEN	  16
#define AT_DLSYM	  24
#define AT_DLCLOSE	  32
#define AT_DLERROR	  40
#define AT_MUNMAP	  48
#define AT_SYSCALL_RETURN 56
#define AT_WAY_BACK	  64
#define AT_REGION	  72
#define AT_PTHREAD	  80
#define AT_RETURNED	  88
#define AT_GO		  96
#define AT_CANCELLED	  100
#define AT_STATE	  104
#define AT_TID		  108
#define AT_RING_FD	  112
#define AT_LIBRARY_FD	  116
#define AT_CREATED	  120
#define AT_MEMFD_FLAGS	  124
#define AT_DLOPEN_FLAGS	  128
#define AT_SEEN		  132
#define AT_START	  136
#define AT_RING_NAME	  168
#define AT_LIBRARY_NAME	  184
#define AT_THREAD_NAME	  200
#define AT_ENTRY_NAME	  216
#define AT_LIBRARY_PATH	  248
#define AT_MESSAGE	  504
#define REGION_BYTES	  131072
#define DATA_OFFSET	  4096
#define MESSAGE_BYTES	  256

#define ASSERT_AT(name, member) \
	_Static_assert(name == offsetof(struct inject_data, member), "offset of " #member)
ASSERT_AT(AT_PTHREAD_CREATE, pthread_create);
ASSERT_AT(AT_PTHREAD_DETACH, pthread_detach);
ASSERT_AT(AT_DLOPEN, dlopen);
ASSERT_AT(AT_DLSYM, dlsym);
ASSERT_AT(AT_DLCLOSE, dlclose);
ASSERT_AT(AT_DLERROR, dlerror);
ASSERT_AT(AT_MUNMAP, munmap);
ASSERT_AT(AT_SYSCALL_RETURN, syscall_return);
ASSERT_AT(AT_WAY_BACK, way_back);
ASSERT_AT(AT_REGION, region);
ASSERT_AT(AT_PTHREAD, pthread);
ASSERT_AT(AT_RETURNED, returned);
ASSERT_AT(AT_GO, go);
ASSERT_AT(AT_CANCELLED, cancelled);
ASSERT_AT(AT_STATE, state);
ASSERT_AT(AT_TID, tid);
ASSERT_AT(AT_RING_FD, ring_fd);
ASSERT_AT(AT_LIBRARY_FD, library_fd);
ASSERT_AT(AT_CREATED, created);
ASSERT_AT(AT_MEMFD_FLAGS, memfd_flags);
ASSERT_AT(AT_DLOPEN_FLAGS, dlopen_flags);
ASSERT_AT(AT_SEEN, seen);
ASSERT_AT(AT_START, start);
ASSERT_AT(AT_RING_NAME, ring_name);
ASSERT_AT(AT_LIBRARY_NAME, library_name);
ASSERT_AT(AT_THREAD_NAME, thread_name);
ASSERT_AT(AT_ENTRY_NAME, entry_name);
ASSERT_AT(AT_LIBRARY_PATH, library_path);
ASSERT_AT(AT_MESSAGE, message);
_Static_assert(REGION_BYTES == INJECT_REGION_BYTES && DATA_OFFSET == INJECT_DATA_OFFSET &&
		       MESSAGE_BYTES == INJECT_MESSAGE_BYTES,
	       "the numbers of inject_code.h");
_Static_assert(INJECT_STATE_STARTED == 1 && INJECT_STATE_LOADED == 2 &&
		       INJECT_STATE_RETURNED == 3 && INJECT_STATE_FAILED == 4 &&
		       INJECT_STATE_CANCELLED == 5,
	       "the numbers of enum inject_state");

#define STRING(x)	    STRING_OF(x)
#define STRING_OF(x)	    #x
#define DATA(at)	    STRING(at) "(%rbx)"
#define SYSTEM_CALL(number) "	mov $" STRING(number) ", %eax\n	syscall\n"
#define SLEEP(milliseconds) \
	"	xor %edi, %edi\n" \
	"	xor %esi, %esi\n" \
	"	mov $" STRING(milliseconds) ", %edx\n" SYSTEM_CALL(SYS_poll)

/* rbx points to the data page throughout. One instruction a line. */
/* clang-format off */
__asm__(
	".pushsection .rodata\n"
	".p2align 4\n"
	".globl inject_code_start\n"
	"inject_code_start:\n"

	/* ---- the borrowed thread, on the stack of the region */
	".globl inject_code_begin\n"
	"inject_code_begin:\n"
	/* Of one that runs the unit of floating point is in the midst of something, which a thread that it makes would inherit. */
	"	fninit\n"
	"	push $0x1f80\n"
	"	ldmxcsr (%rsp)\n"
	"	pop %rbx\n"
	"	lea inject_code_start(%rip), %rbx\n"
	"	add $" STRING(DATA_OFFSET) ", %rbx\n"
	"	lea " DATA(AT_RING_NAME) ", %rdi\n"
	"	mov " DATA(AT_MEMFD_FLAGS) ", %esi\n"
	SYSTEM_CALL(SYS_memfd_create)
	"	mov %eax, " DATA(AT_RING_FD) "\n"
	"	lea " DATA(AT_LIBRARY_NAME) ", %rdi\n"
	"	mov " DATA(AT_MEMFD_FLAGS) ", %esi\n"
	SYSTEM_CALL(SYS_memfd_create)
	"	mov %eax, " DATA(AT_LIBRARY_FD) "\n"
	SYSTEM_CALL(SYS_getpid)
	".globl inject_code_files_marker\n"
	"inject_code_files_marker:\n"
	"	cmpl $0, " DATA(AT_GO) "\n"
	"	je inject_code_close\n"
	"	lea " DATA(AT_PTHREAD) ", %rdi\n"
	"	xor %esi, %esi\n"
	"	lea inject_code_thread(%rip), %rdx\n"
	"	mov %rbx, %rcx\n"
	"	call *" DATA(AT_PTHREAD_CREATE) "\n"
	"	mov %eax, " DATA(AT_CREATED) "\n"
	"	test %eax, %eax\n"
	"	jne inject_code_close\n"
	/* Our thread is told that this one is out of the region by time(): the kernel stores it when the next
	 * instruction of this thread is one of the libc. */
	"	mov $" STRING(SYS_time) ", %eax\n"
	"	lea " DATA(AT_RETURNED) ", %rdi\n"
	"	mov " DATA(AT_WAY_BACK) ", %rsp\n"
	"	jmp *" DATA(AT_SYSCALL_RETURN) "\n"

	/* ---- the same thread, when there is no thread to be started */
	".globl inject_code_close\n"
	"inject_code_close:\n"
	/* Also from wherever the thread was stopped. */
	"	lea inject_code_start(%rip), %rbx\n"
	"	add $" STRING(DATA_OFFSET) ", %rbx\n"
	"	mov " DATA(AT_RING_FD) ", %edi\n"
	"	test %edi, %edi\n"
	"	js 1f\n"
	SYSTEM_CALL(SYS_close)
	"1:	mov " DATA(AT_LIBRARY_FD) ", %edi\n"
	"	test %edi, %edi\n"
	"	js 1f\n"
	SYSTEM_CALL(SYS_close)
	"1:	mov $" STRING(SYS_munmap) ", %eax\n"
	"	mov " DATA(AT_REGION) ", %rdi\n"
	"	mov $" STRING(REGION_BYTES) ", %esi\n"
	"	mov " DATA(AT_WAY_BACK) ", %rsp\n"
	"	jmp *" DATA(AT_SYSCALL_RETURN) "\n"

	/* ---- the thread of our own; r12: the library */
	"inject_code_thread:\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	push %r13\n"
	"	mov %rdi, %rbx\n"
	"	xor %r12d, %r12d\n"
	"	mov %fs:0x10, %rdi\n" /* pthread_self() */
	"	call *" DATA(AT_PTHREAD_DETACH) "\n"
	SYSTEM_CALL(SYS_gettid)
	"	mov %eax, " DATA(AT_TID) "\n"
	"	mov $15, %edi\n" /* PR_SET_NAME */
	"	lea " DATA(AT_THREAD_NAME) ", %rsi\n"
	SYSTEM_CALL(SYS_prctl)
	"	movl $1, " DATA(AT_STATE) "\n"
	"	cmpl $0, " DATA(AT_CANCELLED) "\n"
	"	jne .Lcancelled\n"
	"	lea " DATA(AT_LIBRARY_PATH) ", %rdi\n"
	"	mov " DATA(AT_DLOPEN_FLAGS) ", %esi\n"
	"	call *" DATA(AT_DLOPEN) "\n"
	"	mov %rax, %r12\n"
	"	test %rax, %rax\n"
	"	je .Lfailed\n"
	"	mov " DATA(AT_LIBRARY_FD) ", %edi\n"
	SYSTEM_CALL(SYS_close)
	"	movl $-1, " DATA(AT_LIBRARY_FD) "\n"
	"	mov %r12, %rdi\n"
	"	lea " DATA(AT_ENTRY_NAME) ", %rsi\n"
	"	call *" DATA(AT_DLSYM) "\n"
	"	test %rax, %rax\n"
	"	je .Lfailed\n"
	"	cmpl $0, " DATA(AT_CANCELLED) "\n"
	"	jne .Lcancelled\n"
	"	movl $2, " DATA(AT_STATE) "\n"
	"	lea " DATA(AT_START) ", %rdi\n"
	"	call *%rax\n"
	"	movl $3, " DATA(AT_STATE) "\n"
	"	cmp $1, %eax\n"
	"	jne .Lleave\n"
	"	mov %r12, %rdi\n"
	"	call *" DATA(AT_DLCLOSE) "\n"
	"	jmp .Lleave\n"

	".Lfailed:\n"
	"	mov " DATA(AT_DLERROR) ", %rax\n"
	"	test %rax, %rax\n"
	"	je 2f\n"
	"	call *%rax\n"
	"	test %rax, %rax\n"
	"	je 2f\n"
	"	lea " DATA(AT_MESSAGE) ", %rdi\n"
	"	mov $" STRING(MESSAGE_BYTES) " - 1, %ecx\n"
	"1:	mov (%rax), %dl\n"
	"	test %dl, %dl\n"
	"	je 2f\n"
	"	mov %dl, (%rdi)\n"
	"	inc %rax\n"
	"	inc %rdi\n"
	"	dec %ecx\n"
	"	jne 1b\n"
	"2:	movl $4, " DATA(AT_STATE) "\n"
	"	jmp .Lclose\n"

	".Lcancelled:\n"
	"	movl $5, " DATA(AT_STATE) "\n"

	/* gpuprobe reads why, if it still lives. */
	".Lclose:\n"
	"	mov $100, %r13d\n"
	"1:	cmpl $0, " DATA(AT_SEEN) "\n"
	"	jne 1f\n"
	SLEEP(10)
	"	dec %r13d\n"
	"	jne 1b\n"
	"1:	test %r12, %r12\n"
	"	je 1f\n"
	"	mov %r12, %rdi\n"
	"	call *" DATA(AT_DLCLOSE) "\n"
	"1:	mov " DATA(AT_LIBRARY_FD) ", %edi\n"
	"	test %edi, %edi\n"
	"	js 1f\n"
	SYSTEM_CALL(SYS_close)
	"1:	mov " DATA(AT_RING_FD) ", %edi\n"
	SYSTEM_CALL(SYS_close)

	".Lleave:\n"
	"	cmpq $0, " DATA(AT_RETURNED) "\n"
	"	jne 1f\n"
	SLEEP(1)
	"	jmp .Lleave\n"
	"1:	mov " DATA(AT_REGION) ", %rdi\n"
	"	mov $" STRING(REGION_BYTES) ", %esi\n"
	"	mov " DATA(AT_MUNMAP) ", %rax\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	jmp *%rax\n"

	".globl inject_code_end\n"
	"inject_code_end:\n"
	".popsection\n");
/* clang-format on */

extern const u8 inject_code_start[], inject_code_begin[], inject_code_files_marker[],
	inject_code_close[], inject_code_end[];

static size_t offset_of(const u8 *label)
{
	return (size_t)((uintptr_t)label - (uintptr_t)inject_code_start);
}

struct inject_code inject_code_get(void)
{
	return (struct inject_code){
		.code = inject_code_start,
		.size_bytes = offset_of(inject_code_end),
		.begin_offset = offset_of(inject_code_begin),
		.files_marker_offset = offset_of(inject_code_files_marker),
		.close_offset = offset_of(inject_code_close),
	};
}
