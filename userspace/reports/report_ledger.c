/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report "ledger": everything that was lost, or is not as it seems, where, and how many. */
#include <errno.h>

#include "reports/report_table.h"

enum column { COLUMN_REASON, COLUMN_PLACE, COLUMN_LOST, COLUMN_MEANING, COLUMN_COUNT };

static const struct report_column columns[COLUMN_COUNT] = {
	[COLUMN_REASON] = {"Reason", REPORT_TEXT},
	[COLUMN_PLACE] = {"Where", REPORT_TEXT},
	[COLUMN_LOST] = {"Count", REPORT_COUNT},
	[COLUMN_MEANING] = {"Meaning", REPORT_TEXT},
};

int report_ledger_make(struct view *view, const struct report_request *request,
		       struct report_table *table, struct err *err)
{
	const struct view_survey *survey = view_survey(view);

	table->title = "Ledger: what is missing or not as it seems";
	table->empty = "Nothing was lost.";
	table->whole = true;
	table->columns = columns;
	table->column_count = COLUMN_COUNT;
	for (size_t i = 0; i < survey->loss_count; i++) {
		const struct view_loss *loss = &survey->losses[i];
		struct report_row *row = report_table_add(table);

		if (!row || report_cell_text(&row->cells[COLUMN_REASON], loss->tag) < 0 ||
		    report_cell_text(&row->cells[COLUMN_PLACE], loss->place) < 0 ||
		    report_cell_text(&row->cells[COLUMN_MEANING], loss->meaning) < 0)
			return err_errno(err, -ENOMEM, "can't make the report ledger");
		report_cell_count(&row->cells[COLUMN_LOST], loss->count);
	}
	return 0;
}
