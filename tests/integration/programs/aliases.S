/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program in assembler, for its debug information: one function of three names that waits for 2 ms, over and over. */
	.text
	.globl	main
	.type	main, @function
	.type	wait_alias, @function
	.type	wait_other_alias, @function
	.type	wait_here, @function
wait_here:
wait_alias:
wait_other_alias:
	push	%rbp
	mov	%rsp, %rbp
	mov	$35, %eax
	lea	time(%rip), %rdi
	xor	%esi, %esi
	syscall
	pop	%rbp
	ret
	.size	wait_here, .-wait_here
	.size	wait_alias, .-wait_alias
	.size	wait_other_alias, .-wait_other_alias
main:
	push	%rbp
	mov	%rsp, %rbp
1:	call	wait_here
	jmp	1b
	.size	main, .-main
	.section .rodata
	.balign	8
time:	.quad	0, 2000000
	.section .note.GNU-stack,"",@progbits
