/* SPDX-License-Identifier: MIT */
/*
 * The code of the pages of resident.h. It is copied there, so it refers to nothing but itself and the page behind it.
 * The arguments of a call are passed on as they are, with the agent behind the last one.
 */
#include "resident.h"

#define DATA(field) data + RESIDENT_OFFSET_##field(%rip)

	.section .rodata
	.balign 4096
	.globl	resident_pages
	.hidden	resident_pages
resident_pages:

/* u64 timestamp(void) */
	endbr64
	sub	$24, %rsp
	mov	DATA(CLOCK_ID), %edi
	mov	%rsp, %rsi
	mov	DATA(CLOCK), %rax
	test	%rax, %rax
	jz	1f
	call	*%rax
	jmp	2f
1:	mov	$228, %eax			/* clock_gettime */
	syscall
2:	imul	$1000000000, (%rsp), %rax
	add	8(%rsp), %rax
	add	$24, %rsp
	ret

/* void requested(u8 **buffer, size_t *bytes, size_t *records_max) */
	.org	resident_pages + RESIDENT_ENTRY_REQUESTED * RESIDENT_ENTRY_BYTES
	endbr64
	lock incq DATA(USERS)
	mov	DATA(REQUESTED), %rax
	test	%rax, %rax
	jz	3f
	mov	DATA(AGENT), %rcx
	sub	$8, %rsp
	call	*%rax
	add	$8, %rsp
	lock decq DATA(USERS)
	ret
3:	mov	DATA(SPARE), %rax
	mov	%rax, (%rdi)
	mov	DATA(SPARE_BYTES), %rax
	mov	%rax, (%rsi)
	movq	$0, (%rdx)
	lock decq DATA(USERS)
	ret

/* void completed(void *context, u32 stream, u8 *buffer, size_t bytes, size_t valid_bytes) */
	.org	resident_pages + RESIDENT_ENTRY_COMPLETED * RESIDENT_ENTRY_BYTES
	endbr64
	lock incq DATA(USERS)
	mov	DATA(COMPLETED), %rax
	test	%rax, %rax
	jz	4f
	mov	DATA(AGENT), %r9
	sub	$8, %rsp
	call	*%rax
	add	$8, %rsp
4:	lock decq DATA(USERS)
	ret

/* void callback(void *data, u32 domain, u32 callback, const void *call) */
	.org	resident_pages + RESIDENT_ENTRY_CALLBACK * RESIDENT_ENTRY_BYTES
	endbr64
	lock incq DATA(USERS)
	mov	DATA(CALLBACK), %rax
	test	%rax, %rax
	jz	5f
	mov	DATA(AGENT), %r8
	sub	$8, %rsp
	call	*%rax
	add	$8, %rsp
5:	lock decq DATA(USERS)
	ret

/* u64 nvtx(u64 first, u64 second, u64 third), of each function: its number, eight times, in %eax */
	.org	resident_pages + RESIDENT_NVTX_ENTRIES_BEGIN
	.set	number, 0
	.rept	RESIDENT_NVTX_ENTRIES
	.org	resident_pages + RESIDENT_NVTX_ENTRIES_BEGIN + number * RESIDENT_NVTX_ENTRY_BYTES
	endbr64
	mov	$(number * 8), %eax
	jmp	6f
	.set	number, number + 1
	.endr
	.org	resident_pages + RESIDENT_NVTX_ENTRIES_BEGIN + RESIDENT_NVTX_ENTRIES * RESIDENT_NVTX_ENTRY_BYTES
6:	lock incq DATA(NVTX_USERS)
	lea	DATA(NVTX_SLOTS), %r10
	mov	(%r10, %rax), %r11
	test	%r11, %r11
	jz	7f
	mov	DATA(NVTX_SESSION), %rcx
	sub	$8, %rsp
	call	*%r11
	add	$8, %rsp
	lock decq DATA(NVTX_USERS)
	ret
7:	lea	DATA(NVTX_RESULTS), %r10
	mov	(%r10, %rax), %rax
	lock decq DATA(NVTX_USERS)
	ret

/* void exit(void *unused) */
	.org	resident_pages + RESIDENT_ENTRY_EXIT * RESIDENT_ENTRY_BYTES
	endbr64
	lock incq DATA(PROCESS_USERS)
	mov	DATA(EXIT), %rax
	jmp	8f

/* void forked(void) */
	.org	resident_pages + RESIDENT_ENTRY_FORKED * RESIDENT_ENTRY_BYTES
	endbr64
	lock incq DATA(PROCESS_USERS)
	mov	DATA(FORKED), %rax
8:	test	%rax, %rax
	jz	9f
	mov	DATA(PROCESS_AGENT), %rdi
	sub	$8, %rsp
	call	*%rax
	add	$8, %rsp
9:	lock decq DATA(PROCESS_USERS)
	ret

	.org	resident_pages + RESIDENT_CODE_BYTES
data:
	.quad	RESIDENT_MAGIC
	.long	RESIDENT_VERSION
	.org	resident_pages + RESIDENT_BYTES

	.section .note.GNU-stack, "", @progbits
