/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <regex.h>

#include "exporters/xplane/xplane_ops.h"

static void check_part(const char *name, const char *expected)
{
	struct text text _cleanup_text_ = {0};

	xplane_op_append_part(&text, name);
	CHECK_STRING(text_string(&text), expected);
}

TEST(names_become_parts_that_readers_take)
{
	check_part("forward", "forward");
	check_part("layer_3", "layer_3");
	check_part("train/forward", "train/forward");
	check_part("at::native::add<float>(int)", "at.native.add");
	check_part("cublasGemmEx", "cublasGemmEx");
	check_part("two words", "two_words");
	check_part("model.py:42", "model.py");
	check_part("a:b", "a_b");
	check_part("gr\xc3\xbc\xc3\x9f", "gr____");
}

TEST(what_counts_up_is_one_operation)
{
	check_part("step 12", "step");
	check_part("ProfilerStep#7", "ProfilerStep");
	check_part("iteration: 3", "iteration");
	check_part("12", "12");
	check_part("# 12", "12");
}

TEST(odd_names_are_parts_too)
{
	check_part("", "unnamed");
	check_part("//", "unnamed");
	check_part("_start", "start");
	check_part("(anonymous namespace)::f", "anonymous_namespace_.f");
	check_part("<lambda>", "lambda_");
	check_part("a//b/", "a/b/");
	check_part("::global", "global");
}

TEST(every_name_gives_what_the_grammar_allows)
{
	struct text text _cleanup_text_ = {0};
	u32 state = 1;
	regex_t grammar;

	CHECK(!regcomp(&grammar, "^[A-Za-z0-9][A-Za-z0-9_./-]*$", REG_EXTENDED | REG_NOSUB));
	for (int i = 0; i < 20000; i++) {
		char name[24] = "";

		for (size_t at = 0; at < sizeof(name) - 1; at++) {
			state = state * 1103515245 + 12345;
			name[at] = (state >> 16) % 3 ? "ab1:/<(#_ ."[(state >> 18) % 11]
						     : (char)(state >> 18);
		}
		text_clear(&text);
		xplane_op_append_part(&text, name);
		if (regexec(&grammar, text_string(&text), 0, NULL, 0))
			UNIT_FAIL("'%s' of '%s'", text_string(&text), name);
	}
	regfree(&grammar);
}

UNIT_MAIN()
