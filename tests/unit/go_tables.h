/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An assembler's program with a table of functions as Go's linker writes it: "main.first" of 3 bytes, 1 byte behind the start of the code,
 * which is at a multiple of 32, and behind it "main.(*T).second" of 2. -DGO=12, 116, 118, 120: the layout of that version; 126: the start of
 * the code stands only in the runtime's moduledata.
 */
#ifndef GPUPROBE_TESTS_UNIT_GO_TABLES_H
#define GPUPROBE_TESTS_UNIT_GO_TABLES_H

static const char go_source[] =
	".globl main\n.type main, @function\n"
	".section .text.go, \"ax\", @progbits\n"
	"	.balign 32\n"
	"text:	nop\n"
	"main_first: ret; nop; nop\n"
	"main_second: nop; ret\n"
	"etext_go:\n"
	"main:	xor %eax, %eax; ret\n"
	".section .gopclntab, \"aw\", @progbits\n"
	"	.balign 32\n"
	"table:\n"
	"#if GO == 12\n"
	"	.long 0xfffffffb; .byte 0, 0, 1, 8; .quad 2\n"
	"	.quad main_first, one - table, main_second, two - table, etext_go\n"
	"	.long 0, 0\n"
	"one:	.quad main_first; .long name1 - table, 0\n"
	"two:	.quad main_second; .long name2 - table, 0\n"
	"#elif GO == 116\n"
	"	.long 0xfffffffa; .byte 0, 0, 1, 8; .quad 2\n"
	"	.quad 1, names - table, 0, 0, 0, functions - table\n"
	"functions: .quad main_first, one - functions, main_second, two - functions, etext_go\n"
	"one:	.quad main_first; .long name1 - names, 0\n"
	"two:	.quad main_second; .long name2 - names, 0\n"
	"#else\n"
	"#if GO == 118\n"
	"	.long 0xfffffff0; .byte 0, 0, 1, 8; .quad 2\n"
	"#else\n"
	"	.long 0xfffffff1; .byte 0, 0, 1, 8; .quad 2\n"
	"#endif\n"
	"#if GO == 126\n"
	"	.quad 1, 0, names - table, 0, 0, 0, functions - table\n"
	"#else\n"
	"	.quad 1, text, names - table, 0, 0, 0, functions - table\n"
	"#endif\n"
	"functions: .long main_first - text, one - functions, main_second - text, two - functions, etext_go - text\n"
	"one:	.long main_first - text, name1 - names\n"
	"two:	.long main_second - text, name2 - names\n"
	"#endif\n"
	"names:	.byte 0\n"
	"name1:	.asciz \"main.first\"\n"
	"name2:	.asciz \"main.(*T).second\"\n"
	"#if GO == 126\n"
	".section .go.module, \"aw\", @progbits\n"
	"	.balign 8\n"
	"	.quad table; .zero 64\n" /* what is no moduledata */
	"	.quad table, names, 40, 40; .zero 128\n"
	"	.quad main_first, etext_go, text, etext_go\n"
	"#endif\n"
	".section .note.GNU-stack, \"\", @progbits\n";

#endif
