/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scratch_folder.h"
#include "unit.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/output_folder.h"
#include "base/text.h"

/* A folder of the test's own, which is the working one. */
static void begin(void)
{
	static unsigned count;
	char path[SCRATCH_PATH_BYTES], name[16];

	snprintf(name, sizeof(name), "%u", count++);
	in_folder(path, name);
	CHECK(mkdir(path, 0700) == 0 && chdir(path) == 0);
}

static bool is_folder(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static void make_and_remove(const char *path, const char *made, const char *kept)
{
	struct output_folder output = {};
	struct err err = {};

	CHECK_OK(output_folder_make(&output, path, &err), err);
	CHECK(is_folder(made));
	output_folder_remove(&output);
	output_folder_free(&output);
	CHECK(!is_folder(made));
	CHECK(!kept || is_folder(kept));
}

TEST(what_is_missing_is_made_and_removed_again)
{
	begin();
	make_and_remove("a/b/c", "a/b/c", NULL);
	CHECK(!is_folder("a"));
	CHECK(mkdir("a", 0755) == 0);
	make_and_remove("a/b/c///", "a/b/c", "a");
	CHECK(mkdir("a/b", 0755) == 0);
	make_and_remove("./a/../a/./b/c", "a/b/c", "a/b");
	make_and_remove("plain", "plain", "a/b");
}

TEST(what_was_there_stays)
{
	struct output_folder output = {};
	struct err err = {};

	begin();
	CHECK(mkdir("a", 0755) == 0 && mkdir("a/b", 0755) == 0);
	CHECK_OK(output_folder_make(&output, "a/b/", &err), err);
	CHECK_U64(output.existing_length, strlen(output.path));
	output_folder_remove(&output);
	output_folder_free(&output);
	CHECK(is_folder("a/b"));
}

TEST(a_file_in_the_way_is_said_and_nothing_stays)
{
	struct output_folder output = {};
	struct err err = {};

	begin();
	CHECK(mkdir("a", 0755) == 0);
	fclose(fopen("a/file", "w"));
	CHECK(output_folder_make(&output, "a/file/c", &err) == -ENOTDIR);
	CHECK(strstr(err.message, "a/file"));
	CHECK(output_folder_make(&output, "a/new/../file", &err) < 0);
	CHECK(!is_folder("a/new"));
}

TEST(what_has_something_in_it_is_not_removed)
{
	struct output_folder output = {};
	struct err err = {};

	begin();
	CHECK_OK(output_folder_make(&output, "a/b/c", &err), err);
	fclose(fopen("a/b/file", "w"));
	output_folder_remove(&output);
	output_folder_free(&output);
	CHECK(!is_folder("a/b/c"));
	CHECK(is_folder("a/b"));
}

TEST(a_check_leaves_nothing)
{
	struct err err = {};

	begin();
	CHECK_OK(output_folder_check("x/y/z", &err), err);
	CHECK(!is_folder("x"));
	fclose(fopen("x", "w"));
	CHECK(output_folder_check("x/y/z", &err) == -ENOTDIR);
}

UNIT_MAIN()
