/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which kernels multiply matrices, by their names, and how many of these have no sizes. */
#include "base/text.h"
#include "capture_fixture.h"
#include "view/matrix_kernels.h"
#include "view/view_parts.h"

TEST(names_of_kernels)
{
	static const struct {
		const char *name;
		enum matrix_work work;
	} rows[] = {
		/* Of captures of an H100. */
		{"nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT", MATRIX_WORK_PRODUCT},
		{"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_stage3_warpsize1x2x1",
		 MATRIX_WORK_PRODUCT},
		{"gemm_fusion_dot", MATRIX_WORK_PRODUCT},
		{"cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_64x64x64",
		 MATRIX_WORK_ATTENTION},
		{"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64",
		 MATRIX_WORK_ATTENTION},
		{"void cudnn::fusion::compute_dot_do_o_specialized<true, 64>(void const*)",
		 MATRIX_WORK_NONE},
		{"void cudnn::fusion::convert_dq_to_16bits<true>(void const*)", MATRIX_WORK_NONE},
		{"triton_softmax_2", MATRIX_WORK_NONE},
		{"void at::native::(anonymous namespace)::cunn_SoftMaxForwardReg<c10::BFloat16>()",
		 MATRIX_WORK_NONE},
		/* As libraries call theirs. */
		{"void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>>()",
		 MATRIX_WORK_ATTENTION},
		{"void flash::flash_bwd_dot_do_o_kernel<true>()", MATRIX_WORK_NONE},
		{"fmha_cutlassF_bf16_aligned_64x64_rf_sm80(AttentionKernel::Params)",
		 MATRIX_WORK_ATTENTION},
		{"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x64>()",
		 MATRIX_WORK_PRODUCT},
		{"sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128",
		 MATRIX_WORK_CONVOLUTION},
		{"void implicit_convolve_sgemm<float, float, 128, 5>()", MATRIX_WORK_CONVOLUTION},
		{"void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel<5>()",
		 MATRIX_WORK_CONVOLUTION},
		{"void cublasLt::splitKreduce_kernel<32, 16, int, float>()", MATRIX_WORK_NONE},
		{"void gemv2T_kernel_val<int, int, float>()", MATRIX_WORK_PRODUCT},
		{"void mul_mat_vec_q<(ggml_type)12, 1>()", MATRIX_WORK_PRODUCT},
		{"void at::native::vectorized_elementwise_kernel<4, gemm_epilogue_functor>()",
		 MATRIX_WORK_NONE},
		{"AMPERE_SGEMM_128X64_NN", MATRIX_WORK_PRODUCT},
		{"", MATRIX_WORK_NONE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (matrix_kernel_work(rows[i].name) != rows[i].work)
			UNIT_FAIL("%s is %d", rows[i].name, matrix_kernel_work(rows[i].name));
}

TEST(those_with_sizes_count_as_time_only)
{
	struct matrix_kernels kernels = {0};
	static const char gemm[] = "gemm", other[] = "other";

	CHECK(matrix_kernels_add(&kernels, gemm, 10, true) == 0);
	CHECK(matrix_kernels_add(&kernels, gemm, 20, false) == 0);
	CHECK(matrix_kernels_add(&kernels, gemm, 30, false) == 0);
	CHECK(matrix_kernels_add(&kernels, other, 40, false) == 0);
	CHECK_U64(kernels.ns, 100);
	CHECK_U64(kernels.unsized_count[MATRIX_WORK_PRODUCT], 2);
	CHECK_U64(kernels.unsized_ns[MATRIX_WORK_PRODUCT], 50);
	CHECK_U64(kernels.unsized_count[MATRIX_WORK_ATTENTION], 0);
	matrix_kernels_free(&kernels);
}

#define API(correlation, ts)                                                                      \
	"{\"kind\":\"api\",\"pid\":1,\"tid\":1,\"name\":\"launch\",\"correlation\":" #correlation \
	",\"ts\":" #ts ",\"dur\":1}\n"
#define KERNEL(name, correlation, ts, dur)                                                   \
	"{\"kind\":\"kernel\",\"pid\":1,\"name\":\"" name "\",\"correlation\":" #correlation \
	",\"ts\":" #ts ",\"dur\":" #dur ",\"device\":\"gpu\",\"stream\":\"s\"}\n"
#define CALL(ts, dur)                                                                             \
	"{\"kind\":\"call\",\"pid\":1,\"tid\":1,\"name\":\"gemm\",\"probe\":\"gemm\",\"ts\":" #ts \
	",\"dur\":" #dur "}\n"
#define SIZES(ts)                                                                        \
	"{\"kind\":\"matmul\",\"pid\":1,\"tid\":1,\"name\":\"gemm\",\"probe\":\"gemm\"," \
	"\"ts\":" #ts ",\"m\":2,\"n\":3,\"k\":5,\"batch\":1}\n"
#define NO_SIZES(ts)                                                                     \
	"{\"kind\":\"matmul\",\"pid\":1,\"tid\":1,\"name\":\"gemm\",\"probe\":\"gemm\"," \
	"\"ts\":" #ts "}\n"
#define PROBE "{\"kind\":\"probe\",\"name\":\"gemm\",\"id\":\"gemm\"}\n"

/* "count place" of each entry of this reason. */
static void check_ledger(const struct view *view, const char *expected)
{
	const struct view_survey *survey = view_survey(view);
	struct text text _cleanup_text_ = {0};

	for (size_t i = 0; i < survey->loss_count; i++)
		if (survey->losses[i].reason == VALUE_loss_reason_size_unknown)
			text_appendf(&text, "%llu %s\n",
				     (unsigned long long)survey->losses[i].count,
				     survey->losses[i].place);
	CHECK_STRING(text_string(&text), expected);
}

TEST(what_has_no_sizes_is_in_the_ledger)
{
	/* The second kernel of a call with sizes has none of its own, and needs none. */
	struct fixture fixture _fixture_ = fixture_open(
		PROBE CALL(10, 10) SIZES(10) API(1, 11) API(2, 12) CALL(30, 10) NO_SIZES(30)
			API(3, 31) API(4, 50) KERNEL("a_gemm", 1, 100, 250)
				KERNEL("b_gemm", 2, 400, 250) KERNEL("c_gemm", 3, 700, 250)
					KERNEL("x_sdpa_y", 4, 1000, 249) KERNEL("z", 4, 1300, 1)
						KERNEL("winograd", 9, 1400, 1000000));

	check_ledger(fixture.view,
		     "1 attention, less than 0.1 % of the time of all kernels\n"
		     "1 convolutions, 99.9 % of the time of all kernels\n"
		     "1 matrix products, less than 0.1 % of the time of all kernels\n");
}

TEST(nothing_is_said_where_all_have_sizes)
{
	struct fixture fixture _fixture_ =
		fixture_open(PROBE CALL(10, 10) SIZES(10) API(1, 11) KERNEL("a_gemm", 1, 100, 250));

	check_ledger(fixture.view, "");
}

UNIT_MAIN()
