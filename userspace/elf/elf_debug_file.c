/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug files that distributions and `objcopy --only-keep-debug` put beside a stripped file. They
 * lie in the target's file system, so whoever controls the target controls its links and special
 * files: paths are resolved inside that root only, and nothing but a plain file is read.
 */
#include "elf/elf.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/file.h"

#define DEBUG_DIRECTORY	     "/usr/lib/debug"
#define CHECKSUM_MAX_BYTES   (8ULL << 30)
#define CHECKSUM_CHUNK_BYTES 65536

struct debug_link {
	char name[NAME_MAX + 1];
	u32 checksum;
};

static int open_inside(int root_fd, const char *path)
{
	/* O_PATH first: opening a device or FIFO already does something to it. openat2 takes no
	 * other flags of opening beside it. */
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	struct stat status;
	int fd;

	{
		_cleanup_close_ int probe_fd =
			(int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

		if (probe_fd < 0 || fstat(probe_fd, &status) < 0 || !S_ISREG(status.st_mode))
			return -1;
	}
	how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	if (fd >= 0 && (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool build_id_is(int fd, const char *path, const u8 *id, size_t id_size)
{
	struct elf_file *file;
	u8 found[ELF_BUILD_ID_MAX_BYTES];
	size_t found_size;

	if (elf_file_open(fd, path, &file, NULL))
		return false;
	found_size = elf_file_build_id(file, found);
	elf_file_free(file);
	return found_size == id_size && memcmp(found, id, id_size) == 0;
}

static int open_by_build_id(const struct elf_file *file, int root_fd)
{
	char path[sizeof(DEBUG_DIRECTORY) + 2 * ELF_BUILD_ID_MAX_BYTES + 32];
	u8 id[ELF_BUILD_ID_MAX_BYTES];
	size_t size = elf_file_build_id(file, id), length;
	int fd;

	if (size < 2)
		return -1;
	length = (size_t)sprintf(path, DEBUG_DIRECTORY "/.build-id/%02x/", id[0]);
	for (size_t i = 1; i < size; i++)
		length += (size_t)sprintf(path + length, "%02x", id[i]);
	strcpy(path + length, ".debug");
	fd = open_inside(root_fd, path);
	if (fd >= 0 && !build_id_is(fd, path, id, size)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* .gnu_debuglink: a file name, NUL, padding to 4 bytes, CRC-32 of the whole debug file. */
static bool debug_link_read(const struct elf_file *file, struct debug_link *ret_link)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_section_find(file, ".gnu_debuglink", SHT_PROGBITS, &header);
	Elf_Data *data = section ? elf_section_data(file, section) : NULL;
	size_t length, checksum_offset;

	if (!data)
		return false;
	length = strnlen(data->d_buf, data->d_size);
	checksum_offset = (length + 4) & ~(size_t)3;
	if (length == 0 || length > NAME_MAX || memchr(data->d_buf, '/', length) ||
	    checksum_offset + sizeof(u32) > data->d_size)
		return false;
	memcpy(ret_link->name, data->d_buf, length);
	ret_link->name[length] = 0;
	memcpy(&ret_link->checksum, (char *)data->d_buf + checksum_offset, sizeof(u32));
	return strcmp(ret_link->name, ".") != 0 && strcmp(ret_link->name, "..") != 0;
}

static bool checksum_is(int fd, u32 expected)
{
	u8 chunk[CHECKSUM_CHUNK_BYTES];
	uLong checksum = crc32(0, NULL, 0);
	u64 offset = 0;

	while (offset < CHECKSUM_MAX_BYTES) {
		ssize_t count = file_read_at(fd, chunk, sizeof(chunk), offset);

		if (count <= 0)
			return count == 0 && checksum == expected;
		checksum = crc32(checksum, chunk, (uInt)count);
		offset += (u64)count;
	}
	return false;
}

static int open_by_debug_link(const struct elf_file *file, int root_fd)
{
	/* The three usual places: beside the file, in .debug beside it, under /usr/lib/debug. */
	static const struct {
		const char *before, *after;
	} places[] = {{"", "/"}, {"", "/.debug/"}, {DEBUG_DIRECTORY, "/"}};
	const char *slash = strrchr(file->path, '/');
	struct debug_link link;

	if (file->path[0] != '/' || !slash || !debug_link_read(file, &link))
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		char path[PATH_MAX];
		int fd, length = snprintf(path, sizeof(path), "%s%.*s%s%s", places[i].before,
					  (int)(slash - file->path), file->path, places[i].after,
					  link.name);

		if (length >= (int)sizeof(path))
			continue;
		fd = open_inside(root_fd, path);
		if (fd >= 0 && checksum_is(fd, link.checksum))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

void elf_file_set_debug_file(struct elf_file *file, int fd)
{
	file->debug_fd = fd;
}

static int open_set(const struct elf_file *file)
{
	u8 id[ELF_BUILD_ID_MAX_BYTES];
	size_t size = elf_file_build_id(file, id);

	if (file->debug_fd < 0 || size < 2 || !build_id_is(file->debug_fd, file->path, id, size))
		return -1;
	return fcntl(file->debug_fd, F_DUPFD_CLOEXEC, 0);
}

int elf_debug_file_open(const struct elf_file *file, const char *root_path, int *ret_fd)
{
	const char *roots[] = {root_path, ""};
	int set_fd = open_set(file);

	if (set_fd >= 0) {
		*ret_fd = set_fd;
		return 0;
	}

	for (size_t i = 0; i < (root_path[0] ? 2 : 1); i++) {
		char root[PATH_MAX];
		_cleanup_close_ int root_fd = -1;
		int fd;

		if (snprintf(root, sizeof(root), "%s/", roots[i]) >= (int)sizeof(root))
			continue;
		root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (root_fd < 0)
			continue;
		fd = open_by_build_id(file, root_fd);
		if (fd < 0)
			fd = open_by_debug_link(file, root_fd);
		if (fd >= 0) {
			*ret_fd = fd;
			return 0;
		}
	}
	return -ENOENT;
}

enum elf_debug_file_chance elf_debug_file_chance(const struct elf_file *file)
{
	u8 id[ELF_BUILD_ID_MAX_BYTES];
	struct debug_link link;

	if (debug_link_read(file, &link))
		return ELF_DEBUG_FILE_BY_NAME;
	/* Distributions that split debug files from Go programs leave a link. */
	if (elf_file_is_go(file))
		return ELF_DEBUG_FILE_NONE_OF_GO;
	return elf_file_build_id(file, id) >= 2 ? ELF_DEBUG_FILE_BY_NAME : ELF_DEBUG_FILE_NONE;
}

/* Of all sections of debug information, as long as they are once decompressed; 0 without any code description. */
static u64 debug_info_bytes(const struct elf_file *file)
{
	Elf_Scn *section = NULL;
	u64 bytes = 0;
	bool found = false;
	size_t names;

	if (elf_getshdrstrndx(file->elf, &names))
		return 0;
	while ((section = elf_nextscn(file->elf, section))) {
		const char *name;
		GElf_Shdr header;
		GElf_Chdr compressed;

		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(file->elf, names, header.sh_name);
		if (!name || strncmp(name, ".debug_", strlen(".debug_")))
			continue;
		found |= strcmp(name, ".debug_info") == 0;
		if ((header.sh_flags & SHF_COMPRESSED) && gelf_getchdr(section, &compressed))
			bytes += compressed.ch_size;
		else
			bytes += header.sh_size;
	}
	return found ? bytes : 0;
}

int elf_file_debug_info_open(const struct elf_file *file, const char *root_path, int *ret_fd,
			     u64 *ret_bytes)
{
	_cleanup_close_ int fd = -1;
	struct elf_file *companion;
	int result;

	*ret_bytes = debug_info_bytes(file);
	if (*ret_bytes) {
		*ret_fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
		return *ret_fd < 0 ? -errno : 0;
	}
	result = elf_debug_file_open(file, root_path, &fd);
	if (!result)
		result = elf_file_open(fd, file->path, &companion, NULL);
	if (result)
		return -ENOENT;
	*ret_bytes = debug_info_bytes(companion);
	elf_file_free(companion);
	if (!*ret_bytes)
		return -ENOENT;
	*ret_fd = take_fd(&fd);
	return 0;
}
