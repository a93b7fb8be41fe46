/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include "exporters/xplane/gpu_peaks.h"

static double tflops(const char *name)
{
	const struct gpu_peak *peak = gpu_peak(name);

	return peak ? peak->tflops : 0;
}

TEST(known_by_the_names_that_CUDA_gives)
{
	CHECK(tflops("NVIDIA H100 80GB HBM3") == 989.4);
	CHECK(tflops("NVIDIA H100 PCIe") == 756.5);
	CHECK(tflops("NVIDIA H200") == 989.5);
	CHECK(tflops("NVIDIA H200 NVL") == 835.5);
	CHECK(tflops("NVIDIA B200") == 2250);
	CHECK(tflops("NVIDIA GB200") == 2500);
	CHECK(tflops("NVIDIA L4") == 121);
	CHECK(tflops("NVIDIA L40S") == 362.05);
	CHECK(tflops("A100-SXM4-40GB") == 312);
	CHECK(tflops("NVIDIA A100-SXM4-40GB") == 312);
	CHECK(tflops("NVIDIA GeForce RTX 4090") == 165.2);
	CHECK(tflops("Tesla T4") == 65);
	CHECK(gpu_peak("NVIDIA A100-SXM4-80GB")->bandwidth_bytes == 2039000000000ULL);
}

/* Less of a GPU, or another one, has no figure of the whole. */
TEST(what_is_less_is_not_known)
{
	CHECK(!gpu_peak("NVIDIA H100 80GB HBM3 MIG 1g.10gb"));
	CHECK(!gpu_peak("NVIDIA A100-SXM4-40GB MIG 3g.20gb"));
	CHECK(!gpu_peak("NVIDIA A10G"));
	CHECK(!gpu_peak("NVIDIA L40G"));
	CHECK(!gpu_peak("NVIDIA GeForce RTX 4090 D"));
	CHECK(!gpu_peak("NVIDIA GeForce RTX 4090 Laptop GPU"));
	CHECK(!gpu_peak("NVIDIA H100"));
	CHECK(!gpu_peak(""));
}

UNIT_MAIN()
