/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a process would find CUDA's driver, below a root folder made here. */
#include "cuda/driver_files.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "scratch_folder.h"

#define DEBIAN "usr/lib/x86_64-linux-gnu"

static struct driver_files find(const char *environment, size_t size)
{
	_cleanup_close_ int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct driver_files files = {0};

	CHECK(fd >= 0);
	CHECK(!driver_files_below(fd, environment, size, &files));
	return files;
}

TEST(without_a_driver_there_is_none)
{
	static const char environment[] = "LD_LIBRARY_PATH=";
	struct driver_files files = find(environment, sizeof(environment));

	CHECK_U64(files.count, 0);
}

TEST(the_search_path_comes_first_and_each_file_once)
{
	static const char environment[] = "A=1\0LD_LIBRARY_PATH=/none:relative::/opt/own\0B=2";
	struct driver_files files;

	/* An absolute link leads into the process's own root folder. */
	CHECK(shell("mkdir -p " DEBIAN " usr/lib64 opt/own relative && "
		    "touch " DEBIAN "/libcuda.so.580.65.06 opt/own/libcuda.so.1 "
		    "relative/libcuda.so.1 && "
		    "ln -s libcuda.so.580.65.06 " DEBIAN "/libcuda.so.1 && "
		    "ln -s /" DEBIAN "/libcuda.so.580.65.06 usr/lib64/libcuda.so.1"));
	files = find(environment, sizeof(environment));
	CHECK_U64(files.count, 2);
	CHECK_STRING(files.paths[0], "/opt/own/libcuda.so.1");
	CHECK_STRING(files.paths[1], "/" DEBIAN "/libcuda.so.580.65.06");
	driver_files_free(&files);
	CHECK_U64(files.count, 0);
	files = find("", 0);
	CHECK_U64(files.count, 1);
	driver_files_free(&files);
}

UNIT_MAIN()
