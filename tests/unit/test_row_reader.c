/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables that come from another process are those of the file; it is nobody, and its death costs one file; what is no table is none. */
#include "unwind/row_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unwind/unwind_image.h"
#include "unwind_file.h"
#include "unwind_sound.h"

#define LIBRARY "/lib/x86_64-linux-gnu/libc.so.6"

static struct row_reader *begin(void)
{
	struct row_reader *reader = NULL;
	struct err err = {0};

	CHECK_OK(row_reader_start(&reader, &err), err);
	return reader;
}

/* The only child of this process. */
static pid_t child(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/thread-self/children", "re");
	int pid = 0;

	CHECK(file && fscanf(file, "%d", &pid) == 1);
	return pid;
}

static u64 status_of(pid_t pid, const char *name, int base)
{
	char path[64], line[256];
	_cleanup_fclose_ FILE *file = NULL;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)))
			return strtoull(line + strlen(name) + 1, NULL, base);
	return ~0ULL;
}

static int read_library(struct row_reader *reader)
{
	_cleanup_close_ int fd = open(LIBRARY, O_RDONLY | O_CLOEXEC);
	struct elf_unwind_rows rows = {0};
	int result = row_reader_rows(reader, fd, LIBRARY, &rows, NULL);

	if (!result)
		CHECK(rows.row_count > 1000 && rows_are_sound(&rows));
	elf_unwind_rows_free(&rows);
	return result;
}

TEST(who_reads_is_nobody)
{
	struct row_reader *reader = begin();

	if (access(LIBRARY, R_OK))
		SKIP("no " LIBRARY);
	CHECK(!read_library(reader)); /* it has given up by then what it gives up */
	if (!geteuid()) {
		CHECK_U64(status_of(child(), "Uid:", 10), 65534);
		CHECK_U64(status_of(child(), "CapPrm:", 16), 0);
	}
	row_reader_stop(reader);
}

TEST(its_death_costs_one_file)
{
	struct row_reader *reader = begin();

	if (access(LIBRARY, R_OK))
		SKIP("no " LIBRARY);
	kill(child(), SIGKILL);
	CHECK(read_library(reader) == -EIO);
	CHECK(!read_library(reader));
	/* Not again and again. */
	for (int i = 0; i < 20 && child() && !kill(child(), SIGKILL); i++)
		if (read_library(reader) == -EIO && read_library(reader) == -EIO)
			break;
	CHECK(read_library(reader) == -EIO);
	row_reader_stop(reader);
}

static void *interrupt(void *data)
{
	usleep(20000);
	row_reader_interrupt(data);
	return NULL;
}

/* It is stopped: the file would never be read. */
TEST(nobody_waits_for_it_longer_than_asked)
{
	struct row_reader *reader = begin();
	pthread_t thread;

	kill(child(), SIGSTOP);
	CHECK(!pthread_create(&thread, NULL, interrupt, reader));
	CHECK(read_library(reader) == -ECANCELED);
	CHECK(read_library(reader) == -ECANCELED);
	pthread_join(thread, NULL);
	row_reader_stop(reader);
}

TEST(what_is_no_file_of_code)
{
	_cleanup_close_ int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
	struct row_reader *reader = begin();
	struct elf_unwind_rows rows;
	struct err err = {0};

	CHECK(row_reader_rows(reader, fd, "comm", &rows, &err) < 0);
	CHECK(strstr(err.message, "comm"));
	CHECK(!read_library(reader));
	row_reader_stop(reader);
}

/* ---- images ---- */

#define IMAGE_MAX 65536

TEST(images_of_liars_are_no_tables)
{
	static u8 image[IMAGE_MAX], damaged[IMAGE_MAX];
	struct elf_unwind_rows rows, read;
	struct unwind_file file = {0};
	size_t cie = put_cie(&file, USUAL), refused = 0;
	u64 size;

	put_fde(&file, cie, TEXT, 0x800, "41 0e10 41 0e18 44 0e08");
	CHECK(read_rows(&file, &rows));
	size = unwind_image_bytes(&rows);
	CHECK(size < sizeof(image));
	unwind_image_write(&rows, image);
	CHECK(!unwind_image_read(image, size, &read));
	CHECK(read.row_count == rows.row_count);
	elf_unwind_rows_free(&read);
	for (u64 cut = 0; cut < size; cut++)
		CHECK(unwind_image_read(image, cut, &read) == -EINVAL);
	for (u64 bit = 0; bit < size * 8; bit++) {
		memcpy(damaged, image, size);
		damaged[bit / 8] ^= (u8)(1U << bit % 8);
		if (unwind_image_read(damaged, size, &read)) {
			refused++;
			continue;
		}
		for (u32 i = 0; i < read.row_count; i++)
			CHECK(UNWIND_ROW_RULE(read.rows[i]) < read.rule_count);
		elf_unwind_rows_free(&read);
	}
	CHECK(refused > 100);
	elf_unwind_rows_free(&rows);
}

UNIT_MAIN()
