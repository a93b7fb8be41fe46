/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A library with a function that may be overwritten while it runs, and one that may not: by -fpatchable-function-entry=5, or by a list
 * made by hand, as LLVM XRay's (-DXRAY) or that of -mrecord-mcount (-DMCOUNT).
 */
#ifdef XRAY
#define LIST                                                                       \
	".pushsection xray_instr_map, \"a\", @progbits\n"                          \
	".Lentry: .quad .Lsled - .Lentry, .Lsled - (.Lentry + 8)\n.byte 0, 1, 2\n" \
	".zero 13\n.popsection"
#elif defined(MCOUNT)
#define LIST ".pushsection __mcount_loc, \"aw\", @progbits\n.quad .Lsled\n.popsection"
#endif

__attribute__((noinline)) int marked(int number)
{
#ifdef LIST
	__asm__ volatile(".Lsled: jmp .Lbehind\n.fill 9, 1, 0x90\n.Lbehind:\n" LIST);
#endif
	return number + 1;
}

__attribute__((noinline, patchable_function_entry(0))) int plain(int number)
{
	return number + 2;
}
