/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/unwind_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "unwind/unwind_cache.h"

struct unwind_table {
	u32 file;
	int fd;
	const char *path;
	int map;		   /* -1: handed over */
	struct unwind_words words; /* those of the map */
	struct uncovered_code code;
	u64 version; /* counts up where rows of it are replaced */
};

static int make(struct unwind_tables *tables, const struct elf_unwind_rows *rows,
		struct unwind_table *table, struct err *err)
{
	struct unwind_words words;
	int result = unwind_words_make(rows, &tables->rules, &words);

	if (result)
		return err_errno(err, result, "no memory for an unwind table");
	table->words = words;
	table->map = bpf_source_make_unwind_file(&words, &table->words.items, err);
	free(words.items);
	return table->map < 0 ? table->map : 0;
}

static int read_rows(const struct unwind_tables *tables, const struct unwind_table *table,
		     struct elf_unwind_rows *ret_rows, struct err *err)
{
	struct elf_file *elf;
	int result = elf_file_open(table->fd, table->path, &elf, err);

	if (result)
		return result;
	result = unwind_cache_rows(tables->cache_fd, tables->reader, table->fd, elf, table->path,
				   ret_rows, NULL, err);
	elf_file_free(elf);
	return result;
}

int unwind_tables_read(struct unwind_tables *tables, u32 file, int fd, const char *path,
		       struct err *err)
{
	struct unwind_table table = {.file = file, .fd = fd, .path = path};
	struct elf_unwind_rows rows = {0};
	int unreadable = read_rows(tables, &table, &rows, err);
	int result;

	pthread_mutex_lock(&tables->lock);
	/* A table without rows is one that nobody waits for. */
	if (array_reserve(&tables->items, &tables->capacity, tables->count + 1))
		result = err_errno(err, -ENOMEM, "no memory for an unwind table");
	else
		result = make(tables, &rows, &table, err);
	if (!result)
		tables->items[tables->count++] = table;
	pthread_mutex_unlock(&tables->lock);
	elf_unwind_rows_free(&rows);
	return result ? result : unreadable;
}

static int put_rules(struct unwind_tables *tables, const struct bpf_source *source, struct err *err)
{
	size_t first = tables->rules_put, count = tables->rules.count;
	int result = 0;

	if (count > first)
		result = bpf_source_put_unwind_rules(source, &tables->rules.items[first], first,
						     count - first, err);
	if (!result)
		tables->rules_put = count;
	return result;
}

/* Rules go before the tables that name them. */
int unwind_tables_put(struct unwind_tables *tables, const struct bpf_source *source,
		      struct err *err)
{
	size_t first = tables->put, count = tables->count - first;
	_cleanup_free_ u32 *files = calloc(count + 1, sizeof(*files));
	_cleanup_free_ int *maps = calloc(count + 1, sizeof(*maps));
	int result = files && maps ? put_rules(tables, source, err)
				   : err_errno(err, -ENOMEM, "no memory for unwind tables");

	if (result)
		return result;
	for (size_t i = 0; i < count; i++) {
		files[i] = tables->items[first + i].file;
		maps[i] = tables->items[first + i].map;
	}
	result = bpf_source_put_unwind_files(source, files, maps, count, err);
	for (size_t i = first; i < tables->count; i++) {
		cleanup_close(&tables->items[i].map);
		tables->items[i].map = -1;
	}
	tables->put = tables->count;
	return result;
}

static struct unwind_table *table_find(const struct unwind_tables *tables, u32 file)
{
	for (size_t i = 0; i < tables->put; i++)
		if (tables->items[i].file == file)
			return &tables->items[i];
	return NULL;
}

int unwind_tables_mend(struct unwind_tables *tables, const struct bpf_source *source, u32 file,
		       u64 address, struct err *err)
{
	struct unwind_table *table = table_find(tables, file);
	struct unwind_patch patch = {0};
	struct elf_file *elf;
	int result;

	if (!table)
		return err_set(err, -ENOENT, "file %u has no unwind table", file);
	result = elf_file_open(table->fd, table->path, &elf, err);
	if (result)
		return result;
	pthread_mutex_lock(&tables->lock);
	result = uncovered_code_read(&table->code, elf, &table->words, address, &tables->rules,
				     &patch, err);
	elf_file_free(elf);
	if (!result)
		result = put_rules(tables, source, err);
	/* Some pages may be done where there is no room for all. */
	table->version += !result;
	if (!result && unwind_words_patch(&table->words, &patch))
		result = err_set(err, -ENOSPC, "%s: no room for more unwind rules", table->path);
	pthread_mutex_unlock(&tables->lock);
	if (!result)
		log_debug("%s: rules of %#llx to %#llx are told by the instructions, %zu of them",
			  table->path, (unsigned long long)patch.start,
			  (unsigned long long)patch.end, patch.count);
	free(patch.rows);
	return result;
}

static void share(const struct unwind_tables *tables, u32 file, struct agent_stacks *stacks)
{
	for (size_t i = 0; i < tables->count; i++) {
		const struct unwind_table *table = &tables->items[i];

		if (table->file == file &&
		    agent_stacks_put_file(stacks, file, table->version, &table->words))
			log_debug("%s: no room for its unwind table in the target, stacks of "
				  "launches end there",
				  table->path);
	}
}

bool unwind_tables_share(struct unwind_tables *tables, const struct unwind_mapping *mappings,
			 size_t count, struct agent_stacks *stacks, u64 timeout_ns)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (time_t)((until.tv_nsec + timeout_ns) / NS_PER_SECOND);
	until.tv_nsec = (long)((until.tv_nsec + timeout_ns) % NS_PER_SECOND);
	if (pthread_mutex_timedlock(&tables->lock, &until))
		return false;
	agent_stacks_put_rules(stacks, &tables->rules);
	for (size_t i = 0; i < count; i++)
		if (mappings[i].file != UNWIND_NO_TABLE &&
		    (!i || mappings[i - 1].file != mappings[i].file))
			share(tables, (u32)mappings[i].file, stacks);
	pthread_mutex_unlock(&tables->lock);
	return true;
}

void unwind_tables_free(struct unwind_tables *tables)
{
	for (size_t i = 0; i < tables->count; i++) {
		struct unwind_table *table = &tables->items[i];

		cleanup_close(&table->map);
		munmap(table->words.items, table->words.count * sizeof(u32));
		uncovered_code_free(&table->code);
	}
	free(tables->items);
	unwind_rules_free(&tables->rules);
	*tables = (struct unwind_tables){0};
}
