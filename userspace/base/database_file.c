/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/database_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As SQLite knows it. */
struct handle {
	sqlite3_file base;
	struct database_file *file;
};

static struct database_file *file_of(sqlite3_file *base)
{
	return ((struct handle *)base)->file;
}

static int failed(struct database_file *file, int code)
{
	if (!file->error)
		file->error = errno ? -errno : -EIO;
	return code;
}

static int file_close(sqlite3_file *base)
{
	return SQLITE_OK;
}

static int file_read(sqlite3_file *base, void *buffer, int size_bytes, sqlite3_int64 offset)
{
	struct database_file *file = file_of(base);
	int done = 0;

	while (done < size_bytes) {
		ssize_t got =
			pread(file->fd, (char *)buffer + done, size_bytes - done, offset + done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return failed(file, SQLITE_IOERR_READ);
		if (!got)
			break;
		done += got;
	}
	memset((char *)buffer + done, 0, size_bytes - done);
	return done == size_bytes ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int file_write(sqlite3_file *base, const void *buffer, int size_bytes, sqlite3_int64 offset)
{
	struct database_file *file = file_of(base);
	int done = 0;

	while (done < size_bytes) {
		ssize_t put = pwrite(file->fd, (const char *)buffer + done, size_bytes - done,
				     offset + done);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return failed(file, errno == ENOSPC ? SQLITE_FULL : SQLITE_IOERR_WRITE);
		done += put;
	}
	return SQLITE_OK;
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size_bytes)
{
	struct database_file *file = file_of(base);

	return ftruncate(file->fd, size_bytes) < 0 ? failed(file, SQLITE_IOERR_TRUNCATE)
						   : SQLITE_OK;
}

static int file_size(sqlite3_file *base, sqlite3_int64 *ret_size_bytes)
{
	struct stat status;

	if (fstat(file_of(base)->fd, &status) < 0)
		return failed(file_of(base), SQLITE_IOERR_FSTAT);
	*ret_size_bytes = status.st_size;
	return SQLITE_OK;
}

/* base/output.c makes it safe when it is complete. */
static int file_sync(sqlite3_file *base, int flags)
{
	return SQLITE_OK;
}

/* Nobody else has it. */
static int file_lock(sqlite3_file *base, int lock)
{
	return SQLITE_OK;
}

static int file_is_reserved(sqlite3_file *base, int *ret_reserved)
{
	*ret_reserved = 0;
	return SQLITE_OK;
}

static int file_control(sqlite3_file *base, int operation, void *argument)
{
	return SQLITE_NOTFOUND;
}

static int file_sector_size(sqlite3_file *base)
{
	return 4096;
}

/* What does not change is neither locked nor searched for a log. */
static int file_characteristics(sqlite3_file *base)
{
	return file_of(base)->read_only ? SQLITE_IOCAP_IMMUTABLE : 0;
}

static const sqlite3_io_methods file_methods = {
	.iVersion = 1,
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_size,
	.xLock = file_lock,
	.xUnlock = file_lock,
	.xCheckReservedLock = file_is_reserved,
	.xFileControl = file_control,
	.xSectorSize = file_sector_size,
	.xDeviceCharacteristics = file_characteristics,
};

/* The database itself, and nothing beside it. */
static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags,
		     int *ret_flags)
{
	struct handle *handle = (struct handle *)base;

	base->pMethods = NULL;
	if (!(flags & SQLITE_OPEN_MAIN_DB))
		return SQLITE_CANTOPEN;
	base->pMethods = &file_methods;
	handle->file = vfs->pAppData;
	if (ret_flags)
		*ret_flags = flags;
	return SQLITE_OK;
}

static int delete_file(sqlite3_vfs *vfs, const char *name, int sync)
{
	return SQLITE_OK;
}

static int access_file(sqlite3_vfs *vfs, const char *name, int flags, int *ret_there)
{
	*ret_there = 0;
	return SQLITE_OK;
}

static int full_path(sqlite3_vfs *vfs, const char *name, int size_bytes, char *ret_name)
{
	snprintf(ret_name, size_bytes, "%s", name);
	return SQLITE_OK;
}

int database_file_open(struct database_file *file, bool read_only, sqlite3 **ret_database)
{
	int flags = read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
	const sqlite3_vfs *usual = sqlite3_vfs_find(NULL);
	int result;

	*ret_database = NULL;
	if (!usual)
		return SQLITE_ERROR;
	file->read_only = read_only;
	snprintf(file->name, sizeof(file->name), "gpuprobe %p", (void *)file);
	file->vfs = *usual; /* its clock and the like */
	file->vfs.iVersion = 1;
	file->vfs.szOsFile = sizeof(struct handle);
	file->vfs.pNext = NULL;
	file->vfs.zName = file->name;
	file->vfs.pAppData = file;
	file->vfs.xOpen = open_file;
	file->vfs.xDelete = delete_file;
	file->vfs.xAccess = access_file;
	file->vfs.xFullPathname = full_path;
	result = sqlite3_vfs_register(&file->vfs, 0);
	if (result == SQLITE_OK)
		result = sqlite3_open_v2("database", ret_database, flags | SQLITE_OPEN_NOMUTEX,
					 file->name);
	return result;
}

void database_file_close(struct database_file *file)
{
	sqlite3_vfs_unregister(&file->vfs);
}
