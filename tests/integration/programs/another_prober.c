/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Another tool than gpuprobe: counts at an offset of a file that a process executes, until its input ends.
 *
 *	another_prober PID FILE OFFSET
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned type_of_probes(void)
{
	FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	unsigned type = 0;

	if (!file || fscanf(file, "%u", &type) != 1)
		type = 0;
	if (file)
		fclose(file);
	return type;
}

int main(int argc, char **argv)
{
	struct perf_event_attr event = {.size = sizeof(event), .type = type_of_probes()};

	if (argc != 4)
		return 2;
	event.uprobe_path = (uintptr_t)argv[2];
	event.probe_offset = strtoull(argv[3], NULL, 0);
	if (!event.type || syscall(SYS_perf_event_open, &event, atoi(argv[1]), -1, -1, 0) < 0) {
		puts("refused");
		return 0;
	}
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
