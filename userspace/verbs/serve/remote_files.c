/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verbs/serve/remote_files.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/temporary_file.h"

#define SUFFIX ".xplane.pb"

int remote_folder_make(char **ret_folder, struct err *err)
{
	return temporary_folder_make("gpuprobe-serve", ret_folder, err);
}

/* In the order of names. */
static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static FTS *walk(const char *folder)
{
	char *const paths[] = {(char *)folder, NULL};

	return fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
}

void remote_folder_remove(const char *folder)
{
	FTS *fts = walk(folder);
	const FTSENT *entry;

	while (fts && (entry = fts_read(fts)))
		if (entry->fts_info == FTS_DP)
			rmdir(entry->fts_path);
		else if (entry->fts_info != FTS_D)
			unlink(entry->fts_path);
	if (fts)
		fts_close(fts);
}

static bool is_space(const FTSENT *entry)
{
	size_t length = strlen(SUFFIX);

	return entry->fts_info == FTS_F && entry->fts_namelen > length &&
	       !strcmp(entry->fts_name + entry->fts_namelen - length, SUFFIX);
}

/* Of several, each is named HOST_PID.xplane.pb. */
static const char *tool_name_of(const char *name, bool several)
{
	const char *last = strrchr(name, '_');

	return several && last ? last + 1 : name + strlen(name) - strlen(SUFFIX) + 1;
}

static int add_file(struct remote_files *files, size_t *capacity, const FTSENT *entry)
{
	struct remote_file file = {.fd = -1};
	struct stat status;
	int result = array_reserve(&files->items, capacity, files->count + 1);

	if (result)
		return result;
	file.fd = open(entry->fts_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (file.fd < 0)
		return -errno;
	file.tool_name = strdup(entry->fts_name);
	if (!file.tool_name || fstat(file.fd, &status) < 0) {
		result = file.tool_name ? -errno : -ENOMEM;
		close(file.fd);
		free(file.tool_name);
		return result;
	}
	file.bytes = status.st_size;
	files->items[files->count++] = file;
	return 0;
}

int remote_files_open(const char *folder, struct remote_files *ret_files, struct err *err)
{
	struct remote_files files = {0};
	FTS *fts = walk(folder);
	const FTSENT *entry;
	size_t capacity = 0;
	int result = fts ? 0 : -errno;

	while (!result && (entry = fts_read(fts)))
		if (is_space(entry))
			result = add_file(&files, &capacity, entry);
	if (fts)
		fts_close(fts);
	if (!result && !files.count)
		result = -ENOENT;
	for (size_t i = 0; i < files.count; i++) {
		char *name = files.items[i].tool_name;
		const char *shown = tool_name_of(name, files.count > 1);

		memmove(name, shown, strlen(shown) + 1);
	}
	if (result) {
		remote_files_free(&files);
		return err_errno(err, result, "can't read what was exported");
	}
	*ret_files = files;
	return 0;
}

void remote_files_free(struct remote_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		if (files->items[i].fd >= 0)
			close(files->items[i].fd);
		free(files->items[i].tool_name);
	}
	free(files->items);
	memset(files, 0, sizeof(*files));
}
