/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "import/nsys.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/temporary_file.h"
#include "import/nsys_facts.h"
#include "import/nsys_ids.h"
#include "import/nsys_rows.h"
#include "import/nsys_stacks.h"
#include "store/capture_writer.h"

#define BATCH_BYTES (8U << 20)

static int flush(struct nsys_import *import, struct capture_writer *writer, struct err *err)
{
	int result = capture_writer_append(writer, import->batch, err);

	batch_clear(import->batch);
	return result;
}

static int import_table(struct nsys_import *import, const struct nsys_import_table *table,
			struct capture_writer *writer, struct record_header *record,
			struct err *err)
{
	struct nsys_rows *rows = NULL;
	int result = nsys_rows_open(import, table, &rows, err);

	while (result == 0) {
		result = nsys_rows_next(import, rows, record, err);
		if (result <= 0)
			break;
		result = batch_add(import->batch, record) < 0 ? nsys_no_memory(err) : 0;
		if (result == 0 && batch_size_bytes(import->batch) > BATCH_BYTES)
			result = flush(import, writer, err);
	}
	nsys_rows_free(rows);
	return result;
}

/* Whether another table, which has rows, has all of its rows. */
static bool is_said_again(const struct nsys_import *import, const struct nsys_import_table *table)
{
	return !strcmp(table->name, "PROFILER_OVERHEAD") &&
	       nsys_database_has_rows(&import->database, "CUPTI_ACTIVITY_KIND_OVERHEAD");
}

/* Of events: facts are looked up where they are needed. */
static int import_tables(struct nsys_import *import, struct capture_writer *writer,
			 struct record_header *record, struct err *err)
{
	size_t count;
	const struct nsys_import_table *tables = nsys_import_tables(&count);
	int result = 0;

	for (size_t i = 0; i < count && result == 0; i++) {
		if (!nsys_database_has_table(&import->database, tables[i].name))
			continue;
		if (schema_kind(tables[i].kind)->shape == SHAPE_FACT ||
		    is_said_again(import, &tables[i]))
			continue;
		result = import_table(import, &tables[i], writer, record, err);
	}
	return result;
}

static int open_gpus(struct nsys_import *import, struct err *err)
{
	size_t count;
	const struct nsys_import_table *tables = nsys_import_tables(&count);

	for (size_t i = 0; i < count; i++)
		if (tables[i].kind == KIND_device &&
		    nsys_database_has_table(&import->database, tables[i].name))
			return nsys_rows_open(import, &tables[i], &import->gpus, err);
	return 0;
}

static int check_tables(const struct nsys_import *import, struct err *err)
{
	if (!nsys_database_has_table(&import->database, "StringIds"))
		return err_set(err, -EINVAL,
			       "it is an SQLite database, but no export of Nsight Systems: it has "
			       "no table StringIds");
	for (size_t i = 0; i < 2; i++) {
		const char *column = i ? "value" : "id";

		if (!nsys_database_has_column(&import->database, "StringIds", column))
			return err_set(err, -EINVAL, "table StringIds has no column %s", column);
	}
	return 0;
}

static int import_all(struct nsys_import *import, struct capture_writer *writer, struct err *err)
{
	_cleanup_free_ struct record_header *record = malloc(RECORD_SIZE_MAX_BYTES);
	int result = record ? check_tables(import, err) : nsys_no_memory(err);

	if (result == 0)
		result = nsys_ids_open(import, err);
	if (result == 0)
		result = nsys_stacks_open(import, err);
	if (result == 0)
		result = open_gpus(import, err);
	if (result == 0)
		result = nsys_facts_before(import, err);
	if (result == 0)
		result = import_tables(import, writer, record, err);
	if (result == 0)
		result = nsys_facts_after(import, err);
	if (result == 0)
		result = flush(import, writer, err);
	return result == 0 ? capture_writer_finish(writer, err) : result;
}

static void import_clean(struct nsys_import *import)
{
	nsys_rows_free(import->gpus);
	nsys_stacks_close(import);
	nsys_ids_close(import);
	nsys_database_close(&import->database);
	text_ids_free(&import->tool);
	batch_free(import->batch);
}

int import_nsys(int fd, int *ret_capture_fd, struct err *err)
{
	struct nsys_import import _cleanup_(import_clean) = {.tool.source = RECORD_SOURCE_TOOL,
							     .first_start_ns = NSYS_TIME_MAX_NS,
							     .last_start_ns = -NSYS_START_NS,
							     .last_end_ns = -NSYS_START_NS};
	struct capture_writer *writer = NULL;
	_cleanup_close_ int capture_fd = -1;
	int result = temporary_file_open(&capture_fd, err);

	if (result == 0)
		result = nsys_database_open(fd, &import.database, err);
	if (result == 0 && batch_create(&import.batch) < 0)
		result = nsys_no_memory(err);
	if (result == 0)
		result = capture_writer_create(capture_fd, &writer, err);
	if (result == 0)
		result = import_all(&import, writer, err);
	capture_writer_free(writer);
	if (result == 0)
		*ret_capture_fd = take_fd(&capture_fd);
	return result;
}
