/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/process_rank.h"
#include "unit.h"

#define FIND(environment, rank) process_rank_find(environment, sizeof(environment) - 1, rank)

TEST(launchers_tell_ranks)
{
	struct process_rank rank;

	CHECK(FIND("HOME=/root\0RANK=3\0LOCAL_RANK=1\0WORLD_SIZE=8\0", &rank));
	CHECK_U64(rank.rank, 3);
	CHECK_U64(rank.local_rank, 1);
	CHECK_U64(rank.world_size, 8);
	CHECK(FIND("OMPI_COMM_WORLD_SIZE=2\0OMPI_COMM_WORLD_RANK=0\0", &rank));
	CHECK_U64(rank.rank, 0);
	CHECK_U64(rank.local_rank, PROCESS_RANK_UNKNOWN);
	CHECK(FIND("SLURM_PROCID=15\0SLURM_NTASKS=16\0SLURM_LOCALID=7\0", &rank));
	CHECK_U64(rank.local_rank, 7);
}

TEST(what_is_no_rank_is_none)
{
	struct process_rank rank;

	CHECK(!FIND("", &rank));
	CHECK(!FIND("RANK=3\0", &rank));
	CHECK(!FIND("RANK=8\0WORLD_SIZE=8\0", &rank));
	CHECK(!FIND("RANK=secret\0WORLD_SIZE=8\0", &rank));
	CHECK(!FIND("RANK=1x\0WORLD_SIZE=8\0", &rank));
	CHECK(!FIND("RANK=\0WORLD_SIZE=8\0", &rank));
	CHECK(!FIND("RANK=-1\0WORLD_SIZE=8\0", &rank));
	CHECK(!FIND("RANK=1\0WORLD_SIZE=12345678901\0", &rank));
	CHECK(!FIND("MY_RANK=1\0MY_WORLD_SIZE=8\0", &rank));
}

UNIT_MAIN()
