/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/debug_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cache_folder.h"
#include "base/clock.h"
#include "base/temporary_file.h"
#include "resolve/debug_server.h"
#include "resolve/debug_store.h"

static bool is_same(const struct answers_wish *a, const struct answers_wish *b)
{
	return a->build_id_bytes == b->build_id_bytes &&
	       !memcmp(a->build_id, b->build_id, a->build_id_bytes);
}

static int most_first(const void *a, const void *b)
{
	const struct debug_file *left = a, *right = b;

	return (left->address_count < right->address_count) -
	       (left->address_count > right->address_count);
}

static struct debug_file *find(struct debug_file *items, size_t count,
			       const struct answers_wish *wish)
{
	for (size_t i = 0; i < count; i++)
		if (is_same(items[i].wish, wish))
			return &items[i];
	return NULL;
}

/* Those that name most, of each build id one. */
static int choose(const struct answers_wish *wishes, size_t count, struct debug_files *files)
{
	struct debug_file *items = calloc(count + 1, sizeof(*items));
	size_t found = 0;

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct debug_file *item = find(items, found, &wishes[i]);

		if (!item) {
			item = &items[found++];
			*item = (struct debug_file){.wish = &wishes[i], .fd = -1};
		}
		item->address_count += wishes[i].address_count;
	}
	qsort(items, found, sizeof(*items), most_first);
	files->count = found < DEBUG_FILES_MAX ? found : DEBUG_FILES_MAX;
	memcpy(files->items, items, files->count * sizeof(*items));
	free(items);
	return 0;
}

static void find_kept(struct debug_files *files, struct resolve_debug_status *status)
{
	for (size_t i = 0; i < files->count; i++) {
		struct debug_file *file = &files->items[i];
		int result = debug_store_find(files->folder_fd, file->wish->build_id,
					      file->wish->build_id_bytes, &file->fd);

		file->is_unknown = result == -ENODATA;
		status->kept_count += !result;
		status->unknown_count += file->is_unknown;
	}
}

static int make_empty(const struct debug_files *files, int *ret_fd, struct err *err)
{
	if (files->folder_fd >= 0 && !debug_store_make(files->folder_fd, ret_fd))
		return 0;
	return temporary_file_open(ret_fd, err);
}

static void take(struct debug_files *files, struct debug_file *file, const struct debug_wish *wish,
		 struct resolve_debug_status *status)
{
	const struct answers_wish *asked = file->wish;

	file->fd = wish->fd;
	file->is_fetched = wish->answer == DEBUG_FOUND;
	switch (wish->answer) {
	case DEBUG_FOUND:
		status->fetched_count++;
		status->fetched_bytes += wish->bytes;
		debug_store_keep(files->folder_fd, asked->build_id, asked->build_id_bytes,
				 wish->fd);
		return;
	case DEBUG_UNKNOWN:
		status->unknown_count++;
		debug_store_note_unknown(files->folder_fd, asked->build_id, asked->build_id_bytes);
		break;
	case DEBUG_FAILED:
		status->failed_count++;
		status->error = wish->error;
		break;
	default:
		status->cut_count++;
	}
	close(file->fd);
	file->fd = -1;
}

static int ask(struct debug_files *files, const struct resolve_debug *config,
	       struct resolve_debug_status *status, struct err *err)
{
	const struct debug_server_limits limits = {config->time_ns, config->bytes};
	struct debug_wish wishes[DEBUG_FILES_MAX] = {0};
	struct debug_file *asked[DEBUG_FILES_MAX];
	size_t count = 0;
	int result = 0;

	for (size_t i = 0; i < files->count && !result; i++) {
		struct debug_file *file = &files->items[i];
		struct debug_wish *wish = &wishes[count];

		if (file->fd >= 0 || file->is_unknown)
			continue;
		memcpy(wish->build_id, file->wish->build_id, file->wish->build_id_bytes);
		wish->build_id_bytes = file->wish->build_id_bytes;
		result = make_empty(files, &wish->fd, err);
		if (!result)
			asked[count++] = file;
	}
	if (count && !result && config->on_ask)
		config->on_ask(count);
	if (count && !result)
		result = debug_server_ask(wishes, count, &limits, err);
	for (size_t i = 0; i < count; i++)
		take(files, asked[i], &wishes[i], status);
	return result;
}

int debug_files_get(const struct answers_wish *wishes, size_t count,
		    const struct resolve_debug *config, struct debug_files *ret_files,
		    struct resolve_debug_status *ret_status, struct err *err)
{
	u64 start_ns = clock_monotonic_ns();
	int result;

	*ret_files = (struct debug_files){.folder_fd = -1};
	result = choose(wishes, count, ret_files);
	if (result)
		return err_errno(err, result, "can't look for debug files");
	if (config->folder)
		(void)cache_folder_open(config->folder, &ret_files->folder_fd);
	find_kept(ret_files, ret_status);
	result = ask(ret_files, config, ret_status, err);
	ret_status->took_ns = clock_monotonic_ns() - start_ns;
	return result;
}

int debug_files_fd(const struct debug_files *files, const struct answers_wish *wish)
{
	for (size_t i = 0; i < files->count; i++)
		if (is_same(files->items[i].wish, wish))
			return files->items[i].fd;
	return -1;
}

void debug_files_forget(const struct debug_files *files, const struct answers_wish *wish)
{
	debug_store_note_unknown(files->folder_fd, wish->build_id, wish->build_id_bytes);
}

void debug_files_free(struct debug_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		if (files->items[i].fd >= 0)
			close(files->items[i].fd);
	if (files->folder_fd >= 0)
		close(files->folder_fd);
	*files = (struct debug_files){.folder_fd = -1};
}
