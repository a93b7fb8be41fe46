/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "verbs/serve/remote_files.h"

static void write_file(const char *folder, const char *name, const char *words)
{
	_cleanup_text_ struct text path = {0};
	FILE *file;

	text_appendf(&path, "%s/%s", folder, name);
	file = fopen(text_string(&path), "w");
	CHECK(file && fputs(words, file) >= 0 && fclose(file) == 0);
}

static void make_below(const char *folder, const char *name)
{
	_cleanup_text_ struct text path = {0};

	text_appendf(&path, "%s/%s", folder, name);
	CHECK(mkdir(text_string(&path), 0700) == 0);
}

TEST(a_folder_is_private_and_goes_with_all_that_is_in_it)
{
	_cleanup_text_ struct text link = {0};
	char *folder = NULL, *other = NULL;
	struct err err = {0};
	struct stat status;

	CHECK_OK(remote_folder_make(&folder, &err), err);
	CHECK(stat(folder, &status) == 0 && (status.st_mode & 07777) == 0700);
	make_below(folder, "a");
	make_below(folder, "a/b");
	write_file(folder, "a/b/file", "x");
	/* What a link leads to stays. */
	CHECK_OK(remote_folder_make(&other, &err), err);
	write_file(other, "kept", "x");
	text_appendf(&link, "%s/a/link", folder);
	CHECK(symlink(other, text_string(&link)) == 0);
	remote_folder_remove(folder);
	CHECK(stat(folder, &status) < 0 && errno == ENOENT);
	text_clear(&link);
	text_appendf(&link, "%s/kept", other);
	CHECK(stat(text_string(&link), &status) == 0);
	remote_folder_remove(other);
	free(folder);
	free(other);
}

TEST(the_file_of_one_process)
{
	struct remote_files files;
	struct err err = {0};
	char *folder = NULL;

	CHECK_OK(remote_folder_make(&folder, &err), err);
	CHECK_U64(-remote_files_open(folder, &files, &err), ENOENT);
	make_below(folder, "run");
	write_file(folder, "run/my_host.xplane.pb", "12345");
	write_file(folder, "run/other.pb", "x");
	write_file(folder, "capture.gpr", "x");
	CHECK_OK(remote_files_open(folder, &files, &err), err);
	CHECK_U64(files.count, 1);
	CHECK_STRING(files.items[0].tool_name, "xplane.pb");
	CHECK_U64(files.items[0].bytes, 5);
	remote_files_free(&files);
	remote_folder_remove(folder);
	free(folder);
}

TEST(the_files_of_several_processes)
{
	struct remote_files files;
	struct err err = {0};
	char *folder = NULL;

	CHECK_OK(remote_folder_make(&folder, &err), err);
	write_file(folder, "my_host_42.xplane.pb", "12");
	write_file(folder, "my_host_7.xplane.pb", "1");
	CHECK_OK(remote_files_open(folder, &files, &err), err);
	CHECK_U64(files.count, 2);
	CHECK_STRING(files.items[0].tool_name, "42.xplane.pb");
	CHECK_U64(files.items[0].bytes, 2);
	CHECK_STRING(files.items[1].tool_name, "7.xplane.pb");
	/* One is taken over. */
	close(files.items[1].fd);
	files.items[1].fd = -1;
	remote_files_free(&files);
	remote_folder_remove(folder);
	free(folder);
}

UNIT_MAIN()
