/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack_by_libdw PID: at each line of its input the stacks of all threads of a process that is stopped, by libdw and ptrace; it stays
 * stopped. "thread TID", then "ADDRESS EXACT" a frame, innermost first, where EXACT is 1 for the address of an instruction that runs
 * next (the innermost one, and what a signal interrupted), else it is a return address; "end WHY". At last "done" or "failed WHY".
 */
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>

static int print_frame(Dwfl_Frame *frame, void *data)
{
	Dwarf_Addr address;
	bool exact;

	if (!dwfl_frame_pc(frame, &address, &exact))
		return DWARF_CB_ABORT;
	printf("%#lx %d\n", (unsigned long)address, exact);
	return DWARF_CB_OK;
}

static int print_thread(Dwfl_Thread *thread, void *data)
{
	printf("thread %d\n", dwfl_thread_tid(thread));
	printf("end %s\n",
	       dwfl_thread_getframes(thread, print_frame, NULL) ? dwfl_errmsg(-1) : "complete");
	return DWARF_CB_OK;
}

static int print_stacks(Dwfl *dwfl, pid_t pid)
{
	int result;

	dwfl_report_begin(dwfl);
	if (dwfl_linux_proc_report(dwfl, pid) || dwfl_report_end(dwfl, NULL, NULL))
		return -1;
	result = dwfl_linux_proc_attach(dwfl, pid, false);
	if (result > 0)
		fprintf(stderr, "error %d\n", result);
	return result ? -1 : dwfl_getthreads(dwfl, print_thread, NULL);
}

int main(int argc, char **argv)
{
	static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
						 .find_debuginfo = dwfl_standard_find_debuginfo};
	char line[16];

	if (argc != 2)
		return 2;
	while (fgets(line, sizeof(line), stdin)) {
		Dwfl *dwfl = dwfl_begin(&callbacks);

		if (print_stacks(dwfl, atoi(argv[1])))
			printf("failed %s\n", dwfl_errmsg(-1));
		else
			puts("done");
		fflush(stdout);
		dwfl_end(dwfl);
	}
	return 0;
}
