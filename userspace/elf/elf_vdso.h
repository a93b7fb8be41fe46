/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's own code in processes, for calls that need no system call: a file that is none. The same in all 64-bit processes. */
#ifndef GPUPROBE_ELF_ELF_VDSO_H
#define GPUPROBE_ELF_ELF_VDSO_H

#define ELF_VDSO_NAME "[vdso]" /* in /proc/PID/maps */

/* A copy of it that can be read like a file; the caller closes. -1: there is none. */
int elf_vdso_open(void);

#endif
