/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What looking names up knows of the processor. */
#ifndef GPUPROBE_RESOLVE_ARCH_X86_64_H
#define GPUPROBE_RESOLVE_ARCH_X86_64_H

/* A thread in a system call is behind this instruction, and still belongs to what stands before it. */
#define ARCH_SYSTEM_CALL_INSTRUCTION {0x0f, 0x05}
#define ARCH_SYSTEM_CALL_BYTES	     2

#define ARCH_FRAME_POINTER_REGISTER 6 /* rbp, as DWARF numbers it */

#endif
