/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Debug files that are kept are found, and nothing else is. */
#include "resolve/debug_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "elf/elf_file.h"
#include "unit.h"

static const u8 ID[] = {0xab, 0x01, 0xff};
#define NAME "ab01ff.debug"

static int folder_make(char ret_path[32])
{
	strcpy(ret_path, "/tmp/gpuprobe-store-XXXXXX");
	CHECK(mkdtemp(ret_path));
	return open(ret_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void folder_remove(const char *path, int folder_fd)
{
	(void)unlinkat(folder_fd, NAME, 0);
	close(folder_fd);
	CHECK(rmdir(path) == 0);
}

static void keep(int folder_fd, const char *content)
{
	int fd = -1;

	CHECK(debug_store_make(folder_fd, &fd) == 0);
	CHECK(file_write(fd, content, strlen(content)) == 0);
	debug_store_keep(folder_fd, ID, sizeof(ID), fd);
	close(fd);
}

TEST(what_is_kept_is_found)
{
	char path[32], bytes[8];
	int folder_fd = folder_make(path), fd = -1;

	CHECK(debug_store_find(folder_fd, ID, sizeof(ID), &fd) == -ENOENT);
	keep(folder_fd, "one");
	keep(folder_fd, "two");
	CHECK(debug_store_find(folder_fd, ID, sizeof(ID), &fd) == 0);
	CHECK_U64(read(fd, bytes, sizeof(bytes)), 3);
	CHECK(!memcmp(bytes, "two", 3));
	close(fd);
	folder_remove(path, folder_fd);
}

TEST(what_nobody_has_is_so_for_a_while)
{
	char path[32];
	int folder_fd = folder_make(path), fd = -1;
	struct timespec old[2] = {{0, UTIME_NOW}, {0, UTIME_NOW}};

	debug_store_note_unknown(folder_fd, ID, sizeof(ID));
	CHECK(debug_store_find(folder_fd, ID, sizeof(ID), &fd) == -ENODATA);
	clock_gettime(CLOCK_REALTIME, &old[1]);
	old[1].tv_sec -= DEBUG_STORE_UNKNOWN_S + 1;
	CHECK(utimensat(folder_fd, NAME, old, 0) == 0);
	CHECK(debug_store_find(folder_fd, ID, sizeof(ID), &fd) == -ENOENT);
	folder_remove(path, folder_fd);
}

TEST(links_and_pipes_are_nothing)
{
	char path[32];
	int folder_fd = folder_make(path), fd = -1;

	CHECK(symlinkat("/etc/passwd", folder_fd, NAME) == 0);
	CHECK(debug_store_find(folder_fd, ID, sizeof(ID), &fd) == -ENOENT);
	CHECK(unlinkat(folder_fd, NAME, 0) == 0);
	CHECK(mkfifoat(folder_fd, NAME, 0600) == 0);
	CHECK(debug_store_find(folder_fd, ID, sizeof(ID), &fd) == -ENOENT);
	folder_remove(path, folder_fd);
}

TEST(the_longest_build_id_has_a_name)
{
	char path[32];
	u8 id[ELF_BUILD_ID_MAX_BYTES];
	int folder_fd = folder_make(path), fd = -1;

	memset(id, 0xee, sizeof(id));
	CHECK(debug_store_find(folder_fd, id, sizeof(id), &fd) == -ENOENT);
	CHECK(debug_store_find(folder_fd, id, sizeof(id) + 1, &fd) == -ENOENT);
	/* Nowhere. */
	CHECK(debug_store_find(-1, ID, sizeof(ID), &fd) == -ENOENT);
	debug_store_note_unknown(-1, ID, sizeof(ID));
	folder_remove(path, folder_fd);
}
UNIT_MAIN()
