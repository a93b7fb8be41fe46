/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a block of the summary is printed; for blocks.c. */
#ifndef GPUPROBE_REPORTS_BLOCK_APPEND_H
#define GPUPROBE_REPORTS_BLOCK_APPEND_H

#include "reports/report_table.h"

#define BLOCK_COLUMNS_MAX 10

enum shown {
	SHOWN_SHARE,	 /* per cent */
	SHOWN_OF_WINDOW, /* of ns: per cent of the window, more than 100 where threads were at it at the same time */
	SHOWN_TIME,	 /* of ns: 11.6 ms */
	SHOWN_TIME_IF_ANY, /* the same; where no row has one there is no column */
	SHOWN_MOMENT,	 /* of ns since the window opened: 1.234 s; where no row has one there is no column */
	SHOWN_COUNT,
	SHOWN_COUNT_IF_ANY, /* the same; where no row has one there is no column */
	SHOWN_DECIMAL,	 /* a mean of counts */
	SHOWN_NUMBER,	 /* of a thread, ...: no count */
	SHOWN_BYTES,	 /* 11.6 MB */
	SHOWN_MEGABYTES, /* of megabytes: the same */
	SHOWN_RATE,	 /* of megabytes, in the column "Total Time (ns)": 3.21 GB/s */
	SHOWN_TEXT,
	SHOWN_BRIEF, /* a text that leaves most of the room to others */
	SHOWN_PLACE_IF_ANY, /* a place in the code; where no row has one there is no column */
	SHOWN_CODE,  /* a name of code */
	SHOWN_STACK, /* lines; where there are functions of Python, these without the beginnings of threads */
	SHOWN_WAY,   /* the same of what the first line names, which stays */
	SHOWN_WORDS, /* a sentence: cut behind a word, never in a command (`...`); then it names the report, which has it all */
};

/* The first without a heading is behind the last. */
struct block_column {
	const char *heading, *name; /* name: of the report's column; cells of one that it has not are empty */
	enum shown shown;	    /* the last four only of the last column */
};

struct block_content {
	const char *title, *report; /* report: its name */
	const struct block_column *columns;
	const struct report_table *table;
	const struct report_table *beside; /* of its columns too, in the row of the same name; without columns: none */
	size_t row_count;		   /* shown */
	size_t width; /* in columns of a terminal: where that is too little, columns of numbers are left out, then others, but the first and the last */
	u64 window_ns; /* or what of it was recorded; a column "of window" is called "of 740 ms" */
	const char *separator; /* between thousands */
};

/* The headings and the first rows; of no rows the table's words for that. 0 or -ENOMEM. */
int block_append(const struct block_content *content, struct text *text);

/* One line: the sums of the columns, each with its heading behind it, and the last column of the first row, of which there is one. 0 or -ENOMEM. */
int block_append_line(const struct block_content *content, struct text *text);

#endif
