/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reports/report_runs.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

struct making {
	struct report_wanted wanted;
	struct report_run run;
};

static void end(struct making *making)
{
	if (making->run.data)
		making->run.free(making->run.data);
	making->run.data = NULL;
}

/* Fills the table where no more runs are needed: what a run has made is gone with the next one. */
static int go_on(struct making *making, struct err *err)
{
	int result;

	if (making->run.part.sink)
		return 0;
	result = making->run.fill(making->run.data, making->wanted.table, err);
	end(making);
	return result;
}

static int begin(struct view *view, struct making *making, struct err *err)
{
	const struct report_wanted *wanted = &making->wanted;
	int result;

	if (!wanted->request->report->begin)
		return 0;
	result = wanted->request->report->begin(view, wanted->request, wanted->table, &making->run,
						err);
	return result < 0 ? result : go_on(making, err);
}

static int behind_run(struct making *making, struct err *err)
{
	int result = 0;

	making->run.part = (struct view_part){0};
	if (making->run.then)
		result = making->run.then(&making->run, err);
	return result < 0 ? result : go_on(making, err);
}

/* One run, for as many as it can be; ret_any: it was needed. */
static int run_once(struct view *view, struct making *makings, size_t count, bool *ret_any,
		    struct err *err)
{
	struct view_part parts[VIEW_PARTS_MAX] = {0};
	struct making *in_run[VIEW_PARTS_MAX];
	size_t part_count = 0;
	int result;

	for (size_t i = 0; i < count && part_count < VIEW_PARTS_MAX; i++) {
		if (!makings[i].run.part.sink)
			continue;
		parts[part_count] = makings[i].run.part;
		in_run[part_count++] = &makings[i];
	}
	*ret_any = part_count > 0;
	result = view_run_together(view, parts, part_count, err);
	for (size_t i = 0; i < part_count && result == 0; i++)
		result = behind_run(in_run[i], err);
	return result;
}

int report_runs_all(struct view *view, const struct report_wanted *wanted, size_t count,
		    struct err *err)
{
	_cleanup_free_ struct making *makings = calloc(count + 1, sizeof(*makings));
	int result = makings ? 0 : err_errno(err, -ENOMEM, "can't make reports");
	bool any = true;

	for (size_t i = 0; i < count && result == 0; i++) {
		makings[i].wanted = wanted[i];
		result = begin(view, &makings[i], err);
	}
	while (any && result == 0)
		result = run_once(view, makings, count, &any, err);
	for (size_t i = 0; i < count && makings; i++)
		end(&makings[i]);
	/* These may tell what the others have noted, as the ledger does. */
	for (size_t i = 0; i < count && result == 0; i++)
		if (wanted[i].request->report->make)
			result = wanted[i].request->report->make(view, wanted[i].request,
								 wanted[i].table, err);
	return result;
}

int report_runs_one(struct view *view, const struct report_request *request,
		    struct report_table *table, struct err *err)
{
	const struct report_wanted wanted = {request, table};

	return report_runs_all(view, &wanted, 1, err);
}
