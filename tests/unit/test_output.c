/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/output.h"

/* A folder of its own for each test, gone with the scope. */
struct sandbox {
	char path[64];
	char file[128];
};

static struct sandbox sandbox_make(void)
{
	struct sandbox sandbox;

	strcpy(sandbox.path, "/tmp/gpuprobe-test-XXXXXX");
	if (!mkdtemp(sandbox.path))
		abort();
	snprintf(sandbox.file, sizeof(sandbox.file), "%s/out.json", sandbox.path);
	return sandbox;
}

static void sandbox_remove(struct sandbox *sandbox)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", sandbox->path);
	if (system(command) != 0)
		abort();
}

#define _cleanup_sandbox_ __attribute__((cleanup(sandbox_remove)))

static size_t sandbox_count(const struct sandbox *sandbox)
{
	_cleanup_closedir_ DIR *dir = opendir(sandbox->path);
	struct dirent *entry;
	size_t count = 0;

	while (dir && (entry = readdir(dir)))
		count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	return count;
}

static char *read_whole(const char *path, size_t *ret_size)
{
	gzFile file = gzopen(path, "rb");
	char *data = calloc(1, 4000000);
	int size = file ? gzread(file, data, 4000000 - 1) : -1;

	*ret_size = size < 0 ? 0 : (size_t)size;
	if (file)
		gzclose(file);
	return data;
}

/* Bytes that no compressor makes smaller. */
static void fill(char *data, size_t size)
{
	u64 state = 88172645463325252ULL;

	for (size_t i = 0; i < size; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		data[i] = (char)(state >> 32);
	}
}

static void write_file(const char *path, const char *content)
{
	_cleanup_fclose_ FILE *file = fopen(path, "w");

	if (!file || fputs(content, file) < 0)
		abort();
}

static void check_content(const char *path, const char *expected)
{
	size_t size;
	_cleanup_free_ char *data = read_whole(path, &size);

	CHECK_STRING(data, expected);
}

TEST(appears_whole_at_commit_and_not_before)
{
	_cleanup_sandbox_ struct sandbox sandbox = sandbox_make();
	struct output *output = NULL;
	struct err err = {};
	struct stat status;

	CHECK_OK(output_check(sandbox.file, &err), err);
	CHECK_U64(sandbox_count(&sandbox), 0);
	CHECK_OK(output_create(sandbox.file, OUTPUT_PLAIN, &output, &err), err);
	CHECK(output_write(output, "hello ", 6) == 0);
	CHECK(output_write(output, "", 0) == 0);
	CHECK(output_write(output, "world", 5) == 0);
	CHECK(access(sandbox.file, F_OK) < 0);
	CHECK_OK(output_commit(output, &err), err);
	check_content(sandbox.file, "hello world");
	CHECK_U64(sandbox_count(&sandbox), 1);
	CHECK(stat(sandbox.file, &status) == 0);
	CHECK_U64(status.st_mode & 07777, 0644);
}

TEST(discard_leaves_what_was_there)
{
	_cleanup_sandbox_ struct sandbox sandbox = sandbox_make();
	struct output *output = NULL;
	struct err err = {};

	write_file(sandbox.file, "old");
	CHECK_OK(output_create(sandbox.file, OUTPUT_PLAIN, &output, &err), err);
	CHECK(output_write(output, "new", 3) == 0);
	CHECK(output_discard(output) == NULL);
	check_content(sandbox.file, "old");
	CHECK_U64(sandbox_count(&sandbox), 1);
	CHECK_OK(output_create(sandbox.file, OUTPUT_GZIP, &output, &err), err);
	output_discard(output);
	CHECK_U64(sandbox_count(&sandbox), 1);
	CHECK(output_discard(NULL) == NULL);
}

TEST(commit_replaces_a_file)
{
	_cleanup_sandbox_ struct sandbox sandbox = sandbox_make();
	struct output *output = NULL;
	struct err err = {};

	write_file(sandbox.file, "old and longer");
	CHECK_OK(output_create(sandbox.file, OUTPUT_PLAIN, &output, &err), err);
	output_write(output, "new", 3);
	CHECK_OK(output_commit(output, &err), err);
	check_content(sandbox.file, "new");
}

/* Pieces of all sizes around the buffer's, plain and compressed, come back as they were. */
static void check_round_trip(enum output_compression compression)
{
	static const size_t pieces[] = {1, 262143, 262144, 7, 262145, 1000000, 131072, 131072, 3};
	_cleanup_sandbox_ struct sandbox sandbox = sandbox_make();
	_cleanup_free_ char *data = malloc(3000000), *back = NULL;
	struct output *output = NULL;
	struct err err = {};
	struct stat status;
	size_t at = 0, size;
	u8 magic[2] = {};
	int fd;

	fill(data, 3000000);
	CHECK_OK(output_create(sandbox.file, compression, &output, &err), err);
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		CHECK(output_write(output, data + at, pieces[i]) == 0);
		at += pieces[i];
	}
	CHECK_OK(output_commit(output, &err), err);
	back = read_whole(sandbox.file, &size);
	CHECK_U64(size, at);
	CHECK(size == at && !memcmp(back, data, at));
	fd = open(sandbox.file, O_RDONLY);
	CHECK(read(fd, magic, 2) == 2);
	CHECK((magic[0] == 0x1f && magic[1] == 0x8b) == (compression == OUTPUT_GZIP));
	CHECK(fstat(fd, &status) == 0);
	CHECK(compression == OUTPUT_GZIP || (size_t)status.st_size == at);
	close(fd);
}

TEST(plain_round_trip)
{
	check_round_trip(OUTPUT_PLAIN);
}

TEST(gzip_round_trip)
{
	check_round_trip(OUTPUT_GZIP);
}

TEST(empty_gzip_is_a_gzip_file)
{
	_cleanup_sandbox_ struct sandbox sandbox = sandbox_make();
	struct output *output = NULL;
	struct err err = {};
	struct stat status;

	CHECK_OK(output_create(sandbox.file, OUTPUT_GZIP, &output, &err), err);
	CHECK_OK(output_commit(output, &err), err);
	CHECK(stat(sandbox.file, &status) == 0 && status.st_size > 0);
	check_content(sandbox.file, "");
}

static void check_full(enum output_compression compression)
{
	_cleanup_free_ char *data = malloc(1000000);
	struct output *output = NULL;
	struct err err = {};

	fill(data, 1000000);
	CHECK_OK(output_create("/dev/full", compression, &output, &err), err);
	CHECK(output_write(output, data, 1000000) == -ENOSPC);
	CHECK(output_write(output, "x", 1) == -ENOSPC);
	CHECK(output_commit(output, &err) == -ENOSPC);
	CHECK_STRING(err.message, "can't write /dev/full: No space left on device");
}

TEST(full_device_is_reported)
{
	struct output *output = NULL;
	struct err err = {};

	check_full(OUTPUT_PLAIN);
	check_full(OUTPUT_GZIP);
	/* Also when all of it fits the buffer. */
	CHECK_OK(output_create("/dev/full", OUTPUT_PLAIN, &output, &err), err);
	CHECK(output_write(output, "x", 1) == 0);
	CHECK(output_commit(output, &err) == -ENOSPC);
	CHECK(access("/dev/full", F_OK) == 0);
}

TEST(devices_and_pipes_are_written_in_place)
{
	_cleanup_sandbox_ struct sandbox sandbox = sandbox_make();
	struct output *output = NULL;
	struct err err = {};
	char buffer[8] = {};
	struct stat status;
	int reader;

	CHECK_OK(output_check("/dev/null", &err), err);
	CHECK_OK(output_create("/dev/null", OUTPUT_PLAIN, &output, &err), err);
	CHECK_OK(output_commit(output, &err), err);
	CHECK(stat("/dev/null", &status) == 0 && S_ISCHR(status.st_mode));

	CHECK(mkfifo(sandbox.file, 0600) == 0);
	CHECK_OK(output_check(sandbox.file, &err), err);
	reader = open(sandbox.file, O_RDONLY | O_NONBLOCK);
	CHECK_OK(output_create(sandbox.file, OUTPUT_PLAIN, &output, &err), err);
	output_write(output, "piped", 5);
	CHECK_OK(output_commit(output, &err), err);
	CHECK(read(reader, buffer, 7) == 5);
	CHECK_STRING(buffer, "piped");
	CHECK(stat(sandbox.file, &status) == 0 && S_ISFIFO(status.st_mode));
	CHECK_U64(status.st_mode & 07777, 0600);
	close(reader);
}

TEST(descriptors_by_name)
{
	struct output *output = NULL;
	struct err err = {};
	char name[32], buffer[8] = {};
	int ends[2];

	CHECK(pipe(ends) == 0);
	snprintf(name, sizeof(name), "/dev/fd/%d", ends[1]);
	CHECK_OK(output_check(name, &err), err);
	CHECK_OK(output_create(name, OUTPUT_PLAIN, &output, &err), err);
	output_write(output, "abc", 3);
	CHECK_OK(output_commit(output, &err), err);
	CHECK(read(ends[0], buffer, 7) == 3);
	CHECK(fcntl(ends[1], F_GETFD) >= 0);
	CHECK_OK(output_check("-", &err), err);
	close(ends[0]);
	close(ends[1]);
	CHECK(output_check(name, &err) == -EBADF);
}

/* A pipe that is full and does not block is waited for. */
TEST(non_blocking_pipe_takes_everything)
{
	struct output *output = NULL;
	struct err err = {};
	_cleanup_free_ char *data = calloc(1, 1000000);
	char name[32];
	int ends[2], status;
	pid_t child;

	CHECK(pipe2(ends, O_NONBLOCK) == 0);
	child = fork();
	if (child == 0) {
		size_t got = 0;
		ssize_t size;

		close(ends[1]);
		fcntl(ends[0], F_SETFL, 0);
		while ((size = read(ends[0], data, 1000000)) > 0)
			got += (size_t)size;
		_exit(got == 1000000 ? 0 : 1);
	}
	close(ends[0]);
	snprintf(name, sizeof(name), "/dev/fd/%d", ends[1]);
	CHECK_OK(output_create(name, OUTPUT_PLAIN, &output, &err), err);
	CHECK(output_write(output, data, 1000000) == 0);
	CHECK_OK(output_commit(output, &err), err);
	close(ends[1]);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

#define CHECK_REFUSED(path_, code, words)                                             \
	do {                                                                          \
		struct output *output_ = NULL;                                        \
		struct err err_ = {};                                                 \
		struct output_file file_ = {.fd = -1};                                \
		CHECK(output_check(path_, &err_) == (code));                          \
		if (!strstr(err_.message, words))                                     \
			UNIT_FAIL("output_check says: %s", err_.message);             \
		CHECK(output_create(path_, OUTPUT_PLAIN, &output_, &err_) == (code)); \
		CHECK(output_ == NULL);                                               \
		CHECK(output_file_open(path_, true, &file_, &err_) == (code));        \
		CHECK(output_file_open(path_, false, &file_, &err_) == (code));       \
		CHECK(file_.fd == -1);                                                \
	} while (0)

TEST(links_in_a_world_writable_folder_are_refused)
{
	_cleanup_sandbox_ struct sandbox sandbox = sandbox_make();
	char victim[128], open_folder[128], link[160], through[192];

	snprintf(victim, sizeof(victim), "%s/victim", sandbox.path);
	snprintf(open_folder, sizeof(open_folder), "%s/open", sandbox.path);
	snprintf(link, sizeof(link), "%s/link", open_folder);
	write_file(victim, "secret");
	CHECK(mkdir(open_folder, 0700) == 0 && chmod(open_folder, 01777) == 0);
	CHECK(symlink(victim, link) == 0);
	CHECK_REFUSED(link, -ELOOP, "symbolic link in a world-writable folder");
	/* Nor a link to a folder on the way. */
	CHECK(unlink(link) == 0 && symlink(sandbox.path, link) == 0);
	snprintf(through, sizeof(through), "%s/victim", link);
	CHECK_REFUSED(through, -ELOOP, "symbolic link in a world-writable folder");
	/* Nor one that a harmless link leads to. */
	snprintf(through, sizeof(through), "%s/harmless", sandbox.path);
	CHECK(symlink("open/link/victim", through) == 0);
	CHECK_REFUSED(through, -ELOOP, "symbolic link in a world-writable folder");
	check_content(victim, "secret");
	CHECK_U64(sandbox_count(&sandbox), 3);
}

TEST(root_follows_no_link_of_another_user)
{
	_cleanup_sandbox_ struct sandbox sandbox = sandbox_make();
	char link[160], uid[16];
	struct err err = {0};

	if (geteuid() != 0)
		SKIP("needs root");
	snprintf(link, sizeof(link), "%s/link", sandbox.path);
	CHECK(symlink("target", link) == 0);
	CHECK(output_check(link, &err) == 0);
	CHECK(lchown(link, 12345, 12345) == 0);
	CHECK(output_check(link, &err) == -ELOOP);
	CHECK(strstr(err.message, "another user") != NULL);
	snprintf(uid, sizeof(uid), "%d", 12345);
	setenv("SUDO_UID", uid, 1);
	setenv("SUDO_GID", uid, 1);
	CHECK(output_check(link, &err) == 0);
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
}

TEST(links_elsewhere_are_followed)
{
	_cleanup_sandbox_ struct sandbox sandbox = sandbox_make();
	char real[128], link[128], path[192], expected[192];
	struct output *output = NULL;
	struct err err = {};
	struct stat status;

	snprintf(real, sizeof(real), "%s/real", sandbox.path);
	snprintf(link, sizeof(link), "%s/link", sandbox.path);
	CHECK(mkdir(real, 0755) == 0);
	CHECK(symlink("./real/", link) == 0);
	snprintf(expected, sizeof(expected), "%s/link/../link/out", sandbox.path);
	CHECK_OK(output_create(expected, OUTPUT_PLAIN, &output, &err), err);
	CHECK_OK(output_commit(output, &err), err);
	snprintf(path, sizeof(path), "%s/out", real);
	CHECK(access(path, F_OK) == 0);
	/* The last component too: the link stays, what it leads to is replaced. */
	snprintf(expected, sizeof(expected), "%s/target", real);
	snprintf(path, sizeof(path), "%s/last", sandbox.path);
	CHECK(symlink("link/target", path) == 0);
	CHECK_OK(output_create(path, OUTPUT_PLAIN, &output, &err), err);
	output_write(output, "x", 1);
	CHECK_OK(output_commit(output, &err), err);
	check_content(expected, "x");
	CHECK(lstat(path, &status) == 0 && S_ISLNK(status.st_mode));
	/* A loop ends. */
	CHECK(unlink(path) == 0 && symlink("last", path) == 0);
	CHECK_REFUSED(path, -ELOOP, "Too many levels");
}

TEST(bad_places_are_named)
{
	_cleanup_sandbox_ struct sandbox sandbox = sandbox_make();
	char path[512];

	CHECK_REFUSED("", -EINVAL, "without a name");
	CHECK_REFUSED("/no/such/folder/file", -ENOENT, "no folder 'no'");
	CHECK_REFUSED(sandbox.path, -EISDIR, "it is a folder");
	snprintf(path, sizeof(path), "%s/new/", sandbox.path);
	CHECK_REFUSED(path, -ENOENT, "no folder 'new'");
	snprintf(path, sizeof(path), "%s/", sandbox.path);
	CHECK_REFUSED(path, -EISDIR, "it is a folder");
	CHECK_REFUSED("/", -EISDIR, "it is a folder");
	CHECK_REFUSED("..", -EISDIR, "it is a folder");
	write_file(sandbox.file, "file");
	snprintf(path, sizeof(path), "%s/x", sandbox.file);
	CHECK_REFUSED(path, -ENOTDIR, "'out.json' is not a folder");
	snprintf(path, sizeof(path), "%s/%0300d", sandbox.path, 0);
	CHECK_REFUSED(path, -ENAMETOOLONG, "File name too long");
	CHECK_U64(sandbox_count(&sandbox), 1);
}

TEST(read_only_place_is_found_before_the_start)
{
	struct err err = {};
	struct stat status;

	if (stat("/proc/sys/kernel", &status) < 0)
		SKIP("no /proc");
	CHECK(output_check("/proc/sys/kernel/gpuprobe-test", &err) < 0);
	CHECK(strstr(err.message, "/proc/sys/kernel/gpuprobe-test") != NULL);
}

TEST(names_as_long_as_the_file_system_allows)
{
	_cleanup_sandbox_ struct sandbox sandbox = sandbox_make();
	struct output *output = NULL;
	struct err err = {};
	char path[512];

	snprintf(path, sizeof(path), "%s/%0255d", sandbox.path, 0);
	CHECK_OK(output_create(path, OUTPUT_PLAIN, &output, &err), err);
	CHECK_OK(output_commit(output, &err), err);
	CHECK(access(path, F_OK) == 0);
}

TEST(relative_paths)
{
	_cleanup_sandbox_ struct sandbox sandbox = sandbox_make();
	_cleanup_close_ int here = open(".", O_RDONLY | O_DIRECTORY);
	struct output *output = NULL;
	struct err err = {};

	CHECK(chdir(sandbox.path) == 0);
	CHECK_OK(output_create("out.json", OUTPUT_PLAIN, &output, &err), err);
	/* Where it goes was settled at the start. */
	CHECK(fchdir(here) == 0);
	CHECK_OK(output_commit(output, &err), err);
	CHECK(access(sandbox.file, F_OK) == 0);
}

TEST(a_file_replaces_another_when_it_is_published)
{
	_cleanup_sandbox_ struct sandbox sandbox = sandbox_make();
	_cleanup_close_ int old = -1;
	struct output_file file;
	struct err err = {};
	char buffer[8] = {};

	write_file(sandbox.file, "old");
	CHECK_OK(output_file_open(sandbox.file, true, &file, &err), err);
	CHECK(write(file.fd, "gone", 4) == 4);
	output_file_close(&file);
	check_content(sandbox.file, "old");
	CHECK_U64(sandbox_count(&sandbox), 1);

	old = open(sandbox.file, O_RDONLY);
	CHECK_OK(output_file_open(sandbox.file, true, &file, &err), err);
	CHECK(write(file.fd, "new", 3) == 3 && pread(file.fd, buffer, 3, 0) == 3);
	check_content(sandbox.file, "old");
	CHECK_OK(output_file_publish(&file, &err), err);
	check_content(sandbox.file, "new");
	CHECK(read(old, buffer, 7) == 3);
	CHECK_STRING(buffer, "old");
	output_file_close(&file);
	CHECK(file.fd == -1);
	CHECK_U64(sandbox_count(&sandbox), 1);
	CHECK(output_file_open("/dev/null", true, &file, &err) == -EINVAL);
	CHECK(output_file_open("-", true, &file, &err) == -EINVAL);
}

TEST(a_file_that_replaces_nothing)
{
	_cleanup_sandbox_ struct sandbox sandbox = sandbox_make();
	struct output_file file, other = {.fd = -1};
	struct err err = {};

	CHECK_OK(output_file_open(sandbox.file, false, &file, &err), err);
	CHECK(output_file_open(sandbox.file, false, &other, &err) == -EEXIST);
	CHECK(other.fd == -1);
	CHECK_U64(sandbox_count(&sandbox), 1);
	output_file_close(&file);
	CHECK_U64(sandbox_count(&sandbox), 0);
	CHECK_OK(output_file_open(sandbox.file, false, &file, &err), err);
	CHECK_OK(output_file_publish(&file, &err), err);
	output_file_close(&file);
	CHECK_U64(sandbox_count(&sandbox), 1);
}

TEST(what_is_a_file)
{
	_cleanup_sandbox_ struct sandbox sandbox = sandbox_make();

	CHECK(output_is_file(sandbox.file));
	write_file(sandbox.file, "old");
	CHECK(output_is_file(sandbox.file));
	CHECK(!output_is_file("-") && !output_is_file("/dev/fd/63") &&
	      !output_is_file("/dev/null"));
	CHECK(!output_is_file(sandbox.path));
}

static void check_owner(const char *uid, const char *gid, uid_t expected_uid, gid_t expected_gid)
{
	_cleanup_sandbox_ struct sandbox sandbox = sandbox_make();
	struct output *output = NULL;
	struct err err = {};
	struct stat status;

	setenv("SUDO_UID", uid, 1);
	setenv("SUDO_GID", gid, 1);
	CHECK_OK(output_create(sandbox.file, OUTPUT_PLAIN, &output, &err), err);
	CHECK_OK(output_commit(output, &err), err);
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	CHECK(stat(sandbox.file, &status) == 0);
	CHECK_U64(status.st_uid, expected_uid);
	CHECK_U64(status.st_gid, expected_gid);
	CHECK_U64(status.st_mode & 07777, 0644);
}

TEST(belongs_to_the_user_behind_sudo)
{
	if (geteuid() != 0)
		SKIP("needs root");
	check_owner("12345", "23456", 12345, 23456);
	check_owner("", "", 0, 0);
	check_owner("-1", "0", 0, 0);
	check_owner("12x", "0", 0, 0);
	check_owner("4294967295", "1", 0, 0);
	check_owner("99999999999999999999", "1", 0, 0);
}

UNIT_MAIN()
