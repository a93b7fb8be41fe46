/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/folder.h"
#include "base/sudo_user.h"

#define OUTPUT_BUFFER_BYTES  (256 * 1024)
#define OUTPUT_NAME_ATTEMPTS 16
#define OUTPUT_GZIP_WINDOW   (15 + 16) /* zlib: the largest window, gzip's header */
#define OUTPUT_GZIP_MEMORY   9

struct output {
	char *path; /* as the user gave it */
	int fd;
	int folder; /* -1: written in place */
	char name[NAME_MAX + 1];
	char temporary[OUTPUT_TEMPORARY_BYTES]; /* "": written in place */
	int code;				/* the first error, 0: none */
	bool compressed;
	z_stream stream;
	size_t used;
	u8 buffer[OUTPUT_BUFFER_BYTES];
};

/* ---- whose file it is ---- */

void output_chown_to_user(int fd)
{
	u32 uid, gid;

	if (!sudo_user_find(&uid, &gid))
		return;
	if (fchown(fd, uid, gid) < 0)
		return; /* some file systems know one owner only */
}

/* ---- opening ---- */

/* The names that every shell gives to descriptors which are open already. */
static const char *const output_descriptor_folders[] = {"/dev/fd/", "/proc/self/fd/"};

/* -1 when path does not name one. */
static int output_descriptor_of(const char *path)
{
	if (!strcmp(path, "-") || !strcmp(path, "/dev/stdout"))
		return STDOUT_FILENO;
	if (!strcmp(path, "/dev/stderr"))
		return STDERR_FILENO;
	for (size_t i = 0; i < ARRAY_SIZE(output_descriptor_folders); i++) {
		size_t length = strlen(output_descriptor_folders[i]);
		char *end;
		long fd;

		if (strncmp(path, output_descriptor_folders[i], length) != 0)
			continue;
		fd = strtol(path + length, &end, 10);
		if (end != path + length && !*end && fd >= 0 && fd < INT_MAX)
			return (int)fd;
	}
	return -1;
}

/* 1: it is there and is written in place; 0: a file is to be put there; or -errno. */
static int output_is_in_place(const char *path, int folder, const char *name, struct err *err)
{
	struct stat status;

	if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno == ENOENT)
			return 0;
		return err_errno(err, -errno, "can't write %s", path);
	}
	if (S_ISREG(status.st_mode))
		return 0;
	if (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode))
		return 1;
	if (S_ISDIR(status.st_mode))
		return err_set(err, -EISDIR, "can't write %s: it is a folder", path);
	return err_set(err, -EINVAL,
		       "can't write %s: it is neither a file nor a pipe. Name another output.",
		       path);
}

/* A new file under a name that nobody can know, in folder. */
static int output_open_temporary(const char *path, int folder,
				 char temporary[OUTPUT_TEMPORARY_BYTES], int *ret_fd,
				 struct err *err)
{
	for (int attempt = 0; attempt < OUTPUT_NAME_ATTEMPTS; attempt++) {
		u64 random;
		int fd;

		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			return err_errno(err, -EIO, "can't write %s: no random numbers", path);
		snprintf(temporary, OUTPUT_TEMPORARY_BYTES, ".gpuprobe-%016llx.tmp",
			 (unsigned long long)random);
		fd = openat(folder, temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    0600);
		if (fd >= 0) {
			*ret_fd = fd;
			return 0;
		}
		if (errno != EEXIST)
			break;
	}
	return err_errno(err, -errno, "can't write %s: no file can be made in its folder", path);
}

static int output_hand_over(const char *path, int fd, struct err *err)
{
	if (fchmod(fd, 0644) < 0)
		return err_errno(err, -errno, "can't write %s: setting its mode", path);
	output_chown_to_user(fd);
	return 0;
}

int output_check(const char *path, struct err *err)
{
	_cleanup_close_ int folder = -1, fd = -1;
	char name[NAME_MAX + 1], temporary[OUTPUT_TEMPORARY_BYTES];
	int result = output_descriptor_of(path);

	if (result >= 0) {
		if (fcntl(result, F_GETFD) < 0)
			return err_errno(err, -errno, "can't write %s", path);
		return 0;
	}
	result = folder_open_parent(path, &folder, name, err);
	if (result < 0)
		return result;
	result = output_is_in_place(path, folder, name, err);
	if (result < 0)
		return result;
	if (result > 0) {
		if (faccessat(folder, name, W_OK, AT_EACCESS) < 0)
			return err_errno(err, -errno, "can't write %s", path);
		return 0;
	}
	/* Only making a file proves that one can be made: read-only mounts, quotas, capabilities.
	 */
	result = output_open_temporary(path, folder, temporary, &fd, err);
	if (result == 0)
		unlinkat(folder, temporary, 0);
	return result;
}

static int output_open(struct output *output, struct err *err)
{
	int descriptor = output_descriptor_of(output->path), result;

	if (descriptor >= 0) {
		output->fd = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
		if (output->fd < 0)
			return err_errno(err, -errno, "can't write %s", output->path);
		return 0;
	}
	result = folder_open_parent(output->path, &output->folder, output->name, err);
	if (result < 0)
		return result;
	result = output_is_in_place(output->path, output->folder, output->name, err);
	if (result < 0)
		return result;
	if (result > 0) {
		output->fd = openat(output->folder, output->name,
				    O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
		if (output->fd < 0)
			return err_errno(err, -errno, "can't write %s", output->path);
		return 0;
	}
	result = output_open_temporary(output->path, output->folder, output->temporary, &output->fd,
				       err);
	if (result < 0) {
		output->temporary[0] = '\0';
		return result;
	}
	return output_hand_over(output->path, output->fd, err);
}

int output_create(const char *path, enum output_compression compression, struct output **ret_output,
		  struct err *err)
{
	struct output *output = calloc(1, sizeof(*output));
	int result;

	if (!output)
		return err_errno(err, -ENOMEM, "can't write %s", path);
	output->fd = -1;
	output->folder = -1;
	output->path = strdup(path);
	if (!output->path) {
		output_discard(output);
		return err_errno(err, -ENOMEM, "can't write %s", path);
	}
	if (compression == OUTPUT_GZIP) {
		if (deflateInit2(&output->stream, Z_BEST_SPEED, Z_DEFLATED, OUTPUT_GZIP_WINDOW,
				 OUTPUT_GZIP_MEMORY, Z_DEFAULT_STRATEGY) != Z_OK) {
			output_discard(output);
			return err_errno(err, -ENOMEM, "can't write %s", path);
		}
		output->compressed = true;
		output->stream.next_out = output->buffer;
		output->stream.avail_out = sizeof(output->buffer);
	}
	result = output_open(output, err);
	if (result < 0) {
		output_discard(output);
		return result;
	}
	*ret_output = output;
	return 0;
}

bool output_is_file(const char *path)
{
	_cleanup_close_ int folder = -1;
	char name[NAME_MAX + 1];

	return output_descriptor_of(path) < 0 &&
	       folder_open_parent(path, &folder, name, NULL) == 0 &&
	       output_is_in_place(path, folder, name, NULL) == 0;
}

static int output_file_make(struct output_file *file, const char *path, bool replace,
			    struct err *err)
{
	int result = output_is_in_place(path, file->folder, file->name, err);

	if (result > 0)
		return err_set(err, -EINVAL, "can't write %s: a capture must be a file", path);
	if (result < 0)
		return result;
	if (replace)
		return output_open_temporary(path, file->folder, file->temporary, &file->fd, err);
	file->fd = openat(file->folder, file->name,
			  O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file->fd < 0)
		return err_errno(err, -errno, "can't write %s", path);
	return 0;
}

int output_file_open(const char *path, bool replace, struct output_file *ret_file, struct err *err)
{
	struct output_file file = {.fd = -1, .folder = -1};
	int result;

	if (output_descriptor_of(path) >= 0)
		return err_set(err, -EINVAL, "can't write %s: a capture must be a file", path);
	result = folder_open_parent(path, &file.folder, file.name, err);
	if (result == 0)
		result = output_file_make(&file, path, replace, err);
	if (result == 0)
		result = output_hand_over(path, file.fd, err);
	if (result < 0) {
		output_file_close(&file);
		return result;
	}
	*ret_file = file;
	return 0;
}

int output_file_publish(struct output_file *file, struct err *err)
{
	if (file->temporary[0] &&
	    renameat(file->folder, file->temporary, file->folder, file->name) < 0)
		return err_errno(err, -errno, "can't write %s", file->name);
	file->published = true;
	return 0;
}

void output_file_close(struct output_file *file)
{
	if (file->fd >= 0 && !file->published)
		unlinkat(file->folder, file->temporary[0] ? file->temporary : file->name, 0);
	cleanup_close(&file->fd);
	cleanup_close(&file->folder);
	*file = (struct output_file){.fd = -1, .folder = -1};
}

/* ---- writing ---- */

static int output_write_fd(struct output *output, const u8 *data, size_t size_bytes)
{
	while (size_bytes && !output->code) {
		ssize_t written = write(output->fd, data, size_bytes);

		if (written >= 0) {
			data += written;
			size_bytes -= (size_t)written;
		} else if (errno == EAGAIN) {
			struct pollfd pollfd = {.fd = output->fd, .events = POLLOUT};

			poll(&pollfd, 1, -1);
		} else if (errno != EINTR) {
			output->code = -errno;
		}
	}
	return output->code;
}

static int output_flush(struct output *output)
{
	size_t used = output->used;

	output->used = 0;
	return output_write_fd(output, output->buffer, used);
}

/* flush: Z_NO_FLUSH while data comes, Z_FINISH for the end. */
static int output_deflate(struct output *output, const void *data, size_t size_bytes, int flush)
{
	z_stream *stream = &output->stream;
	int result = Z_OK;

	stream->next_in = (Bytef *)data;
	do {
		uInt piece = size_bytes > UINT_MAX ? UINT_MAX : (uInt)size_bytes;

		stream->avail_in = piece;
		result = deflate(stream, flush);
		size_bytes -= piece - stream->avail_in;
		if (stream->avail_out == 0 || result == Z_STREAM_END) {
			output->used = sizeof(output->buffer) - stream->avail_out;
			output_flush(output);
			stream->next_out = output->buffer;
			stream->avail_out = sizeof(output->buffer);
		}
		if (result == Z_STREAM_ERROR && !output->code)
			output->code = -EIO;
	} while (!output->code && (size_bytes || (flush == Z_FINISH && result != Z_STREAM_END)));
	return output->code;
}

int output_write(struct output *output, const void *data, size_t size_bytes)
{
	if (output->code)
		return output->code;
	if (output->compressed)
		return size_bytes ? output_deflate(output, data, size_bytes, Z_NO_FLUSH) : 0;
	if (size_bytes > sizeof(output->buffer) - output->used && output_flush(output) < 0)
		return output->code;
	if (size_bytes >= sizeof(output->buffer))
		return output_write_fd(output, data, size_bytes);
	if (size_bytes)
		memcpy(output->buffer + output->used, data, size_bytes);
	output->used += size_bytes;
	return 0;
}

/* ---- the end ---- */

int output_commit(struct output *output, struct err *err)
{
	int result;

	if (!output->code && output->compressed)
		output_deflate(output, NULL, 0, Z_FINISH);
	if (!output->code)
		output_flush(output);
	/* Network file systems report a full disk at close. */
	if (close(take_fd(&output->fd)) < 0 && errno != EINTR && !output->code)
		output->code = -errno;
	if (!output->code && output->temporary[0]) {
		if (renameat(output->folder, output->temporary, output->folder, output->name) < 0)
			output->code = -errno;
		else
			output->temporary[0] = '\0';
	}
	result = output->code;
	if (result < 0)
		err_errno(err, result, "can't write %s", output->path);
	output_discard(output);
	return result;
}

struct output *output_discard(struct output *output)
{
	if (!output)
		return NULL;
	if (output->compressed)
		deflateEnd(&output->stream);
	cleanup_close(&output->fd);
	if (output->temporary[0])
		unlinkat(output->folder, output->temporary, 0);
	cleanup_close(&output->folder);
	free(output->path);
	free(output);
	return NULL;
}
