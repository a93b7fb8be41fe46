#include "view/reports.h"

#include <errno.h>
#include <string.h>

#include "base/nearest.h"
#include "base/text.h"
#include "view/report_table.h"

static const struct report report_rows[] = {
	{"functions", "time in each function", report_functions_make},
	{"ledger", "what is missing or not as it seems", report_ledger_make},
};

static const char *const format_names[] = {
	[REPORT_COLUMN] = "column",
	[REPORT_CSV] = "csv",
	[REPORT_JSON] = "json",
};

const struct report *reports(size_t *ret_count)
{
	*ret_count = ARRAY_SIZE(report_rows);
	return report_rows;
}

int report_find(const char *name, const struct report **ret_report, struct err *err)
{
	struct nearest nearest = {.word = name};
	_cleanup_text_ struct text known = {0};

	for (size_t i = 0; i < ARRAY_SIZE(report_rows); i++) {
		if (strcmp(report_rows[i].name, name) == 0) {
			*ret_report = &report_rows[i];
			return 0;
		}
		nearest_offer(&nearest, report_rows[i].name);
		text_appendf(&known, "%s%s", i ? ", " : "", report_rows[i].name);
	}
	return err_set(err, -EINVAL, "unknown report \"%.100s\": there are %s%s", name,
		       text_string(&known), nearest_hint(&nearest, ""));
}

int report_format_find(const char *name, enum report_format *ret_format, struct err *err)
{
	struct nearest nearest = {.word = name};
	_cleanup_text_ struct text known = {0};

	for (size_t i = 0; i < ARRAY_SIZE(format_names); i++) {
		if (strcmp(format_names[i], name) == 0) {
			*ret_format = i;
			return 0;
		}
		nearest_offer(&nearest, format_names[i]);
		text_appendf(&known, "%s%s", i ? ", " : "", format_names[i]);
	}
	return err_set(err, -EINVAL, "unknown format of tables \"%.100s\": there are %s%s", name,
		       text_string(&known), nearest_hint(&nearest, ""));
}

int report_print(const struct report *report, struct view *view, enum report_format format,
		 u64 max_rows, FILE *file, struct err *err)
{
	_cleanup_report_table_ struct report_table table = {0};
	int result = report->make(view, &table, err);

	return result < 0 ? result : report_table_print(&table, format, max_rows, file, err);
}
