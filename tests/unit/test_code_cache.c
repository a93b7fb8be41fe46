/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is kept about the code of files is what going through it finds; and what could be somebody's lie is not believed. */
#include "code/code_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cache_folder.h"
#include "base/cleanup.h"
#include "code_file.h"
#include "scratch_folder.h"
#include "unit.h"

#define HEADER_DIGEST_AT 120 /* of struct cache_header, behind magic, version, pages and key */

static bool tools;

/* jumps leads into asked by a jump, the table (of data) by a distance. */
static const char source[] =
	".set asked_local, .Lasked\n.text\n.Lasked:\n"
	".globl asked\n.type asked, @function\nasked: .fill 64, 1, 0x90\nret\n.size asked, "
	".-asked\n"
	".fill 5000, 1, 0x90\n"
	".globl jumps\n.type jumps, @function\n"
	"jumps: lea table(%rip), %rax\n.byte 0xe9\n.long asked_inside-(.+4)\nret\n.size jumps, "
	".-jumps\n"
	".set asked_inside, asked_local+8\n"
	".section .rodata\n.balign 8\ntable: .long asked_local+24-table, 0x4c3b2a19\n"
	".section .note.GNU-stack,\"\",@progbits\n";

TEST(a_library_is_built)
{
	if (system("gcc --version >/dev/null 2>&1"))
		SKIP("no gcc");
	write_file("cache.S", source);
	tools = shell("gcc -nostdlib -shared -Wl,--build-id -o file.so cache.S");
}

/* ---- one file, asked about one function ---- */

struct asked {
	struct code_references *references;
	enum code_cache_result result;
	u64 address; /* of the function */
};

/* cached: by the cache "kept" in the folder; else by going through the code. */
static struct asked ask(const char *path, const char *function, bool cached)
{
	struct code_file code = code_file_open(path);
	struct asked asked = {.address = code_file_address(&code, function)};
	struct code_span keep;
	char cache[SCRATCH_PATH_BYTES];
	_cleanup_close_ int cache_fd = -1;

	keep = (struct code_span){asked.address, asked.address + 64};
	if (cached)
		CHECK_U64((u64)cache_folder_open(in_folder(cache, "kept"), &cache_fd), 0);
	CHECK_U64(code_cache_scan(cache_fd, code.fd, code.file, &code.symbols, &keep, 1,
				  &asked.references, &asked.result),
		  0);
	CHECK(asked.references && code_references_keeps(asked.references, keep.first, keep.last));
	code_file_close(&code);
	return asked;
}

/* It has the same as going through the code has. */
static void check(const char *path, const char *function, enum code_cache_result result)
{
	struct asked cached = ask(path, function, true), gone = ask(path, function, false);

	CHECK_U64(cached.result, result);
	CHECK_U64(gone.result, CODE_CACHE_UNUSED);
	for (u64 at = cached.address; at <= cached.address + 64; at++)
		for (unsigned kind = REFERENCE_JUMP; kind <= REFERENCE_POINTER; kind++)
			CHECK_U64(code_references_find(cached.references, kind, at, at + 1),
				  code_references_find(gone.references, kind, at, at + 1));
	code_references_free(cached.references);
	code_references_free(gone.references);
}

static bool leads(const char *path, enum code_reference kind, u64 place)
{
	struct asked asked = ask(path, "asked", true);
	u64 address = asked.address + place;
	bool result = code_references_find(asked.references, kind, address, address + 1) == address;

	code_references_free(asked.references);
	return result;
}

static void forget(void)
{
	shell("rm -rf kept");
}

static void change(const char *path, const u8 *old, const u8 *new, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDWR | O_CLOEXEC);
	static u8 bytes[1 << 20];
	ssize_t count = pread(fd, bytes, sizeof(bytes), 0);
	u8 *found = count > 0 ? memmem(bytes, (size_t)count, old, size) : NULL;

	CHECK(found);
	if (found)
		CHECK_U64((u64)pwrite(fd, new, size, found - bytes), size);
}

TEST(a_file_that_anybody_could_write_is_known_by_its_code)
{
	char path[SCRATCH_PATH_BYTES];

	if (!tools)
		SKIP("no gcc");
	if (!sha256_is_fast())
		SKIP("this processor has no instructions for SHA-256");
	in_folder(path, "file.so");
	check(path, "asked", CODE_CACHE_STORED);
	check(path, "asked", CODE_CACHE_FOUND);
	CHECK(leads(path, REFERENCE_JUMP, 8));
	CHECK(!leads(path, REFERENCE_JUMP, 16));
	CHECK(leads(path, REFERENCE_POINTER, 24));
	/* Another function is asked for: that too from now on, and the first one still. */
	check(path, "jumps", CODE_CACHE_STORED);
	check(path, "asked", CODE_CACHE_FOUND);
	check(path, "jumps", CODE_CACHE_FOUND);
	/* Replaced by the same under another number. */
	CHECK(shell("cp file.so other.so && mv other.so file.so"));
	check(path, "asked", CODE_CACHE_STORED);
	forget();
}

/* It has the build id, the name, the number and the size of the one that was seen, and code that leads elsewhere. */
TEST(a_file_that_claims_another_ones_build_id)
{
	const int32_t asked_bytes = 64 + 1 + 5000, jump_ends = 7 + 5;
	int32_t distance = 8 - asked_bytes - jump_ends;
	u8 before[5] = {0xe9}, after[5] = {0xe9};
	char path[SCRATCH_PATH_BYTES];

	if (!tools || !sha256_is_fast())
		SKIP("no gcc, or no instructions for SHA-256");
	in_folder(path, "file.so");
	check(path, "asked", CODE_CACHE_STORED);
	memcpy(before + 1, &distance, sizeof(distance));
	distance += 8;
	memcpy(after + 1, &distance, sizeof(distance));
	change(path, before, after, sizeof(before));
	CHECK(leads(path, REFERENCE_JUMP, 16) && !leads(path, REFERENCE_JUMP, 8));
	check(path, "asked", CODE_CACHE_FOUND);
	change(path, after, before, sizeof(before));
	check(path, "asked", CODE_CACHE_STORED);
	CHECK(leads(path, REFERENCE_JUMP, 8));
	forget();
}

/* Its code is the same, its tables are others: they are read each time. */
TEST(data_that_lead_elsewhere)
{
	u8 before[8] = {0}, after[8] = {0};
	struct asked asked;
	char path[SCRATCH_PATH_BYTES];
	int32_t distance = 0;
	u64 table;

	if (!tools || !sha256_is_fast())
		SKIP("no gcc, or no instructions for SHA-256");
	in_folder(path, "file.so");
	check(path, "asked", CODE_CACHE_STORED);
	asked = ask(path, "asked", false);
	/* It ends with a number that stands nowhere else. */
	memcpy(before + 4, "\x19\x2a\x3b\x4c", 4);
	for (table = asked.address; table < asked.address + 0x10000; table += 8) {
		_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
		static u8 bytes[1 << 20];
		ssize_t count = pread(fd, bytes, sizeof(bytes), 0);

		distance = (int32_t)(asked.address + 24 - table);
		memcpy(before, &distance, sizeof(distance));
		if (memmem(bytes, (size_t)count, before, sizeof(before)))
			break;
	}
	code_references_free(asked.references);
	distance += 16;
	memcpy(after, before, sizeof(after));
	memcpy(after, &distance, sizeof(distance));
	change(path, before, after, sizeof(before));
	CHECK(leads(path, REFERENCE_POINTER, 40));
	check(path, "jumps", CODE_CACHE_STORED);
	CHECK(leads(path, REFERENCE_POINTER, 40));
	change(path, after, before, sizeof(before));
	forget();
}

/* ---- files of root's ---- */

#define LIBRARY "/lib/x86_64-linux-gnu/libc.so.6"

static bool has_library(void)
{
	struct stat status;

	return !stat(LIBRARY, &status) && !status.st_uid && !(status.st_mode & 022);
}

/* The one file in the cache. */
static int cached_file(char *path)
{
	char name[SCRATCH_PATH_BYTES];
	_cleanup_closedir_ DIR *opened = opendir(in_folder(name, "kept"));
	struct dirent *entry;

	while (opened && (entry = readdir(opened)))
		if (entry->d_name[0] != '.') {
			snprintf(path, 512, "%s/kept/%s", folder, entry->d_name);
			return 0;
		}
	UNIT_FAIL("nothing is in the cache");
	return -ENOENT;
}

/* Are all pages of the one among those of the other? Of the bytes that ask() asks for. */
static bool lies_in_pages_of(u64 address, u64 other)
{
	return address / CODE_PAGE_BYTES >= other / CODE_PAGE_BYTES &&
	       (address + 64) / CODE_PAGE_BYTES <= (other + 64) / CODE_PAGE_BYTES;
}

/* What was kept for a function is kept for those on its pages, and for no others. Which these are each release of the library has
 * its own way. */
static void check_neighbours(const char *function)
{
	struct code_file code = code_file_open(LIBRARY);
	const char *beside = NULL, *elsewhere = NULL;
	u64 address = code_file_address(&code, function);

	for (size_t i = 0; i < code.symbols.count && !elsewhere; i++) {
		const struct elf_symbol *symbol = &code.symbols.items[i];
		bool is_beside = lies_in_pages_of(symbol->address, address);

		if (symbol->address == address || (!is_beside && symbol->address < address) ||
		    code_file_address(&code, symbol->name) != symbol->address)
			continue;
		if (is_beside)
			beside = symbol->name;
		else
			elsewhere = symbol->name;
	}
	CHECK(beside && elsewhere);
	if (beside && elsewhere) {
		check(LIBRARY, beside, CODE_CACHE_FOUND);
		check(LIBRARY, elsewhere, CODE_CACHE_STORED);
		check(LIBRARY, elsewhere, CODE_CACHE_FOUND);
	}
	code_file_close(&code);
}

TEST(a_file_of_root_is_known_by_what_it_is)
{
	if (!has_library())
		SKIP("no " LIBRARY " of root's");
	check(LIBRARY, "malloc", CODE_CACHE_STORED);
	check(LIBRARY, "malloc", CODE_CACHE_FOUND);
	check_neighbours("malloc");
	forget();
}

static void flip(const char *path, off_t at)
{
	_cleanup_close_ int fd = open(path, O_RDWR | O_CLOEXEC);
	u8 byte = 0;

	CHECK_U64((u64)pread(fd, &byte, 1, at), 1);
	byte ^= 0x10;
	CHECK_U64((u64)pwrite(fd, &byte, 1, at), 1);
}

/* What a byte of it says is damaged, and nobody finds out by its digest. */
static void flip_and_seal(const char *path, off_t at)
{
	_cleanup_close_ int fd = -1;
	static u8 bytes[1 << 20];
	u8 digest[SHA256_BYTES];
	struct sha256 sha;
	ssize_t size;

	flip(path, at);
	fd = open(path, O_RDWR | O_CLOEXEC);
	size = pread(fd, bytes, sizeof(bytes), 0);
	CHECK(size > SHA256_BYTES);
	sha256_begin(&sha);
	sha256_add(&sha, bytes, (size_t)size - SHA256_BYTES);
	sha256_end(&sha, digest);
	CHECK_U64((u64)pwrite(fd, digest, sizeof(digest), size - SHA256_BYTES), sizeof(digest));
}

TEST(a_cache_that_is_damaged_is_none)
{
	struct stat status;
	char path[512];

	if (!has_library())
		SKIP("no " LIBRARY " of root's");
	check(LIBRARY, "malloc", CODE_CACHE_STORED);
	if (cached_file(path) || stat(path, &status))
		return;
	for (off_t at = 0; at < status.st_size; at += 61) {
		flip(path, at);
		check(LIBRARY, "malloc", CODE_CACHE_STORED);
	}
	CHECK(!truncate(path, status.st_size / 2));
	check(LIBRARY, "malloc", CODE_CACHE_STORED);
	CHECK(!truncate(path, 0));
	check(LIBRARY, "malloc", CODE_CACHE_STORED);
	check(LIBRARY, "malloc", CODE_CACHE_FOUND);
	forget();
}

/* The file is another one than it was, whatever its number says; or its functions have other bytes. */
TEST(another_key_or_other_bytes)
{
	char path[512];

	if (!has_library())
		SKIP("no " LIBRARY " of root's");
	check(LIBRARY, "malloc", CODE_CACHE_STORED);
	if (cached_file(path))
		return;
	for (off_t at = 0; at < HEADER_DIGEST_AT + SHA256_BYTES; at += 4) {
		flip_and_seal(path, at);
		check(LIBRARY, "malloc", CODE_CACHE_STORED);
	}
	check(LIBRARY, "malloc", CODE_CACHE_FOUND);
	forget();
}

TEST(what_others_can_write_is_none)
{
	char path[512], name[SCRATCH_PATH_BYTES];
	int fd = -1;

	if (!has_library())
		SKIP("no " LIBRARY " of root's");
	check(LIBRARY, "malloc", CODE_CACHE_STORED);
	if (cached_file(path))
		return;
	CHECK(!chmod(path, 0622));
	check(LIBRARY, "malloc", CODE_CACHE_STORED);
	CHECK(shell("mv %s aside && ln -s ../aside %s", path, path));
	check(LIBRARY, "malloc", CODE_CACHE_STORED);
	check(LIBRARY, "malloc", CODE_CACHE_FOUND);
	CHECK(shell("rm %s && mkfifo -m 600 %s", path, path));
	check(LIBRARY, "malloc", CODE_CACHE_STORED);
	CHECK(!chmod(in_folder(name, "kept"), 0777));
	CHECK_U64((u64)cache_folder_open(name, &fd), (u64)-EPERM);
	CHECK(shell("chmod 700 kept && ln -s kept link"));
	CHECK(cache_folder_open(in_folder(name, "link"), &fd) < 0);
	forget();
}

TEST(a_cache_does_not_grow_without_end)
{
	static u8 bytes[15 << 20];
	char name[SCRATCH_PATH_BYTES];
	_cleanup_close_ int fd = -1;
	u8 *read = NULL;
	size_t size = 0;

	CHECK_U64((u64)cache_folder_open(in_folder(name, "kept"), &fd), 0);
	for (unsigned i = 0; i < CACHE_FOLDER_MAX_FILES + 20; i++) {
		snprintf(name, sizeof(name), "small-%u", i);
		CHECK_U64((u64)cache_folder_write(fd, name, bytes, 10), 0);
	}
	CHECK(cache_folder_read(fd, "small-0", &read, &size));
	CHECK(!cache_folder_read(fd, name, &read, &size));
	CHECK_U64(size, 10);
	free(read);
	for (unsigned i = 0; i < 6; i++) {
		snprintf(name, sizeof(name), "large-%u", i);
		CHECK_U64((u64)cache_folder_write(fd, name, bytes, sizeof(bytes)), 0);
	}
	CHECK(cache_folder_read(fd, "large-0", &read, &size));
	CHECK(!cache_folder_read(fd, "large-5", &read, &size));
	CHECK_U64(size, sizeof(bytes));
	free(read);
	CHECK_U64((u64)cache_folder_write(fd, "large-6", bytes, CACHE_FILE_MAX_BYTES), (u64)-EFBIG);
	forget();
}

UNIT_MAIN()
