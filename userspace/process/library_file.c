/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/library_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/root_file.h"
#include "base/cleanup.h"

#define SEGMENTS_MAX 64

static bool is_library(const Elf64_Ehdr *header)
{
	return !memcmp(header->e_ident, ELFMAG, SELFMAG) &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB &&
	       header->e_machine == EM_X86_64 && header->e_type == ET_DYN &&
	       header->e_phentsize == sizeof(Elf64_Phdr) && header->e_phnum &&
	       header->e_phnum <= SEGMENTS_MAX;
}

/* Is all that will be mapped in the file? */
static bool is_whole(int fd, const Elf64_Ehdr *header, u64 size_bytes)
{
	Elf64_Phdr segments[SEGMENTS_MAX];
	ssize_t bytes = header->e_phnum * (ssize_t)sizeof(segments[0]);

	if (header->e_phoff > size_bytes ||
	    pread(fd, segments, (size_t)bytes, (off_t)header->e_phoff) != bytes)
		return false;
	for (size_t i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD &&
		    (segments[i].p_offset > size_bytes ||
		     segments[i].p_filesz > size_bytes - segments[i].p_offset))
			return false;
	return true;
}

int library_file_check(int root_fd, const char *path, struct err *err)
{
	_cleanup_close_ int fd = root_file_open(root_fd, path, O_RDONLY | O_NONBLOCK);
	Elf64_Ehdr header;
	struct stat status;

	if (fd < 0 || fstat(fd, &status))
		return err_errno(err, fd < 0 ? fd : -errno, "can't open %s", path);
	if (!S_ISREG(status.st_mode))
		return err_set(err, -ENOEXEC, "%s is not a file", path);
	if (pread(fd, &header, sizeof(header), 0) != sizeof(header) || !is_library(&header))
		return err_set(err, -ENOEXEC, "%s is not a shared library for x86-64", path);
	if (!is_whole(fd, &header, (u64)status.st_size))
		return err_set(err, -ENOEXEC,
			       "%s is cut short: it has not all the segments that it names", path);
	return 0;
}
