/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What golden captures don't have: waits of many kernels, calls and kernels that had not ended, processes beside each other. */
#include "capture_fixture.h"
#include "reports/report_table.h"

#define WINDOW "{\"kind\":\"window\",\"ts\":1000,\"dur\":9000}\n"
#define API(pid, correlation, ts, rest)                                                          \
	"{\"kind\":\"api\",\"source\":" #pid ",\"pid\":" #pid ",\"tid\":" #pid                   \
	",\"name\":\"cudaLaunchKernel_v7000\",\"correlation\":" #correlation ",\"ts\":" #ts rest \
	"}\n"
#define KERNEL(pid, correlation, ts, rest)                                          \
	"{\"kind\":\"kernel\",\"source\":" #pid ",\"pid\":" #pid                    \
	",\"name\":\"_ZN2ns1kIiEEvv\",\"correlation\":" #correlation ",\"ts\":" #ts \
	",\"grid\":[2,1,1],\"block\":[32,1,1]" rest "}\n"
#define RANGE(pid, name, ts, rest)                                               \
	"{\"kind\":\"range\",\"source\":" #pid ",\"pid\":" #pid ",\"tid\":" #pid \
	",\"name\":\"" name "\",\"ts\":" #ts rest "}\n"

static void check_report(struct view *view, const char *words, const char *expected)
{
	struct report_style style = {.format = REPORT_CSV, .path = "x.gpr"};
	struct report_request request;
	struct err err = {0};
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	style.file = file;
	CHECK_OK(report_parse(words, &request, &err), err);
	CHECK_OK(report_print(&request, view, &style, NULL, &err), err);
	fclose(file);
	CHECK_STRING(text, expected);
	free(text);
}

#define EXEC_TRACE                                                                           \
	"API Start (ns),API Dur (ns),Queue Start (ns),Queue Dur (ns),Kernel Start (ns),"     \
	"Kernel Dur (ns),Total Dur (ns),PID,TID,DevId,API Function,GridXYZ,BlockXYZ,Kernel " \
	"Name\n"

TEST(kernels_go_by_the_start_of_their_launch)
{
	/* The second one launched runs first, and begins within its call. */
	struct fixture fixture _fixture_ = fixture_open(
		WINDOW API(7, 1, 2000, ",\"dur\":100") API(7, 2, 3000, ",\"dur\":500")
			KERNEL(7, 2, 3400, ",\"dur\":50") KERNEL(7, 1, 4000, ",\"dur\":1000"));

	check_report(fixture.view, "cuda_kern_exec_trace:base",
		     EXEC_TRACE
		     "1000,100,1100,1900,3000,1000,3000,7,7,0,cudaLaunchKernel,   2    1    1,  32 "
		     "   1    1,k\n"
		     "2000,500,None,None,2400,50,500,7,7,0,cudaLaunchKernel,   2    1    1,  32    "
		     "1    1,k\n");
}

TEST(equal_numbers_of_two_processes_are_two_launches)
{
	struct fixture fixture _fixture_ = fixture_open(
		WINDOW API(7, 1, 2000, ",\"dur\":100") API(8, 1, 2050, ",\"dur\":100")
			KERNEL(8, 1, 3000, ",\"dur\":50") KERNEL(7, 1, 4000, ",\"dur\":50"));

	check_report(fixture.view, "kernexectrace:mangled",
		     EXEC_TRACE
		     "1000,100,1100,1900,3000,50,2050,7,7,0,cudaLaunchKernel,   2    1    1,  32   "
		     " 1    1,_ZN2ns1kIiEEvv\n"
		     "1050,100,1150,850,2000,50,1000,8,8,0,cudaLaunchKernel,   2    1    1,  32    "
		     "1    1,_ZN2ns1kIiEEvv\n");
}

TEST(what_had_not_ended_has_no_duration)
{
	struct fixture fixture _fixture_ = fixture_open(
		WINDOW RANGE(7, "step", 1500, "") API(7, 1, 2000, "") KERNEL(7, 1, 3000, ""));

	check_report(fixture.view, "cuda_kern_exec_trace:base:nvtx-name",
		     EXEC_TRACE "1000,None,None,None,2000,None,None,7,7,0,cudaLaunchKernel,   2    "
				"1    1,  32    1    1,step/k\n");
	check_report(fixture.view, "cuda_api_trace",
		     "Start (ns),Duration (ns),Name,Result,CorrID,Pid,Tid,T-Pri,Thread Name\n"
		     "1000,None,cudaLaunchKernel,None,1,7,7,None,None\n");
	check_report(fixture.view, "cuda_gpu_kern_sum:base:nvtx",
		     "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),"
		     "StdDev (ns),Name\nNone,None,1,None,None,None,None,None,step/k\n");
}

TEST(ranges_of_a_name_in_two_domains_are_two)
{
	struct fixture fixture _fixture_ = fixture_open(
		WINDOW RANGE(7, "forward", 1500,
			     ",\"dur\":1000,\"domain\":\"a\"") API(7, 1, 2000, ",\"dur\":100")
			KERNEL(7, 1, 2200, ",\"dur\":30") RANGE(7, "forward", 3500, ",\"dur\":1000")
				API(7, 2, 4000, ",\"dur\":100") KERNEL(7, 2, 4200, ",\"dur\":10"));

	check_report(fixture.view, "gpukernsum:base:nvtx-name",
		     "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),"
		     "StdDev (ns),GridXYZ,BlockXYZ,Name\n"
		     "75.0,30,1,30.0,30.0,30,30,0.0,   2    1    1,  32    1    1,a:forward/k\n"
		     "25.0,10,1,10.0,10.0,10,10,0.0,   2    1    1,  32    1    1,forward/k\n");
}

UNIT_MAIN()
