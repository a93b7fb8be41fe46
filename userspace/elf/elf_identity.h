/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a file is the one that it was, for who keeps from one run to the next what he found out about it. Nothing is taken on trust
 * that somebody but root could have written: only a file that nobody else can write (owner, mode, a file system of this kernel
 * that is not mounted nosuid) and that has not just been changed is the same one by device, inode, size, time of change and build
 * id. Any other may claim any build id, and is to be known by the digest of its content.
 */
#ifndef GPUPROBE_ELF_ELF_IDENTITY_H
#define GPUPROBE_ELF_ELF_IDENTITY_H

#include "elf/elf_file.h"

/* Without padding: compared as bytes. */
struct elf_identity {
	u64 by_content; /* somebody but root may have written it: what follows says nothing */
	u64 device, inode, size_bytes, ctime_ns;
	u8 build_id[ELF_BUILD_ID_MAX_BYTES];
};

#define ELF_IDENTITY_NAME_BYTES 40

/* Of the file that is open as fd. False: it can't be told. */
bool elf_identity_read(const struct elf_file *file, int fd, struct elf_identity *ret_identity);
/* The name of what is kept about it: by device and inode. */
void elf_identity_name(const struct elf_identity *identity, char ret_name[ELF_IDENTITY_NAME_BYTES]);
/* Is what was kept then of this file? Of one that is by_content the digest has the last word. */
bool elf_identity_agrees(const struct elf_identity *kept, const struct elf_identity *now);

#endif
