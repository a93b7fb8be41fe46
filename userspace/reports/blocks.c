/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reports/blocks.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/temporary_file.h"
#include "reports/block_append.h"
#include "reports/block_opening.h"
#include "reports/report_printer.h"
#include "reports/report_runs.h"

struct block {
	const char *title;
	u16 kinds[VIEW_ROW_KINDS_MAX]; /* none: always */
	const char *report, *beside;
	size_t least, most; /* 0: it is a line */
	struct block_column columns[BLOCK_COLUMNS_MAX];
};

static const struct block blocks[] = {
#define BLOCK(title, kinds, report, beside, least, most, columns) \
	{title, kinds, report, beside, least, most, columns},
#define LINE(title, kinds, report, columns) {title, kinds, report, NULL, 0, 0, columns},
#include "reports/blocks.def"
};

static const struct {
	u16 kinds[VIEW_ROW_KINDS_MAX];
	const char *report;
} others[] = {
#define MORE(kinds, report) {kinds, report},
#include "reports/blocks.def"
	{{0}, NULL},
};

static const char *const said[] = {
#define SAID(report) report,
#include "reports/blocks.def"
};

static bool is_said(const struct block *block, const struct blocks_style *style)
{
	for (size_t i = 0; i < ARRAY_SIZE(said) && style->has_verdict; i++)
		if (!strcmp(block->report, said[i]))
			return true;
	return false;
}

/* An empty one, the last one, and one that says of a cut recording that it is. */
#define OTHER_LINES 3

/* Whatever a capture holds, all blocks have their least. */
enum {
	LEAST_LINES = OTHER_LINES
#define BLOCK(title, kinds, report, beside, least, most, columns) +((least) ? 1 + (least) : 0)
#define LINE(title, kinds, report, columns)			  +1
#include "reports/blocks.def"
};
_Static_assert(LEAST_LINES <= BLOCKS_LINES, "blocks.def: the least of all blocks is too much");

/* A block of a capture. */
struct filled {
	const struct block *block; /* NULL: there is nothing for it */
	bool wanted;		   /* its tables are made */
	struct report_request request, request_beside;
	struct report_table table, beside;
	bool shown;
	size_t rows; /* shown */
};

/* Its words are for a screen. */
static int parse_whole(const char *words, struct report_request *ret_request, struct err *err)
{
	_cleanup_free_ char *name = strndup(words, strcspn(words, ":"));

	return name ? report_parse(name, ret_request, err)
		    : err_errno(err, -ENOMEM, "can't make the reports");
}

int blocks_reports(struct view *view, struct report_request *ret_requests, size_t *ret_count,
		   struct err *err)
{
	size_t count = 0;
	int result = 0;

	for (size_t i = 0; i < ARRAY_SIZE(blocks) && result == 0; i++) {
		if (!blocks[i].most || !view_has_any(view, blocks[i].kinds))
			continue;
		result = parse_whole(blocks[i].report, &ret_requests[count++], err);
		if (result == 0 && blocks[i].beside)
			result = report_parse(blocks[i].beside, &ret_requests[count++], err);
	}
	*ret_count = count;
	return result;
}

/* ---- how many rows ---- */

static size_t row_count_up_to(const struct filled *filled, size_t most)
{
	if (filled->table.brief)
		return 0;
	return filled->table.row_count < most ? filled->table.row_count : most;
}

/* Takes the lines of its heading and least rows. */
static void show(struct filled *filled, size_t least, ptrdiff_t *left)
{
	filled->shown = true;
	filled->rows = row_count_up_to(filled, least);
	*left -= 1 + (ptrdiff_t)filled->rows;
}

/* Those that are there whatever else there is; where their least is too much, one row of each. */
static void show_least(struct filled *filled, ptrdiff_t *left)
{
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
		if (filled[i].block && (blocks[i].least || !blocks[i].most))
			show(&filled[i], blocks[i].least, left);
	for (size_t i = ARRAY_SIZE(blocks); i-- && *left < 0;)
		for (; filled[i].shown && filled[i].rows > 1 && *left < 0; filled[i].rows--)
			++*left;
}

/* Each has its least, then come those that may be left out; of what is left the first have theirs first. */
static void share_lines(struct filled *filled, const struct blocks_style *style)
{
	ptrdiff_t left = BLOCKS_LINES - OTHER_LINES - (ptrdiff_t)style->lines_elsewhere;

	show_least(filled, &left);
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
		if (filled[i].block && !filled[i].shown && (left >= 2 || style->has_max_rows))
			show(&filled[i], 1, &left);
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++) {
		size_t rows, more = left > 0 ? left : 0;

		if (!filled[i].shown)
			continue;
		rows = row_count_up_to(&filled[i], blocks[i].most);
		if (rows > filled[i].rows + more)
			rows = filled[i].rows + more;
		if (rows > filled[i].rows) {
			left -= rows - filled[i].rows;
			filled[i].rows = rows;
		}
		if (style->has_max_rows && filled[i].block->most)
			filled[i].rows = row_count_up_to(&filled[i], style->max_rows ?: SIZE_MAX);
	}
}

/* A line in place of its rows. */
static int say_failure(const struct block *block, struct filled *filled, struct err *err)
{
	struct text text _cleanup_text_ = {0};

	text_appendf(&text, "not known: %s", err->message);
	free(filled->table.brief);
	filled->table.brief = take_pointer(&text.data);
	if (text.failed)
		return err_errno(err, -ENOMEM, "can't make the reports");
	filled->block = block;
	return 0;
}

static void filled_free(struct filled *filled)
{
	report_table_free(&filled->table);
	report_table_free(&filled->beside);
}

/* Which tables are to be made. */
static int choose(struct view *view, const struct block *block, const struct blocks_style *style,
		  struct filled *filled, struct err *err)
{
	int result;

	if (is_said(block, style) || (block->kinds[0] && !view_has_any(view, block->kinds)))
		return 0;
	filled->wanted = true;
	result = report_parse(block->report, &filled->request, err);
	if (result == 0 && block->beside)
		result = report_parse(block->beside, &filled->request_beside, err);
	return result;
}

static size_t add_wanted(struct filled *filled, struct report_wanted *wanted)
{
	size_t count = 0;

	if (filled->wanted)
		wanted[count++] = (struct report_wanted){&filled->request, &filled->table};
	if (filled->request_beside.report)
		wanted[count++] = (struct report_wanted){&filled->request_beside, &filled->beside};
	return count;
}

static void settle(const struct block *block, const struct blocks_style *style,
		   struct filled *filled)
{
	if (!filled->wanted)
		return;
	/* Who asks for rows wants them. */
	if (style->has_max_rows && filled->table.row_count)
		free(take_pointer(&filled->table.brief));
	if (filled->table.row_count || (!block->kinds[0] && block->most))
		filled->block = block;
}

/* By runs of its own: what can't be made has a line that says why. */
static int make_alone(struct view *view, const struct block *block, struct filled *filled,
		      struct err *err)
{
	struct report_wanted wanted[2];
	size_t count;
	int result;

	filled_free(filled);
	filled->table = filled->beside = (struct report_table){0};
	count = add_wanted(filled, wanted);
	result = report_runs_all(view, wanted, count, err);
	if (!temporary_file_is_failure(result))
		return result;
	filled->wanted = false;
	return say_failure(block, filled, err);
}

/* All blocks by the same runs over the events. */
static int make_all(struct view *view, const struct blocks_style *style, struct filled *filled,
		    struct err *err)
{
	struct report_wanted wanted[2 * ARRAY_SIZE(blocks)];
	size_t count = 0;
	int result = 0;

	for (size_t i = 0; i < ARRAY_SIZE(blocks) && result == 0; i++) {
		result = choose(view, &blocks[i], style, &filled[i], err);
		count += add_wanted(&filled[i], &wanted[count]);
	}
	if (result == 0)
		result = report_runs_all(view, wanted, count, err);
	if (temporary_file_is_failure(result)) {
		result = 0;
		for (size_t i = 0; i < ARRAY_SIZE(blocks) && result == 0; i++)
			result = make_alone(view, &blocks[i], &filled[i], err);
	}
	for (size_t i = 0; i < ARRAY_SIZE(blocks) && result == 0; i++)
		settle(&blocks[i], style, &filled[i]);
	return result;
}

/* ---- the last line ---- */

static size_t columns_of(const struct blocks_style *style)
{
	return style->columns ?: BLOCKS_COLUMNS;
}

/* Where it has room. */
static void append_report(struct text *line, const char *report, size_t columns, size_t *count)
{
	if (text_columns(text_string(line)) + 2 + strlen(report) <= columns)
		text_appendf(line, "%s%s", (*count)++ ? ", " : ": ", report);
}

static void append_more(const struct view *view, const struct filled *filled,
			const struct blocks_style *style, struct text *text)
{
	struct text line _cleanup_text_ = {0};
	size_t columns = columns_of(style), count = 0;

	if (style->path) {
		text_append(&line, "more: gpuprobe stats ");
		text_append_terminal(&line, style->path, strlen(style->path));
	} else {
		text_append(&line, "more, with -o FILE.gpr: gpuprobe stats FILE.gpr");
	}
	text_append(&line, " -r REPORT");
	/* What had no room above, and what is never there; --help-reports has all. */
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
		if ((filled[i].block && !filled[i].shown) || is_said(&blocks[i], style))
			append_report(&line, blocks[i].report, columns, &count);
	for (size_t i = 0; others[i].report; i++)
		if (view_has_any(view, others[i].kinds))
			append_report(&line, others[i].report, columns, &count);
	text_append(&line, count ? "" : ", see --help-reports");
	/* A path is not cut in two. */
	if (style->path && text_columns(style->path) > columns)
		columns = SIZE_MAX;
	text_append_wrapped(text, "", "   ", columns, text_string(&line));
	text->failed |= line.failed;
}

/* Calls may have been recorded up to a moment only. */
static u64 recorded_ns(const struct view *view, const struct block *block)
{
	const struct view_survey *survey = view_survey(view);
	u64 until_ns = block->kinds[0] == KIND_api
			       ? view_recorded_until_by_any(view, VALUE_recorded_sort_cuda_calls)
			       : survey->window_end_ns;

	return until_ns - survey->window_start_ns;
}

static int append_block(const struct view *view, const struct filled *filled, size_t width,
			const char *separator, struct text *text)
{
	const struct block_content content = {
		.title = filled->block->title,
		.report = filled->block->report,
		.columns = filled->block->columns,
		.table = &filled->table,
		.beside = &filled->beside,
		.row_count = filled->rows,
		.width = width,
		.window_ns = recorded_ns(view, filled->block),
		.separator = separator,
	};

	return filled->block->most || filled->table.brief ? block_append(&content, text)
							  : block_append_line(&content, text);
}

static bool has_content(const struct view *view, const struct filled *filled)
{
	for (size_t i = 0; others[i].report; i++)
		if (view_has_any(view, others[i].kinds))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
		if (filled[i].block && filled[i].table.row_count && blocks[i].kinds[0] &&
		    blocks[i].most)
			return true;
	return false;
}

/* In front of all blocks: lines that may be longer than a terminal's. */
static void append_opening(const struct view *view, const char *lines, size_t columns,
			   struct text *text)
{
	while (*lines) {
		size_t length = strcspn(lines, "\n");
		_cleanup_text_ struct text line = {0};

		text_append_bytes(&line, lines, length);
		text_append_wrapped(text, "", "   ", columns, text_string(&line));
		lines += length + (lines[length] == '\n');
		text->failed |= line.failed;
	}
	if (view_survey(view)->cut)
		text_append_wrapped(text, "", "   ", columns, VIEW_CUT_SHORT);
}

static int print_all(const struct view *view, const struct filled *filled,
		     const struct blocks_style *style, const char *opening, struct err *err)
{
	locale_t locale = newlocale(LC_NUMERIC_MASK, "", (locale_t)0);
	struct text text _cleanup_text_ = {0};
	const char *separator = report_thousands_separator(locale);
	int result = 0;

	text_append_char(&text, '\n');
	append_opening(view, opening, columns_of(style), &text);
	if (!has_content(view, filled))
		text_append(&text, view_survey(view)->cut ? "Nothing can be told of what is left.\n"
							  : "Nothing was recorded.\n");
	for (size_t i = 0; i < ARRAY_SIZE(blocks) && result == 0; i++)
		if (filled[i].shown)
			result =
				append_block(view, &filled[i], columns_of(style), separator, &text);
	append_more(view, filled, style, &text);
	if (locale)
		freelocale(locale);
	if (result < 0 || text.failed)
		return err_errno(err, -ENOMEM, "can't print the summary");
	errno = 0;
	if (fwrite(text.data, text.length, 1, style->file) != 1)
		return err_errno(err, errno ? -errno : -EIO, "can't write the summary");
	return 0;
}

int blocks_print(struct view *view, const struct blocks_style *style, struct err *err)
{
	struct filled filled[ARRAY_SIZE(blocks)] = {0};
	struct text opening _cleanup_text_ = {0};
	int result = make_all(view, style, filled, err);

	if (result == 0 && block_opening_append(view, &opening) < 0)
		result = err_errno(err, -ENOMEM, "can't print the summary");
	if (result == 0) {
		share_lines(filled, style);
		result = print_all(view, filled, style, text_string(&opening), err);
	}
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
		filled_free(&filled[i]);
	return result;
}
