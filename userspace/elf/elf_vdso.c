/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_vdso.h"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/file.h"

#define VDSO_MAX_BYTES (64 * 1024)

int elf_vdso_open(void)
{
	const u8 *image = (const u8 *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *header = (const void *)image;
	_cleanup_close_ int fd = -1;
	size_t size;

	if (!image)
		return -1;
	/* Its section headers stand at its end. */
	size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	if (size < sizeof(*header) || size > VDSO_MAX_BYTES)
		return -1;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0 || file_write(fd, image, size))
		return -1;
	return take_fd(&fd);
}
