/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/process_rank.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "process/proc_file.h"

#define DIGITS_MAX 6

static const struct {
	const char *rank, *world_size, *local_rank;
} families[] = {
	{"RANK", "WORLD_SIZE", "LOCAL_RANK"},
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
	{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
	{"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
};

/* PROCESS_RANK_UNKNOWN: there is no such variable, or it is no number. */
static u32 number_of(const char *environment, size_t size, const char *name)
{
	size_t length = strlen(name);

	for (const char *entry = environment; entry < environment + size;
	     entry += strlen(entry) + 1) {
		const char *value = entry + length + 1;
		size_t digits;

		if (strncmp(entry, name, length) != 0 || entry[length] != '=')
			continue;
		digits = strspn(value, "0123456789");
		if (digits && digits <= DIGITS_MAX && !value[digits])
			return (u32)strtoul(value, NULL, 10);
		break;
	}
	return PROCESS_RANK_UNKNOWN;
}

bool process_rank_find(const char *environment, size_t size, struct process_rank *ret_rank)
{
	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		*ret_rank = (struct process_rank){
			.rank = number_of(environment, size, families[i].rank),
			.world_size = number_of(environment, size, families[i].world_size),
			.local_rank = number_of(environment, size, families[i].local_rank),
		};
		if (ret_rank->world_size != PROCESS_RANK_UNKNOWN &&
		    ret_rank->rank < ret_rank->world_size)
			return true;
	}
	return false;
}

bool process_rank_read(u32 pid, struct process_rank *ret_rank)
{
	_cleanup_free_ char *environment = NULL;
	char path[32];
	size_t size;

	snprintf(path, sizeof(path), "/proc/%u/environ", pid);
	return !proc_file_read(AT_FDCWD, path, &environment, &size) &&
	       process_rank_find(environment, size, ret_rank);
}
