/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "reports/shown_name.h"
#include "unit.h"

#define NAMES_MAX 4

/* expected: as many, up to the first NULL. */
static void check_names(const char *const *names, const char *const *expected, size_t columns,
			bool code)
{
	struct text shown[NAMES_MAX] = {0};
	size_t count = 0;

	while (count < NAMES_MAX && names[count])
		count++;
	CHECK(shown_names(names, count, columns, code, shown) == 0);
	for (size_t i = 0; i < count; i++) {
		CHECK_STRING(text_string(&shown[i]), expected[i]);
		CHECK(text_columns(text_string(&shown[i])) <= columns);
		text_free(&shown[i]);
	}
}

TEST(code_loses_what_tells_nothing)
{
	static const char *const names[] = {
		"void at::native::(anonymous namespace)::softmax_warp_forward<float, 8>(float*, "
		"int)",
		"std::enable_if<(4)>::type ns::f<ns::g<int>, other::ns::h>(char) ",
		"plain_kernel",
		NULL,
	};
	static const char *const expected[] = {
		"at::native::softmax_warp_forward<float, 8>",
		"ns::f<g<int>, other::ns::h>",
		"plain_kernel",
	};

	check_names(names, expected, 60, true);
}

TEST(brackets_that_are_names_are_left_alone)
{
	static const char *const names[] = {
		"ns::operator()(int) const",
		"f(int)::{lambda()#1}",
		"operator<<(std::ostream&, X)",
		"(anonymous namespace)::f()",
		NULL,
	};
	static const char *const expected[] = {
		"ns::operator()(int) const",
		"f(int)::{lambda()#1}",
		"operator<<(std::ostream&, X)",
		"f",
	};

	check_names(names, expected, 60, true);
}

TEST(overloads_keep_their_parameters)
{
	static const char *const names[] = {"void f(int)", "void f(char)", "void f(int)",
					    "void g(int)", NULL};
	static const char *const expected[] = {"f(int)", "f(char)", "f(int)", "g"};

	check_names(names, expected, 60, true);
}

TEST(words_are_not_code)
{
	static const char *const names[] = {"train step (epoch 1)", "\033[31mred", NULL};
	static const char *const expected[] = {"train step (epoch 1)", "\\x1b[31mred"};

	check_names(names, expected, 60, false);
}

TEST(what_is_alike_is_cut)
{
	static const char *const names[] = {
		"sm80_xmma_gemm_f32f32_tilesize32x32x8_stage3_execute_kernel__5x_cublas",
		"sm80_xmma_gemm_f32f32_tilesize32x32x8_stage3_execute_split_k_kernel__5x_cublas",
		"ns::a_short_one",
		NULL,
	};
	static const char *const expected[] = {
		"sm80_xmma_gem…ge3_execute_kernel__5x_cu…",
		"sm80_xmma_gem…ge3_execute_split_k_kerne…",
		"ns::a_short_one",
	};

	check_names(names, expected, 40, true);
}

TEST(the_front_may_differ)
{
	static const char *const names[] = {
		"first_kernel_of_a_library_whose_names_are_long_and_end_in_this",
		"other_kernel_of_a_library_whose_names_are_long_and_end_in_that",
		NULL,
	};
	static const char *const expected[] = {
		"first_kernel_of_a_library_…d_end_in_this",
		"other_kernel_of_a_library_…d_end_in_that",
	};

	check_names(names, expected, 40, true);
}

TEST(a_number_tells_the_rest_apart)
{
	static const char *const names[] = {"void f()", "int f()", "void f()", NULL};
	static const char *const expected[] = {"f()", "f() #2", "f()"};

	check_names(names, expected, 40, true);
}

/* Whatever a target calls itself: no name is longer than its room, none is the same as another. */
TEST(all_differ)
{
	static const char *const middles[] = {"", "a", "(", "<", "é", "operator"};
	struct text names[ARRAY_SIZE(middles)] = {0}, shown[ARRAY_SIZE(middles)] = {0};
	const char *strings[ARRAY_SIZE(middles)];

	for (size_t at = 0; at < 120; at++) {
		for (size_t i = 0; i < ARRAY_SIZE(middles); i++) {
			text_clear(&names[i]);
			text_clear(&shown[i]);
			for (size_t j = 0; j < 120; j++)
				text_append(&names[i], j == at ? middles[i] : j % 7 ? "x" : "é");
			strings[i] = text_string(&names[i]);
		}
		CHECK(shown_names(strings, ARRAY_SIZE(middles), 30, at % 2, shown) == 0);
		for (size_t i = 0; i < ARRAY_SIZE(middles); i++) {
			CHECK(text_columns(text_string(&shown[i])) <= 30);
			for (size_t j = 0; j < i; j++)
				CHECK(strcmp(text_string(&shown[i]), text_string(&shown[j])) != 0);
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(middles); i++) {
		text_free(&names[i]);
		text_free(&shown[i]);
	}
}

UNIT_MAIN()
