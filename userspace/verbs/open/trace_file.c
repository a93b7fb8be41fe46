/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verbs/open/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "store/capture_format.h"

#define CHUNK_BYTES (64 * 1024)
#define SEARCH_BYTES \
	(256ULL << 20) /* how far a JSON object is looked through for its list of events */
#define WIRE_VARINT 0
#define WIRE_64	    1
#define WIRE_BYTES  2
#define WIRE_32	    5

static void close_gzip(gzFile *file)
{
	if (*file)
		gzclose(*file);
}

/* ---- packets of Perfetto ---- */

static const u8 *read_varint(const u8 *at, const u8 *end, u64 *ret_value)
{
	u64 value = 0;

	for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
		value |= (u64)(*at & 0x7f) << shift;
		if (!(*at++ & 0x80)) {
			*ret_value = value;
			return at;
		}
	}
	return NULL;
}

/* Behind one field; NULL: it is none, or goes on behind end. */
static const u8 *skip_field(const u8 *at, const u8 *end, u64 *ret_tag)
{
	u64 tag, length = 0;

	at = read_varint(at, end, &tag);
	if (!at || !(tag >> 3))
		return NULL;
	*ret_tag = tag;
	switch (tag & 7) {
	case WIRE_VARINT:
		return read_varint(at, end, &length);
	case WIRE_64:
		length = 8;
		break;
	case WIRE_32:
		length = 4;
		break;
	case WIRE_BYTES:
		at = read_varint(at, end, &length);
		break;
	default:
		return NULL;
	}
	return at && length <= (u64)(end - at) ? at + length : NULL;
}

/* The first packet: a field of the trace, in which fields stand one behind the other. A profile of XProf begins like one, but has a number where
 * a packet has a message (1), or a name (2). */
static bool is_perfetto(const u8 *data, size_t bytes)
{
	const u8 *end = data + bytes, *at;
	u64 tag = 0, length = 0;

	if (!bytes || *data != (1 << 3 | WIRE_BYTES))
		return false;
	at = read_varint(data + 1, end, &length);
	if (!at)
		return false;
	if (length < (u64)(end - at))
		end = at + length;
	else if (length > (u64)(end - at) && bytes < CHUNK_BYTES)
		return false; /* there is no more of the file */
	for (unsigned fields = 0; at < end; fields++) {
		at = skip_field(at, end, &tag);
		if (!at)
			return fields && end == data + bytes; /* cut by what was read */
		if (tag == (1 << 3 | WIRE_VARINT) || tag == (2 << 3 | WIRE_BYTES))
			return false;
	}
	return true;
}

/* ---- JSON ---- */

/* A list of events, or an object that has one, which may stand behind much else. */
static bool is_chrome(gzFile file, u8 *data, size_t bytes)
{
	static const char key[] = "raceEvents\""; /* "traceEvents", "systemTraceEvents" */
	size_t keep = sizeof(key) - 2, blanks = strspn((char *)data, " \t\r\n");
	u64 seen = 0;

	if (data[blanks] == '[')
		return memmem(data, bytes, "\"ph\"", 4) ||
		       data[blanks + 1 + strspn((char *)data + blanks + 1, " \t\r\n")] == ']';
	if (data[blanks] != '{')
		return false;
	while (!memmem(data, bytes, key, sizeof(key) - 1)) {
		int more;

		keep = keep < bytes ? keep : bytes;
		memmove(data, data + bytes - keep, keep);
		more = gzread(file, data + keep, CHUNK_BYTES - keep);
		if (more <= 0 || (seen += more) > SEARCH_BYTES)
			return false;
		bytes = keep + more;
	}
	return true;
}

/* ---- what else it may be ---- */

static int refuse(const char *path, const u8 *data, size_t bytes, struct err *err)
{
	size_t length = strlen(path);
	static const char profile[] = ".xplane.pb";

	if (bytes >= sizeof(CAPTURE_MAGIC) - 1 &&
	    !memcmp(data, CAPTURE_MAGIC, sizeof(CAPTURE_MAGIC) - 1))
		return err_set(err, -EINVAL,
			       "%s is a capture: gpuprobe export %s -o FILE.pftrace.gz makes a "
			       "trace of it, which can be opened",
			       path, path);
	if (length >= sizeof(profile) - 1 && !strcmp(path + length - sizeof(profile) + 1, profile))
		return err_set(err, -EINVAL,
			       "%s is a profile of XProf, which opens folders: give the one that "
			       "has it in plugins/profile/RUN/",
			       path);
	return err_set(err, -EINVAL,
		       "%s is no trace: neither Perfetto's own format (.pftrace) nor Chrome's "
		       "(.json), also with .gz",
		       path);
}

static int check_content(const char *path, int fd, struct err *err)
{
	_cleanup_free_ u8 *data = calloc(1, CHUNK_BYTES + 2); /* ends with zeros, as a string */
	_cleanup_(close_gzip) gzFile file = NULL;
	int copy = dup(fd), bytes;

	if (copy >= 0 && !(file = gzdopen(copy, "rb")))
		close(copy);
	if (!data || !file)
		return err_errno(err, -ENOMEM, "can't read %s", path);
	bytes = gzread(file, data, CHUNK_BYTES);
	if (bytes < 0)
		return err_set(err, -EINVAL, "%s is no trace: it is broken gzip", path);
	if (is_perfetto(data, bytes) || is_chrome(file, data, bytes))
		return 0;
	/* It was read over. */
	return refuse(path, data, bytes, err);
}

int trace_file_open(const char *path, int *ret_fd, u64 *ret_bytes, struct err *err)
{
	struct stat status;
	_cleanup_close_ int fd = file_open_plain(AT_FDCWD, path, &status);
	int result;

	if (fd == -ENOEXEC)
		return err_set(err, -EINVAL, "%s is no trace: it is no plain file", path);
	if (fd < 0)
		return err_errno(err, fd, "can't open %s", path);
	result = check_content(path, fd, err);
	if (result)
		return result;
	*ret_fd = take_fd(&fd);
	*ret_bytes = status.st_size;
	return 0;
}

bool trace_folder_is(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISDIR(status.st_mode);
}

int trace_folder_check(const char *path, struct err *err)
{
	_cleanup_close_ int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char pattern[64];
	glob_t found = {0};
	int result;

	if (folder < 0)
		return err_errno(err, -errno, "can't open %s", path);
	/* Its name may have what means something to glob(). */
	snprintf(pattern, sizeof(pattern), "/proc/self/fd/%d/plugins/profile/*/*.xplane.pb",
		 folder);
	result = glob(pattern, GLOB_NOSORT, NULL, &found);
	globfree(&found);
	if (result)
		return err_set(err, -EINVAL,
			       "%s has no profile of XProf (plugins/profile/RUN/NAME.xplane.pb): "
			       "gpuprobe export CAPTURE -o %s/ writes one",
			       path, path);
	return 0;
}
