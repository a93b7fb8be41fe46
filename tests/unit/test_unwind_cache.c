/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is kept of unwind tables is what the file says; of another file, or damaged, it is not believed. */
#include "unwind/unwind_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cache_folder.h"
#include "base/cleanup.h"
#include "scratch_folder.h"
#include "unwind_file.h"

#define LIBRARY	     "/lib/x86_64-linux-gnu/libc.so.6"
#define HEADER_BYTES 200 /* of struct cache_header, and of the image's */

static bool rows_are_equal(const struct elf_unwind_rows *a, const struct elf_unwind_rows *b)
{
	return a->first_page == b->first_page && a->page_count == b->page_count &&
	       a->row_count == b->row_count && a->rule_count == b->rule_count &&
	       a->fde_count == b->fde_count && a->code_bytes == b->code_bytes &&
	       a->uncovered_bytes == b->uncovered_bytes &&
	       a->unsupported_bytes == b->unsupported_bytes &&
	       !memcmp(a->page_first, b->page_first, (a->page_count + 1) * sizeof(u32)) &&
	       !memcmp(a->rows, b->rows, a->row_count * sizeof(u32)) &&
	       !memcmp(a->rules, b->rules, a->rule_count * sizeof(*a->rules));
}

/* The file's table by the cache "kept" is the one that it has, and the cache had part in it like this. */
static void check(const char *path, enum unwind_cache_result expected)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC), folder_fd = -1;
	struct elf_unwind_rows cached = {0}, made = {0};
	enum unwind_cache_result result;
	char kept[SCRATCH_PATH_BYTES];
	struct elf_file *file = NULL;
	struct row_reader *reader = NULL;

	CHECK(!elf_file_open(fd, path, &file, NULL));
	CHECK(!cache_folder_open(in_folder(kept, "kept"), &folder_fd));
	CHECK(!row_reader_start(&reader, NULL));
	CHECK(!unwind_cache_rows(folder_fd, reader, fd, file, path, &cached, &result, NULL));
	reader = row_reader_stop(reader);
	CHECK_U64(result, expected);
	CHECK(!elf_unwind_rows_read(file, &made, NULL));
	CHECK(made.row_count > 2);
	CHECK(rows_are_equal(&cached, &made));
	elf_unwind_rows_free(&cached);
	elf_unwind_rows_free(&made);
	elf_file_free(file);
}

static void forget(void)
{
	shell("rm -rf kept");
}

/* As large as one that is kept. instructions: of its one function. */
static void write_code(const char *path, const char *instructions)
{
	struct unwind_file file = {0};
	size_t cie = put_cie(&file, USUAL);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	put_fde(&file, cie, TEXT, 0x800, instructions);
	put_headers(&file);
	CHECK(write(fd, file.bytes, FILE_BYTES) == FILE_BYTES);
	CHECK(!ftruncate(fd, UNWIND_CACHE_LEAST_BYTES));
	close(fd);
}

/* Just written: known by what is in it, and by nothing else. */
TEST(a_file_that_is_written_to_is_another_one)
{
	char path[SCRATCH_PATH_BYTES];

	if (!sha256_is_fast())
		SKIP("this processor has no instructions for SHA-256");
	in_folder(path, "code.so");
	write_code(path, "41 0e10");
	check(path, UNWIND_CACHE_STORED);
	check(path, UNWIND_CACHE_FOUND);
	write_code(path, "41 0e18");
	check(path, UNWIND_CACHE_STORED);
	check(path, UNWIND_CACHE_FOUND);
	forget();
}

TEST(a_small_file_is_read)
{
	char path[SCRATCH_PATH_BYTES];

	write_code(in_folder(path, "small.so"), "41 0e10");
	CHECK(!truncate(path, UNWIND_CACHE_LEAST_BYTES - 1));
	check(path, UNWIND_CACHE_UNUSED);
	forget();
}

/* Whoever is not root may have written what it says that it is. */
TEST(a_file_of_somebody_elses_goes_by_its_content)
{
	char path[SCRATCH_PATH_BYTES];
	struct timespec settle = {.tv_sec = 3};

	if (geteuid())
		SKIP("not root");
	if (!sha256_is_fast())
		SKIP("this processor has no instructions for SHA-256");
	write_code(in_folder(path, "theirs.so"), "41 0e10");
	CHECK(!chown(path, 65534, 65534));
	nanosleep(&settle, NULL);
	check(path, UNWIND_CACHE_STORED);
	/* What root's file was found to have is no longer said of it, though all of its numbers could be the same. */
	CHECK(!chown(path, 0, 0));
	nanosleep(&settle, NULL);
	check(path, UNWIND_CACHE_STORED);
	check(path, UNWIND_CACHE_FOUND);
	CHECK(!chmod(path, 0666));
	check(path, UNWIND_CACHE_STORED);
	forget();
}

/* ---- damaged ---- */

/* The one file of the folder; the caller closes. */
static int open_kept(void)
{
	char kept[SCRATCH_PATH_BYTES];
	_cleanup_closedir_ DIR *dir = opendir(in_folder(kept, "kept"));
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			return openat(dirfd(dir), entry->d_name, O_RDWR | O_CLOEXEC);
	UNIT_FAIL("nothing is kept");
	return -1;
}

/* A bit is another one, and the folder's digest as if it had always been so. */
static void flip(off_t at)
{
	_cleanup_close_ int fd = open_kept();
	struct stat status = {0};
	_cleanup_free_ u8 *bytes = NULL;
	struct sha256 sha;
	size_t size;

	CHECK(!fstat(fd, &status) && status.st_size > at + SHA256_BYTES);
	size = (size_t)status.st_size;
	bytes = malloc(size);
	CHECK(bytes && pread(fd, bytes, size, 0) == status.st_size);
	bytes[at] ^= 0x80;
	sha256_begin(&sha);
	sha256_add(&sha, bytes, size - SHA256_BYTES);
	sha256_end(&sha, bytes + size - SHA256_BYTES);
	CHECK(pwrite(fd, bytes, size, 0) == status.st_size);
}

TEST(what_is_kept_of_another_file_or_is_no_table)
{
	/* Magic, version, who it is, numbers of pages, rows and rules; then the first pages. */
	static const off_t places[] = {0,
				       8,
				       16,
				       24,
				       32,
				       40,
				       48,
				       56,
				       184,
				       188,
				       192,
				       HEADER_BYTES,
				       HEADER_BYTES + 4,
				       HEADER_BYTES + 7};

	if (geteuid() || access(LIBRARY, R_OK))
		SKIP("no " LIBRARY " of root's, or not root");
	check(LIBRARY, UNWIND_CACHE_STORED);
	check(LIBRARY, UNWIND_CACHE_FOUND);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		flip(places[i]);
		check(LIBRARY, UNWIND_CACHE_STORED);
	}
	check(LIBRARY, UNWIND_CACHE_FOUND);
	forget();
}

UNIT_MAIN()
