/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind rules of the two functions of Go's runtime that do something on the thread's first stack for a goroutine, by their instructions: for
 * elf_go_rows.c. */
#ifndef GPUPROBE_ELF_ELF_GO_SWITCHES_H
#define GPUPROBE_ELF_ELF_GO_SWITCHES_H

#include "elf/elf_go_function.h"

/* systemstack and asmcgocall? Else it is what Go's compiler made to call it. */
bool elf_go_switches(const struct elf_go_function *function);
/* systemstack: calls a function of the runtime there. As elf_go_rows_visit(). */
int elf_go_switches_to_go(const struct elf_go_function *function);

/* Does it note where the goroutine was, and so is asmcgocall? asmcgocall_no_g does not. */
bool elf_go_switches_notes(const struct elf_go_function *function);
/* Calls C there, where it may be already. As elf_go_rows_visit(). */
int elf_go_switches_to_c(const struct elf_go_function *function);

#endif
