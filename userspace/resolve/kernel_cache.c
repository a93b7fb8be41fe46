/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/kernel_cache.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "resolve/inductor_code.h"
#include "resolve/triton_ir.h"

#define FILE_MAX_BYTES	 (8U << 20) /* larger ones are no code that one of the two wrote */
#define ALL_MAX_BYTES	 (512ULL << 20)
#define FOLDERS_MAX	 (1U << 17) /* in one */
#define LINES_TO_DEF_MAX 16	    /* decorators */

struct reader {
	const struct kernel_cache_process *process;
	u32 number; /* of the process */
	int pipe_fd;
	u64 bytes_left;
	char *bytes; /* FILE_MAX_BYTES */
	struct text buffer;
	struct triton_kernel kernel;
	bool failed; /* nobody reads */
};

/* ---- sending ---- */

static void send_texts(struct reader *reader, struct kernel_cache_message message,
		       const struct inductor_text *texts)
{
	text_clear(&reader->buffer);
	for (size_t i = 0; i < KERNEL_CACHE_TEXTS; i++)
		message.bytes[i] = texts[i].length < KERNEL_CACHE_TEXT_MAX_BYTES
					   ? texts[i].length
					   : KERNEL_CACHE_TEXT_MAX_BYTES;
	message.process = reader->number;
	text_append_bytes(&reader->buffer, &message, sizeof(message));
	for (size_t i = 0; i < KERNEL_CACHE_TEXTS; i++)
		text_append_bytes(&reader->buffer, texts[i].at, message.bytes[i]);
	if (reader->buffer.failed ||
	    file_write(reader->pipe_fd, reader->buffer.data, reader->buffer.length))
		reader->failed = true;
}

static struct inductor_text text_of(const char *string)
{
	return (struct inductor_text){string, strlen(string)};
}

/* ---- files of others ---- */

/* What the process's user could read itself. */
static bool is_readable(const struct reader *reader, const struct stat *status)
{
	return !status->st_uid || status->st_uid == reader->process->uid ||
	       status->st_mode & S_IROTH;
}

static int open_in_root(const struct reader *reader, const char *path, u64 flags)
{
	struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	_cleanup_close_ int own = -1;
	int root = reader->process->root_fd;

	if (path[0] != '/')
		return -1;
	if (root < 0)
		root = own = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

/* Neither a link nor anything that is no plain file. */
static bool read_file(struct reader *reader, int fd, size_t *ret_size)
{
	struct stat status;
	ssize_t size;

	if (fd < 0 || fstat(fd, &status) || !S_ISREG(status.st_mode) ||
	    !is_readable(reader, &status) || status.st_size <= 0 ||
	    status.st_size > FILE_MAX_BYTES || (u64)status.st_size > reader->bytes_left)
		return false;
	size = file_read_at(fd, reader->bytes, FILE_MAX_BYTES, 0);
	if (size <= 0)
		return false;
	reader->bytes_left -= (u64)size < reader->bytes_left ? (u64)size : reader->bytes_left;
	*ret_size = (size_t)size;
	return true;
}

static bool read_file_in(struct reader *reader, int folder_fd, const char *name, size_t *ret_size)
{
	_cleanup_close_ int fd =
		openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);

	return read_file(reader, fd, ret_size);
}

/* Takes folder_fd. */
static DIR *list_folder(int folder_fd)
{
	DIR *folder = folder_fd < 0 ? NULL : fdopendir(folder_fd);

	if (!folder && folder_fd >= 0)
		close(folder_fd);
	return folder;
}

static bool ends_in(const char *name, const char *end)
{
	size_t length = strlen(name);

	return length > strlen(end) && !strcmp(name + length - strlen(end), end);
}

/* ---- folders in a folder, the newest first ---- */

struct folder {
	char name[128];
	s64 changed_ns;
};

static int compare_folders(const void *a, const void *b)
{
	const struct folder *left = a, *right = b;

	return (left->changed_ns < right->changed_ns) - (left->changed_ns > right->changed_ns);
}

static void for_folders(struct reader *reader, int folder_fd,
			void (*call)(struct reader *reader, int folder_fd, const char *name))
{
	_cleanup_closedir_ DIR *list = list_folder(folder_fd);
	_cleanup_free_ struct folder *folders = NULL;
	size_t count = 0, capacity = 0;
	struct dirent *entry;
	struct stat status;

	while (list && count < FOLDERS_MAX && (entry = readdir(list))) {
		if (entry->d_name[0] == '.' || strlen(entry->d_name) >= sizeof(folders->name) ||
		    fstatat(dirfd(list), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISDIR(status.st_mode) || array_reserve(&folders, &capacity, count + 1))
			continue;
		folders[count].changed_ns =
			status.st_mtim.tv_sec * 1000000000LL + status.st_mtim.tv_nsec;
		strcpy(folders[count++].name, entry->d_name);
	}
	if (count)
		qsort(folders, count, sizeof(*folders), compare_folders);
	for (size_t i = 0; i < count && !reader->failed; i++) {
		int fd = openat(dirfd(list), folders[i].name,
				O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

		if (fd >= 0)
			call(reader, fd, folders[i].name);
	}
}

/* ---- kernels of Triton ---- */

/* Does "def NAME" stand in the line, or behind the decorators that do? */
static bool is_defined_at(const char *bytes, size_t size, const struct triton_kernel *kernel)
{
	const char *at = bytes, *end = bytes + size;
	size_t length = strlen(kernel->name);

	for (u32 line = 1; at < end; line++) {
		const char *newline = memchr(at, '\n', end - at);
		const char *line_end = newline ? newline : end;

		while (at < line_end && (*at == ' ' || *at == '\t'))
			at++;
		if (line >= kernel->line && (size_t)(line_end - at) > length + 4 &&
		    !memcmp(at, "def ", 4))
			return !memcmp(at + 4, kernel->name, length) &&
			       !isalnum((unsigned char)at[4 + length]) && at[4 + length] != '_';
		/* What it says is the line of the def, or of the first of its decorators. */
		if ((line == kernel->line && (at == line_end || *at != '@')) ||
		    line >= kernel->line + LINES_TO_DEF_MAX)
			return false;
		at = line_end + 1;
	}
	return false;
}

static void send_kernel(struct reader *reader)
{
	const struct inductor_text texts[KERNEL_CACHE_TEXTS] = {
		[KERNEL_CACHE_NAME] = text_of(reader->kernel.name),
		[KERNEL_CACHE_FILE] = text_of(reader->kernel.file),
	};
	_cleanup_close_ int fd = open_in_root(reader, reader->kernel.file, 0);
	struct kernel_cache_message message = {.type = KERNEL_CACHE_SOURCE,
					       .line = reader->kernel.line};
	size_t size;

	if (read_file(reader, fd, &size))
		message.confirmed = is_defined_at(reader->bytes, size, &reader->kernel);
	send_texts(reader, message, texts);
}

/* HASH/NAME.ttir */
static void read_kernel_folder(struct reader *reader, int folder_fd, const char *name)
{
	_cleanup_closedir_ DIR *list = list_folder(folder_fd);
	struct dirent *entry;
	size_t size;

	(void)name;
	while (list && !reader->failed && (entry = readdir(list)))
		if (ends_in(entry->d_name, ".ttir") &&
		    read_file_in(reader, dirfd(list), entry->d_name, &size) &&
		    triton_ir_read(reader->bytes, size, &reader->kernel))
			send_kernel(reader);
}

/* triton/DEVICE */
static void read_device_folder(struct reader *reader, int folder_fd, const char *name)
{
	(void)name;
	for_folders(reader, folder_fd, read_kernel_folder);
}

/* ---- what inductor says of its kernels ---- */

static void send_made(struct reader *reader, const char *launcher, size_t size)
{
	struct inductor_kernel kernel;
	size_t offset = 0;

	while (!reader->failed && inductor_code_next(reader->bytes, size, &offset, &kernel)) {
		const struct inductor_text texts[KERNEL_CACHE_TEXTS] = {
			[KERNEL_CACHE_NAME] = kernel.name,
			[KERNEL_CACHE_FILE] = kernel.path,
			[KERNEL_CACHE_LAUNCHER] = text_of(launcher),
			[KERNEL_CACHE_NODES] = kernel.nodes,
			[KERNEL_CACHE_OPERATIONS] = kernel.operations,
		};

		send_texts(reader, (struct kernel_cache_message){.type = KERNEL_CACHE_MADE}, texts);
	}
}

/* ab/cabc...py; the name of the whole folder is in reader->kernel.file. */
static void read_code_folder(struct reader *reader, int folder_fd, const char *name)
{
	_cleanup_closedir_ DIR *list = list_folder(folder_fd);
	struct dirent *entry;
	size_t size;

	/* All others hold what inductor keeps otherwise. */
	if (strlen(name) != 2)
		return;
	while (list && !reader->failed && (entry = readdir(list))) {
		_cleanup_text_ struct text launcher = {0};

		if (!ends_in(entry->d_name, ".py") ||
		    !read_file_in(reader, dirfd(list), entry->d_name, &size))
			continue;
		text_appendf(&launcher, "%s/%s/%s", reader->kernel.file, name, entry->d_name);
		if (!launcher.failed)
			send_made(reader, launcher.data, size);
	}
}

static void read_inductor_folder(struct reader *reader, const char *path)
{
	_cleanup_text_ struct text triton = {0};
	size_t length = strlen(path);
	int fd;

	while (length > 1 && path[length - 1] == '/')
		length--;
	if (length >= sizeof(reader->kernel.file))
		return;
	text_appendf(&triton, "%.*s/triton", (int)length, path);
	fd = triton.failed ? -1 : open_in_root(reader, triton.data, O_DIRECTORY);
	for_folders(reader, fd, read_device_folder);
	/* What it launches them from has this name, as Python has it. */
	memcpy(reader->kernel.file, path, length);
	reader->kernel.file[length] = '\0';
	for_folders(reader, open_in_root(reader, path, O_DIRECTORY), read_code_folder);
}

/* torchinductor_USER, that of the process's user: the name need not be in its environment. */
static void find_inductor_folders(struct reader *reader)
{
	static const char prefix[] = "torchinductor_";
	const char *parent = reader->process->inductor_parent;
	_cleanup_closedir_ DIR *list = list_folder(open_in_root(reader, parent, O_DIRECTORY));
	struct dirent *entry;
	struct stat status;

	while (list && (entry = readdir(list))) {
		_cleanup_text_ struct text path = {0};

		if (strncmp(entry->d_name, prefix, strlen(prefix)) ||
		    fstatat(dirfd(list), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISDIR(status.st_mode) || status.st_uid != reader->process->uid)
			continue;
		text_appendf(&path, "%s/%s", parent, entry->d_name);
		if (!path.failed)
			read_inductor_folder(reader, path.data);
	}
}

static void read_process(struct reader *reader)
{
	const struct kernel_cache_process *process = reader->process;

	if (process->triton_folder)
		for_folders(reader, open_in_root(reader, process->triton_folder, O_DIRECTORY),
			    read_kernel_folder);
	if (process->inductor_folder)
		read_inductor_folder(reader, process->inductor_folder);
	else if (process->inductor_parent)
		find_inductor_folders(reader);
}

void kernel_cache_run(const struct kernel_cache_process *processes, const bool *skip, size_t count,
		      int pipe_fd)
{
	static const struct inductor_text nothing[KERNEL_CACHE_TEXTS];
	struct reader reader = {
		.pipe_fd = pipe_fd, .bytes_left = ALL_MAX_BYTES, .bytes = malloc(FILE_MAX_BYTES)};

	if (!reader.bytes)
		return;
	for (size_t i = 0; i < count && !reader.failed; i++) {
		reader.process = &processes[i];
		reader.number = (u32)i;
		if (!skip[i])
			read_process(&reader);
	}
	if (reader.bytes_left)
		send_texts(&reader, (struct kernel_cache_message){.type = KERNEL_CACHE_END},
			   nothing);
	free(reader.bytes);
	text_free(&reader.buffer);
}
