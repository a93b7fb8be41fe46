/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program with code for GPUs, as nvcc puts it in, and CUDA's runtime linked statically: nothing else of CUDA is mapped
 * before its first call. */
#include <stdio.h>
#include <unistd.h>

__attribute__((section(".nvFatBinSegment"), used)) static long fat_binary[3] = {0x466243b1};

int main(void)
{
	puts("ready");
	fflush(stdout);
	return getchar() != '\n' && fat_binary[1];
}
