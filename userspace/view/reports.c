#include "view/reports.h"

#include <errno.h>
#include <string.h>

#include "base/nearest.h"
#include "base/text.h"
#include "view/report_table.h"

static const struct report report_rows[] = {
	{"functions", NULL, "time in each function", report_functions_make, NULL, true},
	{"distribution", NULL, "how long calls took that were only counted",
	 report_distribution_make, NULL, true},
	{"usdt_sum", "usdt", "hits of each USDT probe, and time between those of pairs",
	 report_usdt_make, NULL, true},
	{"cuda_api_sum", "api", "time in each CUDA API call", report_summary_make, NULL, true},
	{"cuda_gpu_kern_sum", "kernels", "GPU time of each kernel", report_summary_make, NULL,
	 true},
	{"cuda_gpu_mem_time_sum", "memtime", "GPU time of copies and sets of memory",
	 report_summary_make, NULL, true},
	{"cuda_gpu_mem_size_sum", "memsize", "bytes of copies and sets of memory",
	 report_summary_make, NULL, true},
	{"cuda_kern_exec_sum", "launch",
	 "from the API call through the queue to the end of each kernel", report_launch_make, NULL,
	 true},
	{"nvtx_sum", "nvtx", "time in each range of NVTX, gpuprobe.h and USDT probes",
	 report_summary_make, NULL, true},
	{"gpu_gaps", "gpu-idle", "when a GPU had nothing to do, the longest first",
	 report_idle_make, NULL, true},
	{"steps", NULL, "the steps of training or inference, and what GPUs did in each",
	 report_steps_make, NULL, true},
	{"off_cpu_sum", "blocking", "for what threads were off their CPU, and how long",
	 report_summary_make, "off_cpu_stacks", true},
	{"off_cpu_stacks", NULL, "the same by where in the code they were", report_stacks_make,
	 "wakers", true},
	{"wakers", NULL, "the same by who woke them", report_wakers_make, NULL, true},
	{"growth", NULL, "how memory grew, by stack: system calls and page faults",
	 report_growth_make, NULL, true},
	{"allocations", NULL, "host memory that was allocated, by stack", report_allocations_make,
	 NULL, true},
	{"leaks", NULL, "host memory that was allocated and not freed, by stack, the oldest first",
	 report_allocations_make, NULL, true},
	{"overhead", NULL, "what recording cost, by probe", report_overhead_make, NULL, false},
	{"ledger", NULL, "what is missing or not as it seems", report_ledger_make, NULL, false},
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
		const struct report *row = &report_rows[i];

		if (strcmp(row->name, name) == 0 || (row->alias && strcmp(row->alias, name) == 0)) {
			*ret_report = row;
			return 0;
		}
		nearest_offer(&nearest, row->name);
		if (row->alias)
			nearest_offer(&nearest, row->alias);
		text_appendf(&known, "%s%s", i ? ", " : "", row->name);
		if (row->alias)
			text_appendf(&known, " (%s)", row->alias);
	}
	return err_set(err, -EINVAL, "unknown report \"%.100s\": there are %s%s", name,
		       text_string(&known), nearest_hint(&nearest, ""));
}

/* What each table of a summary is made of. */
static const struct {
	u16 kind;
	const char *report;
} summary_kinds[] = {
	{KIND_call, "functions"},
	{KIND_entry, "functions"},
	{KIND_usdt_span, "usdt_sum"},
	{KIND_usdt_point, "usdt_sum"},
	{KIND_function_total, "functions"},
	{KIND_function_total, "distribution"},
	{KIND_kernel, "cuda_gpu_kern_sum"},
	{KIND_api, "cuda_api_sum"},
	{KIND_copy, "cuda_gpu_mem_time_sum"},
	{KIND_set, "cuda_gpu_mem_time_sum"},
	{KIND_copy, "cuda_gpu_mem_size_sum"},
	{KIND_set, "cuda_gpu_mem_size_sum"},
	{KIND_range, "nvtx_sum"},
	{KIND_process_range, "nvtx_sum"},
	{KIND_off_cpu, "off_cpu_sum"},
	{KIND_growth, "growth"},
	{KIND_heap_stack, "allocations"},
};

int reports_with_rows(struct view *view, const struct report **ret_reports, size_t *ret_count,
		      struct err *err)
{
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(summary_kinds); i++) {
		const struct report *report;
		int result;

		if (!view_kind_count(view, summary_kinds[i].kind))
			continue;
		result = report_find(summary_kinds[i].report, &report, err);
		if (result < 0)
			return result;
		if (!count || ret_reports[count - 1] != report)
			ret_reports[count++] = report;
	}
	*ret_count = count;
	return 0;
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
	int result = report->make(view, report, &table, err);

	if (report->of_events && view_survey(view)->cut)
		table.warning = "The recording was cut: what came later is missing.";
	return result < 0 ? result : report_table_print(&table, format, max_rows, file, err);
}
