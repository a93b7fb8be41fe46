/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks as a tree, as people see it: chains of libraries in one row. */
#include "capture_fixture.h"
#include "reports/report_table.h"

#define TORCH "/venv/lib/python3.12/site-packages/torch/lib/libtorch_cpu.so"
#define CUDA  "/usr/lib/libcuda.so.1"
#define MODULE(name, start, end)                                                \
	"{\"kind\":\"module\",\"source\":1,\"ts\":0,\"pid\":7,\"name\":\"" name \
	"\",\"id\":\"" name "\",\"start\":\"" start "\",\"end\":\"" end "\",\"file_offset\":0}\n"
#define FRAME(name, address, module)                                                     \
	"{\"kind\":\"frame\",\"source\":1,\"ts\":0,\"pid\":7,\"name\":\"" name           \
	"\",\"address\":\"" address "\",\"file_address\":\"0x100\",\"module\":\"" module \
	"\",\"level\":0}\n"
/* A launch by the stack that is given, and the kernel. */
#define LAUNCH(number, ts, stack_ts, kernel_ts, stack, name, dur)                                 \
	"{\"kind\":\"api\",\"source\":5,\"ts\":" #ts                                              \
	",\"dur\":500,\"pid\":7,\"tid\":7,\"name\":\"cuLaunchKernel\",\"correlation\":" #number   \
	",\"domain\":\"driver\"}\n{\"kind\":\"launch_stack\",\"source\":2,\"ts\":" #stack_ts      \
	",\"pid\":7,\"tid\":7,\"name\":\"cuLaunchKernel\",\"stack\":[" stack                      \
	"],\"stack_end\":\"complete\",\"probe\":\"cuLaunchKernel\",\"number\":" #number           \
	",\"launches\":1}\n{\"kind\":\"kernel\",\"source\":5,\"ts\":" #kernel_ts ",\"dur\":" #dur \
	",\"pid\":7,\"name\":\"" name "\",\"correlation\":" #number                               \
	",\"device\":\"GPU #1\",\"stream\":\"#1\"}\n"

/* The program calls at::c, that at::b, that at::a; at::b also a little at::x. */
/* clang-format off */
static const char capture_of_launches[] =
	"{\"kind\":\"window\",\"source\":1,\"ts\":1000,\"dur\":9000000}\n"
	"{\"kind\":\"device\",\"source\":5,\"ts\":0,\"pid\":7,\"name\":\"GPU\",\"id\":\"GPU #1\",\"number\":0}\n"
	"{\"kind\":\"probe\",\"source\":2,\"ts\":0,\"name\":\"cuLaunchKernel\",\"id\":\"cuLaunchKernel\","
	"\"binary\":\"" CUDA "\",\"returns\":\"none\",\"entry_only_reason\":\"launch_stack\"}\n"
	MODULE("/srv/train", "0x1000", "0x2000")
	MODULE(CUDA, "0x2000", "0x3000")
	MODULE(TORCH, "0x3000", "0x4000")
	FRAME("step", "0x1100", "/srv/train")
	FRAME("cuLaunchKernel", "0x2100", CUDA)
	FRAME("at::native::a_class_with_a_long_name::a(float const*)", "0x3100", TORCH)
	FRAME("at::b", "0x3200", TORCH)
	FRAME("at::c", "0x3300", TORCH)
	FRAME("at::x", "0x3400", TORCH)
	LAUNCH(1, 2000, 2100, 2600, "\"0x2100\",\"0x3101\",\"0x3201\",\"0x3301\",\"0x1101\"", "gemm", 999500)
	LAUNCH(2, 2000000, 2000100, 2000600, "\"0x2100\",\"0x3401\",\"0x3201\",\"0x3301\",\"0x1101\"", "tiny", 500);
/* clang-format on */

static char *print_report(const char *words, enum report_format format)
{
	struct fixture fixture _fixture_ = fixture_open(capture_of_launches);
	struct report_style style = {.format = format, .path = "x.gpr"};
	struct report_request request;
	struct err err = {0};
	char *text = NULL;
	size_t size;

	style.file = open_memstream(&text, &size);
	CHECK_OK(report_parse(words, &request, &err), err);
	CHECK_OK(report_print(&request, fixture.view, &style, NULL, &err), err);
	fclose(style.file);
	return text;
}

/* Behind the line of dashes. */
static void check_rows(const char *words, const char *expected)
{
	char *text = print_report(words, REPORT_COLUMN), *rows = strstr(text, "-\n");

	CHECK(rows != NULL);
	if (rows)
		CHECK_STRING(rows + 2, expected);
	free(text);
}

TEST(a_chain_of_libraries_is_one_row_with_all_of_its_time)
{
	check_rows("gpu_stacks",
		   "     100.0     1000000          0      0  step\n"
		   "     100.0     1000000        500      1   at::c … "
		   "native::a_class_with_a_long_name::a (3 frames) +\n"
		   "     100.0      999500          0      4    cuLaunchKernel\n"
		   "     100.0      999500     999500      5     gemm\n"
		   "\n + functions of libraries, each of which called only the next one: "
		   "-r gpu_stacks:frames has a row for each\n");
}

TEST(each_frame_has_a_row_for_who_asks)
{
	check_rows("gpu_stacks:frames",
		   "     100.0     1000000          0      0  step\n"
		   "     100.0     1000000          0      1   at::c\n"
		   "     100.0     1000000          0      2    at::b\n"
		   "     100.0      999500          0      3     "
		   "at::native::a_class_with_a_long_name::a(float const*)\n"
		   "     100.0      999500          0      4      cuLaunchKernel\n"
		   "     100.0      999500     999500      5       gemm\n"
		   "       0.1         500        500      3     [less]\n");
}

TEST(programs_get_a_row_for_each_frame)
{
	char *text = print_report("gpu_stacks", REPORT_CSV);

	CHECK_STRING(text,
		     "Total (%),Total (ns),Self (ns),Depth,Name\n"
		     "100.0,1000000,0,0,step\n"
		     "100.0,1000000,0,1, at::c\n"
		     "100.0,1000000,0,2,  at::b\n"
		     "100.0,999500,0,3,   at::native::a_class_with_a_long_name::a(float const*)\n"
		     "100.0,999500,0,4,    cuLaunchKernel\n"
		     "100.0,999500,999500,5,     gemm\n"
		     "0.1,500,500,3,   [less]\n");
	free(text);
}

UNIT_MAIN()
