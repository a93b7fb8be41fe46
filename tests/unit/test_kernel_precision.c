/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include "exporters/xplane/kernel_precision.h"

static void check(const char *name, bool expected)
{
	if (kernel_name_is_half(name) != expected)
		printf("# %s\n", name);
	CHECK(kernel_name_is_half(name) == expected);
}

TEST(names_that_tell_of_16_bits)
{
	check("void at::native::elementwise_kernel<128, 4, "
	      "at::native::CUDAFunctor_add<c10::BFloat16>>(int)",
	      true);
	check("void at::native::vectorized_elementwise_kernel<4, "
	      "at::native::CUDAFunctor_add<c10::Half>>(int)",
	      true);
	check("flash_fwd_kernel<Flash_fwd_kernel_traits<128, cutlass::bfloat16_t>>", true);
	check("void "
	      "cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_32x4_nn_align8>",
	      true);
	check("sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x64", true);
	check("ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_nn", true);
	check("volta_h884gemm_128x64_ldg8_nn", true);
	check("k(__half*, __half const*)", true);
	check("k(__nv_bfloat16*)", true);
	check("nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NNT", true);
	check("nvjet_tss_64x8_64x16_2x1_v_bz_splitK_TNT", true);
	check("nvjet_sm100_tst_32x64_64x16_4x1_v_bz_TNN", true);
}

TEST(others)
{
	check("ampere_sgemm_128x64_tn", false);
	check("sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x16", false);
	check("nvjet_sm100_qqtst_128x256_128x6_2x1_2cta_v_bz_bias_TNT", false);
	check("nvjet_sss_tf32_128x256_TNT", false);
	check("halfway_through(float*)", false);
	check("find_halfplane(float*)", false);
	check("copy_buf16(float*)", false);
	check("triton_poi_fused_add_0", false);
	check("", false);
}

UNIT_MAIN()
