/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports of ranges, and of what was launched in them: what is the same in nsys is judged by nsys in tests/conformance. */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "capture_fixture.h"
#include "reports/report_table.h"
#include "reports/reports.h"

#define RANGE(name, pid, tid, ts, dur)                                                            \
	"{\"kind\":\"range\",\"pid\":" #pid ",\"tid\":" #tid ",\"name\":\"" name "\",\"ts\":" #ts \
	",\"dur\":" #dur "}\n"
#define OPEN_RANGE(name, tid, ts) \
	"{\"kind\":\"range\",\"pid\":1,\"tid\":" #tid ",\"name\":\"" name "\",\"ts\":" #ts "}\n"
#define API(correlation, pid, tid, ts, dur)                                                        \
	"{\"kind\":\"api\",\"pid\":" #pid ",\"tid\":" #tid ",\"name\":\"launch\",\"source\":" #pid \
	",\"correlation\":" #correlation ",\"ts\":" #ts ",\"dur\":" #dur "}\n"
#define KERNEL(name, correlation, pid, ts, dur)                                      \
	"{\"kind\":\"kernel\",\"pid\":" #pid ",\"source\":" #pid ",\"name\":\"" name \
	"\",\"correlation\":" #correlation ",\"ts\":" #ts ",\"dur\":" #dur           \
	",\"device\":\"gpu\",\"stream\":\"s\"}\n"
#define WINDOW(ts, dur) "{\"kind\":\"window\",\"ts\":" #ts ",\"dur\":" #dur "}\n"

static void check_report(const char *capture, const char *report, const char *expected)
{
	struct fixture fixture _fixture_ = fixture_open(capture);
	struct report_style style = {.format = REPORT_CSV, .path = "x"};
	struct report_request request = {0};
	struct err err = {0};
	char *data = NULL;
	const char *rows;
	size_t size;

	style.file = open_memstream(&data, &size);
	CHECK_OK(report_parse(report, &request, &err), err);
	CHECK_OK(report_print(&request, fixture.view, &style, NULL, &err), err);
	fclose(style.file);
	rows = strchr(data, '\n');
	CHECK_STRING(rows ? rows + 1 : data, expected);
	free(data);
}

/* ---- nvtx_kern_sum ---- */

TEST(a_kernel_counts_for_all_ranges_around_its_launch)
{
	check_report(RANGE("step", 1, 1, 10, 100) RANGE("gemm", 1, 1, 20, 30) API(7, 1, 1, 25, 5)
			     API(8, 1, 1, 60, 5) API(9, 1, 1, 200, 5) KERNEL("k", 7, 1, 300, 10)
				     KERNEL("k", 8, 1, 310, 20) KERNEL("k", 9, 1, 330, 40),
		     "nvtx_kern_sum",
		     "None,None,1,1,0,1,40,40.0,40.0,40,40,0.0,k\n"
		     "gemm,PushPop,1,1,1,1,10,10.0,10.0,10,10,0.0,k\n"
		     "step,PushPop,1,1,1,2,30,15.0,15.0,10,20,7.1,k\n");
}

TEST(the_whole_call_has_to_lie_in_a_range)
{
	check_report(RANGE("r", 1, 1, 10, 10) API(7, 1, 1, 10, 10) API(8, 1, 1, 19, 2)
			     KERNEL("in", 7, 1, 30, 1) KERNEL("out", 8, 1, 40, 1),
		     "nvtx_kern_sum",
		     "None,None,1,1,0,1,1,1.0,1.0,1,1,0.0,out\n"
		     "r,PushPop,1,1,1,1,1,1.0,1.0,1,1,0.0,in\n");
}

/* Its time counts for both, and it is one kernel. */
TEST(ranges_of_one_name_in_each_other)
{
	check_report(RANGE("r", 1, 1, 10, 100) RANGE("r", 1, 1, 20, 30) API(7, 1, 1, 25, 5)
			     KERNEL("k", 7, 1, 300, 10),
		     "nvtx_kern_sum", "r,PushPop,1,1,2,1,20,10.0,10.0,10,10,0.0,k\n");
}

TEST(ranges_of_other_threads_and_processes_do_not_count)
{
	check_report(RANGE("a", 1, 5, 10, 100) RANGE("a", 2, 5, 11, 100) RANGE("b", 1, 6, 12, 100)
			     API(7, 1, 5, 25, 5) API(7, 2, 5, 26, 5) KERNEL("k", 7, 1, 300, 10)
				     KERNEL("k", 7, 2, 310, 20),
		     "nvtx_kern_sum",
		     "a,PushPop,1,5,1,1,10,10.0,10.0,10,10,0.0,k\n"
		     "a,PushPop,2,5,1,1,20,20.0,20.0,20,20,0.0,k\n");
}

TEST(a_kernel_without_its_launch_is_in_no_range_of_any_thread)
{
	check_report(RANGE("r", 1, 1, 10, 100) KERNEL("k", 7, 1, 30, 10), "nvtx_kern_sum",
		     "None,None,None,None,0,1,10,10.0,10.0,10,10,0.0,k\n");
}

TEST(kernels_of_one_launch_are_several)
{
	check_report(RANGE("r", 1, 1, 10, 100) API(7, 1, 1, 25, 5) KERNEL("k", 7, 1, 30, 10)
			     KERNEL("k", 7, 1, 40, 10),
		     "nvtx_kern_sum", "r,PushPop,1,1,1,2,20,10.0,10.0,10,10,0.0,k\n");
}

TEST(without_ranges_there_are_no_rows)
{
	check_report(API(7, 1, 1, 25, 5) KERNEL("k", 7, 1, 30, 10), "nvtx_kern_sum", "");
	check_report(API(7, 1, 1, 25, 5) KERNEL("k", 7, 1, 30, 10), "nvtx_gpu_proj_trace", "");
}

/* ---- projections ---- */

/* As nsys counts, what one call launched is one operation. */
TEST(projections_go_from_the_first_work_to_the_end_of_the_last)
{
	check_report(WINDOW(0, 1000) RANGE("outer", 1, 1, 10, 100) RANGE("inner", 1, 1, 20, 30)
			     RANGE("idle", 1, 1, 60, 5) API(7, 1, 1, 25, 5) API(8, 1, 1, 70, 5)
				     KERNEL("k", 7, 1, 300, 10) KERNEL("k", 7, 1, 305, 20)
					     KERNEL("k", 8, 1, 400, 40),
		     "nvtx_gpu_proj_trace",
		     "outer,300,140,10,100,PushPop,1,1,2,0,1,1,None,:1\n"
		     "inner,300,25,20,30,PushPop,1,1,1,1,0,2,1,:1:2\n");
}

TEST(the_sum_of_projections_is_that_of_their_trace)
{
	check_report(WINDOW(0, 1000) RANGE("r", 1, 1, 10, 100) RANGE("in", 1, 1, 20, 30)
			     RANGE("r", 1, 1, 200, 50) API(7, 1, 1, 25, 5) API(8, 1, 1, 210, 5)
				     KERNEL("k", 7, 1, 300, 10) KERNEL("k", 8, 1, 400, 40),
		     "nvtx_gpu_proj_sum",
		     "r,PushPop,50,150,2,25.0,25.0,10,40,21.2,2,1.0,0.0,0.5\n"
		     "in,PushPop,10,30,1,10.0,10.0,10,10,0.0,1,1.0,1.0,0.0\n");
}

/* ---- nvtx_pushpop_trace ---- */

/* The tightest one around it counts, and what only begins in one is not in it. */
TEST(ranges_that_cross)
{
	check_report(WINDOW(0, 1000) RANGE("A", 1, 1, 10, 1000) RANGE("B", 1, 1, 20, 1010)
			     RANGE("C", 1, 1, 50, 10) RANGE("D", 1, 1, 55, 10),
		     "nvtx_pushpop_trace",
		     "10,1010,1000,20,980,A,1,1,0,2,1,None,:1,A\n"
		     "20,1030,1010,0,1010,B,1,1,0,0,2,None,:2,B\n"
		     "50,60,10,0,10,C,1,1,1,0,3,1,:1:3,--C\n"
		     "55,65,10,0,10,D,1,1,1,0,4,1,:1:4,--D\n");
}

TEST(ranges_of_the_same_times_lie_in_each_other)
{
	check_report(WINDOW(0, 1000) RANGE("A", 1, 1, 10, 50) RANGE("B", 1, 1, 10, 50),
		     "nvtx_pushpop_trace",
		     "10,60,50,50,0,A,1,1,0,1,1,None,:1,A\n"
		     "10,60,50,0,50,B,1,1,1,0,2,1,:1:2,--B\n");
}

/* Marks and ranges of processes have numbers too. */
TEST(an_open_range_has_no_end)
{
	check_report(
		WINDOW(0, 1000) OPEN_RANGE(
			"main loop", 1,
			10) "{\"kind\":\"mark\",\"pid\":1,\"tid\":1,\"name\":\"m\",\"ts\":15}\n"
			    "{\"kind\":\"process_range\",\"pid\":1,\"tid\":1,\"name\":\"p\",\"ts\":"
			    "16,\"dur\":5}\n" RANGE("step", 1, 1, 20, 30) API(7, 1, 1, 25, 5)
				    KERNEL("k", 7, 1, 300, 10),
		"nvtx_pushpop_trace",
		"10,None,None,30,None,main loop,1,1,0,1,1,None,:1,main loop\n"
		"20,50,30,0,30,step,1,1,1,0,4,1,:1:4,--step\n");
}

TEST(an_open_range_is_around_what_follows)
{
	check_report(WINDOW(0, 1000) OPEN_RANGE("main loop", 1, 10) API(7, 1, 1, 25, 5)
			     KERNEL("k", 7, 1, 300, 10),
		     "nvtx_gpu_proj_trace",
		     "main loop,300,10,10,None,PushPop,1,1,1,0,0,1,None,:1\n");
}

/* The view has nothing that began before the window, so nothing is in it; the ledger says so. */
TEST(a_range_that_began_before_the_window)
{
	static const char capture[] = WINDOW(100, 1000) RANGE("early", 1, 1, 40, 100)
		RANGE("later", 1, 1, 200, 10) API(7, 1, 1, 110, 5) KERNEL("k", 7, 1, 120, 10);

	check_report(capture, "nvtx_pushpop_trace",
		     "100,110,10,0,10,later,1,1,0,0,1,None,:1,later\n");
	check_report(capture, "nvtx_kern_sum", "None,None,1,1,0,1,10,10.0,10.0,10,10,0.0,k\n");
	check_report(capture, "ledger",
		     "outside_window,capture,1,None,dropped: outside the recording window\n");
}

TEST(names_have_their_domain)
{
	check_report("{\"kind\":\"range\",\"pid\":1,\"tid\":1,\"name\":\"fit\",\"domain\":"
		     "\"sklearn\",\"ts\":10,\"dur\":5}\n",
		     "nvtx_pushpop_sum", "100.0,5,1,5.0,5.0,5,5,0.0,sklearn:fit\n");
}

/* ---- unified memory ---- */

#define MIGRATION(type, value, address, ts, dur)                                              \
	"{\"kind\":\"migration\",\"pid\":1,\"ts\":" #ts ",\"dur\":" #dur ",\"value\":" #value \
	",\"address\":\"" address "\",\"type\":\"" type "\"}\n"

static const char unified_memory[] = MIGRATION("host_to_device", 65536, "0x7000", 10, 100)
	MIGRATION("device_to_host", 4096, "0x7000", 200, 100)
		MIGRATION("cpu_faults", 1, "0x9000", 300, 0)
			MIGRATION("gpu_fault", 7, "0x7000", 310, 10)
				MIGRATION("host_to_device", 1000000, "0xb000", 400, 10)
					MIGRATION("device_to_device", 99, "0xc000", 420, 10);

TEST(unified_memory_by_address_the_fastest_first)
{
	check_report(unified_memory, "um_sum",
		     "0xB000,1.000,None,None,None,100000000.000\n"
		     "0x7000,0.066,0.004,None,7,348160.000\n"
		     "0x9000,None,None,1,None,None\n");
	check_report(unified_memory, "unifiedmemory:rows=1",
		     "0xB000,1.000,None,None,None,100000000.000\n");
}

TEST(unified_memory_in_all)
{
	check_report(unified_memory, "um_total_sum", "1.066,0.004,1,7,0x7000,0xB000\n");
	check_report(MIGRATION("gpu_fault", 7, "0x7000", 310, 10), "um_total_sum",
		     "None,None,0,7,None,None\n");
	check_report(unified_memory, "um_cpu_page_faults_sum", "1,[Unknown]\n");
}

/* ---- what is not recorded ---- */

TEST(reports_of_nsys_that_are_not_made_are_known)
{
	static const char *const names[] = {"openacc_sum", "openaccsum", "khrdebugsum",
					    "mpi_event_sum", "syscall_sum"};
	struct report_request request = {0};
	struct err err = {0};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		CHECK_OK(report_parse(names[i], &request, &err), err);
		CHECK(request.report && request.report->data);
	}
	CHECK_U64(report_parse("openacc", &request, &err), (unsigned long long)-EINVAL);
}

UNIT_MAIN()
