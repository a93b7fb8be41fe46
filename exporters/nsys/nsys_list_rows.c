/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/nsys/nsys_list_rows.h"

#include "exporters/nsys/database.h"
#include "exporters/nsys/nsys_values.h"

/* ---- domains and categories of NVTX ---- */

/* Readers find the name of a domain by process and number. */
static int write_domains(struct database *database, struct nsys_values *values,
			 sqlite3_stmt *statement, struct err *err)
{
	const struct nsys_list *list = &values->lists[NSYS_DOMAINS];
	int result = 0;

	for (size_t i = 0; i < list->count && result == 0; i++) {
		const struct nsys_item *domain = &list->items[i];

		result = database_insert(
			database, statement, err, "itii", (s64)NSYS_NVTX_DOMAIN, domain->name,
			(s64)nsys_global_tid(domain->pid, domain->tid), (s64)(i + 1));
	}
	return result;
}

static int write_categories(struct database *database, struct nsys_values *values,
			    sqlite3_stmt *statement, struct err *err)
{
	const struct nsys_list *list = &values->lists[NSYS_CATEGORIES];
	int result = 0;

	for (size_t i = 0; i < list->count && result == 0; i++) {
		const struct nsys_item *category = &list->items[i];

		result = database_insert(database, statement, err, "itiii", (s64)NSYS_NVTX_CATEGORY,
					 category->name,
					 (s64)nsys_global_tid(category->pid, category->tid),
					 (s64)category->domain, (s64)category->category);
	}
	return result;
}

static int write_nvtx(struct database *database, struct nsys_values *values, struct err *err)
{
	sqlite3_stmt *domains = NULL, *categories = NULL;
	int result;

	if (!values->lists[NSYS_DOMAINS].count && !values->lists[NSYS_CATEGORIES].count)
		return 0;
	result = database_prepare(database,
				  "INSERT INTO NVTX_EVENTS(start, eventType, text, globalTid, "
				  "domainId) VALUES (0, ?, ?, ?, ?);",
				  &domains, err);
	if (result == 0)
		result = database_prepare(
			database,
			"INSERT INTO NVTX_EVENTS(start, eventType, text, "
			"globalTid, domainId, category) VALUES (0, ?, ?, ?, ?, ?);",
			&categories, err);
	if (result == 0)
		result = write_domains(database, values, domains, err);
	if (result == 0)
		result = write_categories(database, values, categories, err);
	sqlite3_finalize(domains);
	sqlite3_finalize(categories);
	return result;
}

/* ---- call stacks ---- */

#define CUDA_COLUMNS "id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL, "
#define OSRT_COLUMNS CUDA_COLUMNS "kernelMode INTEGER, thumbCode INTEGER, "
#define LAST_COLUMNS "stackDepth INTEGER NOT NULL, PRIMARY KEY (id, stackDepth));"

static const struct stack_table {
	const char *create, *insert;
} stack_tables[NSYS_LISTS] = {
	[NSYS_CUDA_STACKS] = {"CREATE TABLE CUDA_CALLCHAINS (" CUDA_COLUMNS
			      "unresolved INTEGER, originalIP INTEGER, " LAST_COLUMNS,
			      "INSERT INTO CUDA_CALLCHAINS VALUES (?, ?, ?, ?, ?, ?);"},
	[NSYS_OSRT_STACKS] = {"CREATE TABLE OSRT_CALLCHAINS (" OSRT_COLUMNS
			      "unresolved INTEGER, specialEntry INTEGER, originalIP INTEGER, "
			      "unwindMethod INTEGER, " LAST_COLUMNS,
			      "INSERT INTO OSRT_CALLCHAINS(id, symbol, module, unresolved, "
			      "originalIP, stackDepth) VALUES (?, ?, ?, ?, ?, ?);"},
	[NSYS_SAMPLE_STACKS] = {"CREATE TABLE SAMPLING_CALLCHAINS (" OSRT_COLUMNS
				"unresolved INTEGER, specialEntry INTEGER, originalIP INTEGER, "
				"unwindMethod INTEGER, " LAST_COLUMNS,
				"INSERT INTO SAMPLING_CALLCHAINS(id, symbol, module, unresolved, "
				"originalIP, stackDepth) VALUES (?, ?, ?, ?, ?, ?);"},
};

/* As the stack has it: frames have an address of the call that they are in, which is the byte before the one it returns to. */
static u64 raw_address(const struct view_frame *frame, const struct view_frame *innermost)
{
	bool is_known = (frame->name[0] || frame->module[0]) && !frame->python;

	return frame->address +
	       (is_known && frame->address && frame->address != innermost->address);
}

/* A stack, innermost frame first. */
static int write_stack(struct database *database, struct nsys_values *values,
		       sqlite3_stmt *statement, const struct nsys_item *item, s64 id,
		       struct err *err)
{
	const struct view_frame *frames;
	const char *mark;
	size_t count = view_frames(values->view, item->pid, item->id, &frames, &mark);
	const struct view_frame cut = {.name = mark, .module = ""};
	int result = 0;

	for (size_t i = 0; i < count + !!mark && result == 0; i++) {
		const struct view_frame *frame = i < count ? &frames[i] : &cut;
		u64 module, symbol = nsys_values_frame(values, frame, &module);

		result = database_insert(database, statement, err, "iiiiii", id, (s64)symbol,
					 (s64)module, (s64)!frame->name[0],
					 (s64)raw_address(frame, frames), (s64)i);
	}
	return result;
}

static int write_stacks(struct database *database, struct nsys_values *values,
			enum nsys_list_type type, struct err *err)
{
	const struct nsys_list *list = &values->lists[type];
	sqlite3_stmt *statement = NULL;
	int result = 0;

	if (list->count)
		result = database_execute(database, stack_tables[type].create, err);
	if (list->count && result == 0)
		result = database_prepare(database, stack_tables[type].insert, &statement, err);
	for (size_t i = 0; i < list->count && result == 0; i++)
		result = write_stack(database, values, statement, &list->items[i], (s64)i + 1, err);
	sqlite3_finalize(statement);
	return result;
}

int nsys_lists_write(struct database *database, struct nsys_values *values, struct err *err)
{
	int result = write_nvtx(database, values, err);

	if (result == 0)
		result = write_stacks(database, values, NSYS_CUDA_STACKS, err);
	if (result == 0)
		result = write_stacks(database, values, NSYS_OSRT_STACKS, err);
	return result ? result : write_stacks(database, values, NSYS_SAMPLE_STACKS, err);
}
