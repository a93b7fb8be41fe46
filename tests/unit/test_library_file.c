/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Our own executable, which is a position-independent ELF file, stands for a library: whole, cut short, changed. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/library_file.h"
#include "unit.h"

static char folder[] = "/tmp/test_library_file.XXXXXX";

static int check(const void *bytes, size_t size, const char *words)
{
	int root_fd = open(folder, O_PATH | O_DIRECTORY), result;
	int fd = openat(root_fd, "library", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	struct err err = {0};

	CHECK(write(fd, bytes, size) == (ssize_t)size);
	close(fd);
	result = library_file_check(root_fd, "/library", &err);
	if (words)
		CHECK(strstr(err.message, words));
	close(root_fd);
	return result;
}

TEST(library_whole_cut_and_changed)
{
	int fd = open("/proc/self/exe", O_RDONLY), root_fd;
	Elf64_Ehdr *header;
	const Elf64_Phdr *segments;
	struct stat status;
	size_t end = 0;
	u8 *bytes;

	CHECK(mkdtemp(folder));
	CHECK(!fstat(fd, &status));
	bytes = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	CHECK(bytes != MAP_FAILED);
	header = (Elf64_Ehdr *)bytes;
	segments = (const Elf64_Phdr *)(bytes + header->e_phoff);
	for (size_t i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD &&
		    segments[i].p_offset + segments[i].p_filesz > end)
			end = segments[i].p_offset + segments[i].p_filesz;
	CHECK(check(bytes, (size_t)status.st_size, NULL) == 0);
	CHECK(check(bytes, end, NULL) == 0);
	CHECK(check(bytes, end - 1, "cut short") == -ENOEXEC);
	CHECK(check(bytes, header->e_phoff + 1, "cut short") == -ENOEXEC);
	CHECK(check(bytes, sizeof(*header) - 1, "not a shared library") == -ENOEXEC);
	CHECK(check(bytes, 0, "not a shared library") == -ENOEXEC);
	header->e_machine = EM_AARCH64;
	CHECK(check(bytes, end, "not a shared library for x86-64") == -ENOEXEC);
	header->e_machine = EM_X86_64;
	header->e_ident[EI_CLASS] = ELFCLASS32;
	CHECK(check(bytes, end, "not a shared library") == -ENOEXEC);
	header->e_ident[EI_CLASS] = ELFCLASS64;
	header->e_phnum = 65535;
	CHECK(check(bytes, end, "not a shared library") == -ENOEXEC);
	root_fd = open(folder, O_PATH | O_DIRECTORY);
	unlinkat(root_fd, "library", 0);
	CHECK(library_file_check(root_fd, "/library", NULL) == -ENOENT);
	CHECK(!mkfifoat(root_fd, "library", 0600));
	CHECK(library_file_check(root_fd, "/library", NULL) == -ENOEXEC);
	unlinkat(root_fd, "library", 0);
	rmdir(folder);
	close(root_fd);
	munmap(bytes, (size_t)status.st_size);
	close(fd);
}

UNIT_MAIN()
