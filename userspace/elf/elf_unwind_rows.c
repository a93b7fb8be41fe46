/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_unwind_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/elf.h"
#include "elf/elf_cies.h"
#include "elf/elf_go_rows.h"
#include "elf/elf_unwind_rule.h"

/* Between functions that stand one behind the other compilers leave up to this much. */
#define PADDING_MAX_BYTES 15
/* Code that is farther from the file's first has no rows. No linker puts it there, but a file may say so. */
#define SPAN_MAX_BYTES (1ULL << 32)
/* 256 MB: 28 times libtorch_cpu's. */
#define ROWS_MAX	(64U << 20)
#define DIGIT_BITS	11
#define DIGITS		(1U << DIGIT_BITS)
#define HASH_MULTIPLIER 0x9e3779b97f4a7c15ULL

struct function {
	u32 start; /* from the table's first page */
	u32 entry; /* offset of the FDE, or number in Go's table */
	u32 cie : 30, source : 2;
};

/* Where entries are from. Go's linker writes a .debug_frame too, which tells nothing of rbp nor of where stacks end. */
enum { EH_FRAME, GO_TABLE, DEBUG_FRAME, SOURCES };
struct source {
	struct elf_cfi cfi;
	struct elf_cies cies;
};

struct builder {
	struct elf_unwind_rows *rows;
	struct source sources[SOURCES]; /* GO_TABLE's is empty */
	struct elf_go_rows go;
	u64 start, end; /* all that has pages */
	struct function *functions;
	size_t function_count, function_capacity;
	size_t row_capacity, rule_capacity;
	u32 *slots; /* 1 + number of a rule */
	u32 slot_count;
	u32 pages_begun;
	u32 rule; /* in force behind the last row */
	/* Of the function whose rows are made. */
	const struct elf_cfi *cfi;
	u64 limit;   /* what is behind it is another's */
	u64 reached; /* up to here it has rows */
	bool signal_frame;
};

/* ---- rules ---- */

static u32 rule_hash(const struct unwind_rule *rule)
{
	u64 low;
	u32 high;

	memcpy(&low, rule, sizeof(low));
	memcpy(&high, (const u8 *)rule + sizeof(low), sizeof(high));
	return (u32)(((low ^ (u64)high << 17 ^ high) * HASH_MULTIPLIER) >> 32);
}

static u32 *slot_find(const struct builder *builder, const struct unwind_rule *rule)
{
	u32 at = rule_hash(rule) & (builder->slot_count - 1);

	while (builder->slots[at] &&
	       memcmp(&builder->rows->rules[builder->slots[at] - 1], rule, sizeof(*rule)) != 0)
		at = (at + 1) & (builder->slot_count - 1);
	return &builder->slots[at];
}

static int slots_grow(struct builder *builder)
{
	u32 count = builder->slot_count ? builder->slot_count * 2 : 1024;
	u32 *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(builder->slots);
	builder->slots = slots;
	builder->slot_count = count;
	for (u32 i = 0; i < builder->rows->rule_count; i++)
		*slot_find(builder, &builder->rows->rules[i]) = i + 1;
	return 0;
}

/* The number of a rule: what is new gets one, as long as there are some. */
static int rule_number(struct builder *builder, const struct unwind_rule *rule, u32 *ret_number)
{
	static const struct unwind_rule unsupported = {.cfa = UNWIND_CFA_UNSUPPORTED};
	struct elf_unwind_rows *rows = builder->rows;
	u32 *slot;

	if (rows->rule_count * 2 >= builder->slot_count && slots_grow(builder))
		return -ENOMEM;
	slot = slot_find(builder, rule);
	if (!*slot && rows->rule_count >= UNWIND_RULES_MAX - 1) {
		rule = &unsupported;
		slot = slot_find(builder, rule);
	}
	if (!*slot) {
		if (array_reserve(&rows->rules, &builder->rule_capacity, rows->rule_count + 1))
			return -ENOMEM;
		rows->rules[rows->rule_count++] = *rule;
		*slot = rows->rule_count;
	}
	*ret_number = *slot - 1;
	return 0;
}

/* ---- rows ---- */

static int row_append(struct builder *builder, u64 address, u32 rule)
{
	struct elf_unwind_rows *rows = builder->rows;

	if (rows->row_count == ROWS_MAX)
		return -EFBIG;
	if (array_reserve(&rows->rows, &builder->row_capacity, rows->row_count + 1))
		return -ENOMEM;
	rows->rows[rows->row_count++] = UNWIND_ROW(address, rule);
	return 0;
}

/* Each page up to this one gets its first row: what is in force at its start. */
static int pages_begin(struct builder *builder, u32 last_page)
{
	int result = 0;

	while (!result && builder->pages_begun <= last_page) {
		builder->rows->page_first[builder->pages_begun++] = builder->rows->row_count;
		result = row_append(builder, 0, builder->rule);
	}
	return result;
}

/* From address on, which lies at or behind the last one, this rule is in force. */
static int row_add(struct builder *builder, u64 address, u32 rule)
{
	struct elf_unwind_rows *rows = builder->rows;
	u32 *last;
	int result;

	if (address >= builder->end || rule == builder->rule)
		return 0;
	result = pages_begin(builder, (u32)((address - builder->start) / UNWIND_PAGE_BYTES));
	if (result)
		return result;
	builder->rule = rule;
	last = &rows->rows[rows->row_count - 1];
	if (UNWIND_ROW_ADDRESS(*last) != UNWIND_ROW_ADDRESS(address))
		return row_append(builder, address, rule);
	/* The same address once more; it may be what was in force before. */
	*last = UNWIND_ROW(address, rule);
	if (UNWIND_ROW_ADDRESS(address) && UNWIND_ROW_RULE(last[-1]) == rule)
		rows->row_count--;
	return 0;
}

static int visit_rule(void *data, u64 address, const struct unwind_rule *rule)
{
	struct builder *builder = data;
	u32 number;
	int result;

	if (address >= builder->limit)
		return 0;
	/* What code says of itself may go back. */
	if (address < builder->reached)
		address = builder->reached;
	builder->reached = address;
	result = rule_number(builder, rule, &number);
	return result ? result : row_add(builder, address, number);
}

static int visit_state(void *data, u64 address, const struct elf_cfi_state *state)
{
	struct builder *builder = data;
	struct unwind_rule rule;

	elf_unwind_rule(builder->cfi, state, builder->signal_frame, &rule);
	return visit_rule(builder, address, &rule);
}

/* ---- functions ---- */

static int function_put(struct builder *builder, u64 start, const struct function *function)
{
	if (array_reserve(&builder->functions, &builder->function_capacity,
			  builder->function_count + 1))
		return -ENOMEM;
	builder->functions[builder->function_count] = *function;
	builder->functions[builder->function_count++].start =
		start < builder->start ? 0 : (u32)(start - builder->start);
	return 0;
}

static int function_add(struct builder *builder, u32 number, const struct elf_cfi_entry *entry)
{
	const struct source *source = &builder->sources[number];
	const struct elf_cie_state *state = elf_cies_find(&source->cies, entry->cie_offset);
	struct elf_fde fde;

	if (!state || !elf_fde_parse(&source->cfi, &state->cie, entry, &fde) ||
	    fde.end <= builder->start || fde.start >= builder->end)
		return 0;
	/* Of code that the linker has left out debuggers are told that it is at 0. */
	if (number == DEBUG_FRAME && !fde.start)
		return 0;
	return function_put(
		builder, fde.start,
		&(struct function){.entry = entry->offset,
				   .cie = (u32)(state - source->cies.items) & (INT32_MAX >> 1),
				   .source = number & 3});
}

static int go_functions_read(struct builder *builder)
{
	u64 count = elf_go_rows_count(&builder->go), start, end, last = 0;
	int result = 0;

	for (u64 i = 0; !result && i < count; i++) {
		/* They are in order, but for the last, which is none of the table's: each is read once, however long they say to be. */
		if (!elf_go_rows_extent(&builder->go, i, &start, &end) || end <= builder->start ||
		    start >= builder->end || (start < last && i + 1 < count))
			continue;
		last = start;
		result = function_put(builder, start,
				      &(struct function){.entry = (u32)i, .source = GO_TABLE});
	}
	return result;
}

static int functions_read(struct builder *builder, u32 number)
{
	struct source *source = &builder->sources[number];
	struct elf_cfi_entry entry;
	u32 offset = 0;
	int result = 0;

	while (!result && elf_cfi_next(&source->cfi, &offset, &entry))
		result = entry.is_cie ? elf_cies_add(&source->cies, &source->cfi, &entry)
				      : function_add(builder, number, &entry);
	return result;
}

static bool is_sorted(const struct builder *builder)
{
	for (size_t i = 1; i < builder->function_count; i++)
		if (builder->functions[i].start < builder->functions[i - 1].start)
			return false;
	return true;
}

/* By address; those of the same in the order of the file. One digit after the other: a large library has hundreds of thousands. */
static int functions_sort(struct builder *builder)
{
	size_t count = builder->function_count;
	struct function *sorted;

	if (is_sorted(builder))
		return 0;
	sorted = malloc(count * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (u32 shift = 0; shift < 32; shift += DIGIT_BITS) {
		size_t first[DIGITS + 1] = {0};
		struct function *swapped = builder->functions;

		for (size_t i = 0; i < count; i++)
			first[(builder->functions[i].start >> shift) % DIGITS + 1]++;
		for (size_t i = 0; i < DIGITS; i++)
			first[i + 1] += first[i];
		for (size_t i = 0; i < count; i++)
			sorted[first[(builder->functions[i].start >> shift) % DIGITS]++] =
				builder->functions[i];
		builder->functions = sorted;
		sorted = swapped;
	}
	free(sorted);
	return 0;
}

/* What is behind the end of a function, or where the next one begins, is another's. */
static u64 limit_of(const struct builder *builder, size_t index, u64 end)
{
	u32 start = builder->functions[index].start;

	for (size_t next = index + 1; next < builder->function_count; next++) {
		u64 next_start = builder->start + builder->functions[next].start;

		if (builder->functions[next].start != start)
			return next_start < end ? next_start : end;
	}
	return end;
}

static int function_begin(struct builder *builder, size_t index, u64 end, u64 *covered)
{
	u64 start = builder->start + builder->functions[index].start;
	int result = 0;

	if (start > *covered && start - *covered > PADDING_MAX_BYTES)
		result = row_add(builder, *covered, 0);
	builder->limit = limit_of(builder, index, end);
	builder->reached = start;
	*covered = builder->limit;
	return result;
}

static int fde_run(struct builder *builder, size_t index, u64 *covered)
{
	const struct function *function = &builder->functions[index];
	const struct source *source = &builder->sources[function->source];
	const struct elf_cie_state *state = &source->cies.items[function->cie];
	struct elf_cfi_entry entry;
	struct elf_fde fde;
	int result;

	if (!elf_cfi_entry_at(&source->cfi, function->entry, &entry) ||
	    !elf_fde_parse(&source->cfi, &state->cie, &entry, &fde))
		return 0;
	result = function_begin(builder, index, fde.end, covered);
	builder->cfi = &source->cfi;
	builder->signal_frame = state->cie.signal_frame;
	builder->rows->fde_count++;
	return result ? result
		      : elf_fde_run(&source->cfi, &state->cie, &state->initial, &fde, visit_state,
				    builder);
}

static int go_function_run(struct builder *builder, size_t index, u64 *covered)
{
	u32 number = builder->functions[index].entry;
	u64 start, end;
	int result;

	if (!elf_go_rows_extent(&builder->go, number, &start, &end))
		return 0;
	result = function_begin(builder, index, end, covered);
	return result ? result : elf_go_rows_visit(&builder->go, number, visit_rule, builder);
}

/* Where two overlap, the one that begins later counts; of two that begin together the first. */
static int functions_run(struct builder *builder)
{
	u64 covered = builder->start; /* up to where there are functions */
	int result = 0;

	for (size_t i = 0; !result && i < builder->function_count; i++) {
		const struct function *function = &builder->functions[i];

		if (i && function->start == function[-1].start)
			continue;
		result = function->source == GO_TABLE ? go_function_run(builder, i, &covered)
						      : fde_run(builder, i, &covered);
	}
	return result ? result : row_add(builder, covered, 0);
}

/* ---- the whole ---- */

static int pages_create(struct builder *builder, const struct elf_file *file)
{
	const struct elf_segment *segments;
	size_t count = elf_file_segments(file, true, &segments);
	struct elf_unwind_rows *rows = builder->rows;
	u64 start = UINT64_MAX, end = 0;

	for (size_t i = 0; i < count; i++)
		if (segments[i].file_size_bytes && segments[i].address < start)
			start = segments[i].address / UNWIND_PAGE_BYTES * UNWIND_PAGE_BYTES;
	for (size_t i = 0; i < count; i++) {
		u64 inside = segments[i].address - start;

		if (!segments[i].file_size_bytes || inside >= SPAN_MAX_BYTES)
			continue;
		inside += segments[i].file_size_bytes < SPAN_MAX_BYTES - inside
				  ? segments[i].file_size_bytes
				  : SPAN_MAX_BYTES - inside;
		if (inside > end)
			end = inside;
	}
	if (end > UINT64_MAX - UNWIND_PAGE_BYTES - (end ? start : 0))
		end = 0;
	rows->first_page = end ? start / UNWIND_PAGE_BYTES : 0;
	rows->page_count = (u32)((end + UNWIND_PAGE_BYTES - 1) / UNWIND_PAGE_BYTES);
	rows->page_first = calloc((size_t)rows->page_count + 1, sizeof(*rows->page_first));
	builder->start = rows->first_page * UNWIND_PAGE_BYTES;
	builder->end = builder->start + (u64)rows->page_count * UNWIND_PAGE_BYTES;
	return rows->page_first ? 0 : -ENOMEM;
}

static int pages_end(struct builder *builder)
{
	struct elf_unwind_rows *rows = builder->rows;
	int result = rows->page_count ? pages_begin(builder, rows->page_count - 1) : 0;
	void *shrunk;

	rows->page_first[rows->page_count] = rows->row_count;
	if (rows->row_count) {
		shrunk = realloc(rows->rows, rows->row_count * sizeof(*rows->rows));
		if (shrunk)
			rows->rows = shrunk;
	}
	return result;
}

/* One of them is there, or none: that is no error. */
static int sources_read(struct builder *builder, const struct elf_file *file, struct err *err)
{
	int result = elf_cfi_read(file, &builder->sources[EH_FRAME].cfi, err);

	if (!result || result == -ENOENT)
		result = elf_cfi_read_debug(file, &builder->sources[DEBUG_FRAME].cfi, err);
	if (result && result != -ENOENT)
		return result;
	result = elf_go_rows_open(file, &builder->go);
	for (u32 i = 0; i < SOURCES && !result; i++)
		result = i == GO_TABLE ? go_functions_read(builder) : functions_read(builder, i);
	return result;
}

static int build(struct builder *builder, const struct elf_file *file, struct err *err)
{
	static const struct unwind_rule none;
	u32 number;
	int result = pages_create(builder, file);

	if (!result)
		result = rule_number(builder, &none, &number);
	if (result)
		return result;
	result = sources_read(builder, file, err);
	if (!result)
		result = functions_sort(builder);
	if (!result)
		result = functions_run(builder);
	return result ? result : pages_end(builder);
}

struct coverage {
	u64 gap_bytes; /* without a row, up to here */
	u64 uncovered_bytes, unsupported_bytes;
};

static void coverage_gap_end(struct coverage *coverage)
{
	if (coverage->gap_bytes > PADDING_MAX_BYTES)
		coverage->uncovered_bytes += coverage->gap_bytes;
	coverage->gap_bytes = 0;
}

static void coverage_add(struct coverage *coverage, const struct unwind_rule *rule, u64 size)
{
	if (rule->cfa == UNWIND_CFA_NONE) {
		coverage->gap_bytes += size;
		return;
	}
	coverage_gap_end(coverage);
	if (rule->cfa == UNWIND_CFA_UNSUPPORTED)
		coverage->unsupported_bytes += size;
}

/* What of [start, end) is covered, row by row. */
static void coverage_take(struct coverage *coverage, const struct elf_unwind_rows *rows, u64 start,
			  u64 end)
{
	u64 first = rows->first_page * UNWIND_PAGE_BYTES,
	    pages_end_at = first + (u64)rows->page_count * UNWIND_PAGE_BYTES;
	u64 at = start < first ? first : start;

	coverage->gap_bytes = at < end ? at - start : end - start;
	if (end > pages_end_at)
		end = pages_end_at;
	while (at < end) {
		u32 page = (u32)((at - first) / UNWIND_PAGE_BYTES);
		u64 page_start = first + (u64)page * UNWIND_PAGE_BYTES;

		for (u32 i = rows->page_first[page]; i < rows->page_first[page + 1]; i++) {
			u64 row_end = i + 1 < rows->page_first[page + 1]
					      ? page_start + UNWIND_ROW_ADDRESS(rows->rows[i + 1])
					      : page_start + UNWIND_PAGE_BYTES;

			if (row_end > end)
				row_end = end;
			if (row_end > at) {
				coverage_add(coverage, &rows->rules[UNWIND_ROW_RULE(rows->rows[i])],
					     row_end - at);
				at = row_end;
			}
		}
	}
	coverage_gap_end(coverage);
}

static int coverage_count(struct elf_unwind_rows *rows, const struct elf_file *file)
{
	_cleanup_free_ struct elf_segment *pieces = NULL;
	ssize_t count = elf_file_code(file, &pieces);
	struct coverage coverage = {0};

	for (ssize_t i = 0; i < count; i++) {
		u64 start = pieces[i].address, size = pieces[i].file_size_bytes;

		if (size > UINT64_MAX - start)
			continue;
		rows->code_bytes += size;
		coverage_take(&coverage, rows, start, start + size);
	}
	rows->uncovered_bytes = coverage.uncovered_bytes;
	rows->unsupported_bytes = coverage.unsupported_bytes;
	return count < 0 ? (int)count : 0;
}

int elf_unwind_rows_read(const struct elf_file *file, struct elf_unwind_rows *ret_rows,
			 struct err *err)
{
	struct elf_unwind_rows rows = {0};
	struct builder builder = {.rows = &rows};
	int result = build(&builder, file, err);

	if (!result)
		result = coverage_count(&rows, file);
	for (u32 i = 0; i < SOURCES; i++) {
		elf_cfi_free(&builder.sources[i].cfi);
		free(builder.sources[i].cies.items);
	}
	elf_go_rows_close(&builder.go);
	free(builder.functions);
	free(builder.slots);
	if (result) {
		elf_unwind_rows_free(&rows);
		return err_errno(err, result, "can't read the unwind tables of %s", file->path);
	}
	*ret_rows = rows;
	return 0;
}

/* What build() and coverage_count() read: where code is loaded, the entries and what their pointers are relative to, where the sections of
 * code are. */
int elf_unwind_rows_digest(const struct elf_file *file, u8 ret_digest[SHA256_BYTES])
{
	_cleanup_free_ struct elf_segment *pieces = NULL;
	ssize_t piece_count = elf_file_code(file, &pieces);
	const struct elf_segment *segments;
	size_t count = elf_file_segments(file, true, &segments);
	struct elf_cfi cfi = {0}, debug = {0};
	struct sha256 sha;
	int result = piece_count < 0 ? (int)piece_count : elf_cfi_read(file, &cfi, NULL);

	if (!result || result == -ENOENT)
		result = elf_cfi_read_debug(file, &debug, NULL);
	if (result && result != -ENOENT) {
		elf_cfi_free(&cfi);
		return result;
	}
	u64 facts[] = {count,	      (u64)piece_count, cfi.address,
		       cfi.data_base, cfi.to_zero,	cfi.size_bytes};
	sha256_begin(&sha);
	sha256_add(&sha, facts, sizeof(facts));
	sha256_add(&sha, segments, count * sizeof(*segments));
	sha256_add(&sha, pieces, (size_t)piece_count * sizeof(*pieces));
	if (cfi.size_bytes)
		sha256_add(&sha, cfi.bytes, cfi.size_bytes);
	if (debug.size_bytes)
		sha256_add(&sha, debug.bytes, debug.size_bytes);
	result = elf_go_rows_digest(file, &sha);
	sha256_end(&sha, ret_digest);
	elf_cfi_free(&cfi);
	elf_cfi_free(&debug);
	return result;
}
