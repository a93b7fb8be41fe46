/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include "exporters/xplane/xplane_hlo_module.h"
#include "hlo.pb-c.h"

static void check_name(const char *name, const char *expected)
{
	struct text text _cleanup_text_ = {0};

	text_append(&text, "before.");
	xplane_hlo_append_name(&text, name);
	CHECK_STRING(text_string(&text) + strlen("before."), expected);
}

TEST(names_of_kernels_become_those_that_readers_take)
{
	check_name("ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn");
	check_name("void at::native::add<float, 4>(float*, int)", "at_native_add");
	check_name("void (anonymous namespace)::softmax<float>(float*)", "softmax");
	check_name("at::(anonymous namespace)::softmax(float*)", "at_softmax");
	check_name("two words", "two_words");
	check_name("a.b-c", "a_b-c");
	check_name("<lambda>", "lambda");
	check_name("MemcpyDtoD (peer)", "MemcpyDtoD");
	check_name("gr\xc3\xbc\xc3\x9f\x01\xff", "gr");
}

TEST(odd_names_are_names_too)
{
	char longest[20000];
	struct text text _cleanup_text_ = {0};

	check_name("", "unnamed");
	check_name("0x10", "_0x10");
	check_name("-1", "_1");
	check_name("__nv_sin", "nv_sin");
	check_name("f32", "f32_");
	check_name("f32x", "f32x");
	check_name("::", "unnamed");
	check_name("void ", "unnamed");
	check_name("(anonymous namespace)::", "unnamed");
	check_name("\xff\xfe", "unnamed");
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	xplane_hlo_append_name(&text, longest);
	CHECK_U64(text.length, XPLANE_HLO_NAME_BYTES_MAX);
}

/* The program, and its only computation. */
struct program {
	Hlo__Program *program;
	Hlo__Module *module;
	Hlo__Computation *computation;
};

static struct program read_program(const struct xplane_hlo_module *module,
				   const struct text *buffers)
{
	struct text packed _cleanup_text_ = {0};
	struct program got;

	CHECK(!xplane_hlo_module_pack(module, "program", 42, buffers, &packed));
	got.program = hlo__program__unpack(NULL, packed.length, (u8 *)packed.data);
	CHECK(got.program);
	got.module = hlo__module__unpack(NULL, got.program->module.len, got.program->module.data);
	CHECK(got.module && got.module->n_computations == 1);
	got.computation = hlo__computation__unpack(NULL, got.module->computations[0].len,
						   got.module->computations[0].data);
	CHECK(got.computation);
	return got;
}

static void free_program(struct program *program)
{
	hlo__computation__free_unpacked(program->computation, NULL);
	hlo__module__free_unpacked(program->module, NULL);
	hlo__program__free_unpacked(program->program, NULL);
}

static void add(struct xplane_hlo_module *module, const char *name, struct xplane_hlo_cost cost)
{
	struct xplane_hlo_instruction instruction = {.name = name, .cost = cost};
	s64 id;

	CHECK(!xplane_hlo_module_add(module, &instruction, &id));
	CHECK_U64(id, module->root_id);
}

TEST(a_kernel_of_which_nothing_is_known_has_its_names_and_no_size)
{
	struct xplane_hlo_module module = {0};
	struct xplane_hlo_instruction instruction = {
		.name = "gemm.3",
		.target = "void gemm<float>(int)",
		.operation = "a/b:c:Range",
		.same_as = "gemm",
	};
	Hlo__Instruction *got;
	struct program program;
	s64 id;

	CHECK(!xplane_hlo_module_add(&module, &instruction, &id));
	program = read_program(&module, NULL);
	CHECK_STRING(program.module->name, "program");
	CHECK_U64(program.module->id, 42);
	CHECK_U64(program.module->entry_id, program.computation->id);
	CHECK(program.module->host_program_shape && program.module->host_program_shape->result);
	CHECK_U64(program.computation->root_id, id);
	CHECK_U64(program.computation->n_instructions, 1);
	got = program.computation->instructions[0];
	CHECK_U64(got->id, id);
	CHECK_STRING(got->name, "gemm.3");
	CHECK_STRING(got->opcode, "custom-call");
	CHECK_STRING(got->custom_call_target, "void gemm<float>(int)");
	CHECK_STRING(got->metadata->op_name, "a/b:c");
	CHECK_STRING(got->metadata->op_type, "Range");
	CHECK_STRING(got->metadata->deduplicated_name, "gemm");
	CHECK_U64(got->shape->n_dimensions + got->shape->n_tuple_shapes, 0);
	free_program(&program);
	xplane_hlo_module_free(&module);
}

TEST(a_target_means_nothing_to_others_and_is_cut_between_letters)
{
	struct xplane_hlo_module module = {0};
	struct xplane_hlo_instruction instruction = {.name = "a",
						     .target = "triton_kernel_call_ffi"};
	char longest[2001];
	struct program program;
	s64 id;

	CHECK(!xplane_hlo_module_add(&module, &instruction, &id));
	memset(longest, 'x', sizeof(longest));
	memcpy(longest + 998, "\xe2\x82\xac", 3);
	longest[2000] = '\0';
	instruction = (struct xplane_hlo_instruction){.name = "b", .target = longest};
	CHECK(!xplane_hlo_module_add(&module, &instruction, &id));
	program = read_program(&module, NULL);
	CHECK_STRING(program.computation->instructions[0]->custom_call_target,
		     "triton_kernel_call_ffi()");
	CHECK_U64(strlen(program.computation->instructions[1]->custom_call_target), 1000);
	CHECK_STRING(program.computation->instructions[1]->custom_call_target + 996, "xx()");
	free_program(&program);
	xplane_hlo_module_free(&module);
}

/* Each operand stands in front of what it is of. */
static void check_operands(const struct program *program)
{
	for (size_t i = 0; i < program->computation->n_instructions; i++) {
		Hlo__Instruction *one = program->computation->instructions[i];

		for (size_t j = 0; j < one->n_operand_ids; j++) {
			size_t at = 0;

			while (at < i &&
			       program->computation->instructions[at]->id != one->operand_ids[j])
				at++;
			CHECK(at < i);
		}
	}
}

static Hlo__Instruction *find(const struct program *program, const char *name)
{
	for (size_t i = 0; i < program->computation->n_instructions; i++)
		if (!strcmp(program->computation->instructions[i]->name, name))
			return program->computation->instructions[i];
	CHECK(!name);
	return NULL;
}

TEST(copies_and_sets_have_the_bytes_that_they_move)
{
	static const struct {
		u32 form;
		const char *name, *opcode;
		bool is_in_tuple;
	} cases[] = {
		{XPLANE_HLO_INFEED, "in", "infeed", true},
		{XPLANE_HLO_COPY, "copy", "copy", false},
		{XPLANE_HLO_FILL, "set", "broadcast", false},
		{XPLANE_HLO_MEMORY, "memory", "custom-call", false},
	};
	struct xplane_hlo_module module = {0};
	struct program program;

	for (size_t i = 0; i < 4; i++)
		add(&module, cases[i].name,
		    (struct xplane_hlo_cost){.form = cases[i].form, .bytes = 1000 + i});
	add(&module, "out", (struct xplane_hlo_cost){.form = XPLANE_HLO_OUTFEED, .bytes = 77});
	add(&module, "out2", (struct xplane_hlo_cost){.form = XPLANE_HLO_OUTFEED, .bytes = 78});
	program = read_program(&module, NULL);
	check_operands(&program);
	for (size_t i = 0; i < 4; i++) {
		Hlo__Instruction *one = find(&program, cases[i].name);
		Hlo__Shape *shape = cases[i].is_in_tuple ? one->shape->tuple_shapes[0] : one->shape;

		CHECK_STRING(one->opcode, cases[i].opcode);
		CHECK_U64(shape->element_type, XPLANE_HLO_U8);
		CHECK_U64(shape->n_dimensions, 1);
		CHECK_U64(shape->dimensions[0], 1000 + i);
		CHECK_U64(shape->layout->n_minor_to_major, 1);
	}
	CHECK_U64(find(&program, "out")->outfeed_shape->dimensions[0], 77);
	CHECK_U64(find(&program, "out.source")->shape->dimensions[0], 77);
	CHECK_U64(find(&program, "out2")->operand_ids[1], find(&program, "out")->operand_ids[1]);
	free_program(&program);
	xplane_hlo_module_free(&module);
}

TEST(a_product_of_matrices_has_their_sizes_and_types)
{
	struct xplane_hlo_cost cost = {.form = XPLANE_HLO_MATMUL,
				       .left_type = XPLANE_HLO_BF16,
				       .right_type = XPLANE_HLO_F16,
				       .result_type = XPLANE_HLO_F32,
				       .m = 128,
				       .n = 256,
				       .k = 512,
				       .batch = 4};
	struct xplane_hlo_module module = {0};
	Hlo__Instruction *one;
	struct program program;

	add(&module, "many", cost);
	cost.batch = 1;
	add(&module, "one", cost);
	program = read_program(&module, NULL);
	check_operands(&program);
	one = find(&program, "many");
	CHECK_STRING(one->opcode, "dot");
	CHECK_U64(one->shape->element_type, XPLANE_HLO_F32);
	CHECK_U64(one->shape->dimensions[0], 4);
	CHECK_U64(one->shape->dimensions[1], 128);
	CHECK_U64(one->shape->dimensions[2], 256);
	CHECK_U64(one->dot_dimension_numbers->lhs_contracting[0], 2);
	CHECK_U64(one->dot_dimension_numbers->rhs_contracting[0], 1);
	CHECK_U64(one->dot_dimension_numbers->lhs_batch[0], 0);
	CHECK_U64(find(&program, "many.left")->shape->element_type, XPLANE_HLO_BF16);
	CHECK_U64(find(&program, "many.left")->shape->dimensions[2], 512);
	CHECK_U64(find(&program, "many.right")->shape->dimensions[1], 512);
	one = find(&program, "one");
	CHECK_U64(one->shape->n_dimensions, 2);
	CHECK_U64(one->dot_dimension_numbers->lhs_contracting[0], 1);
	CHECK_U64(one->dot_dimension_numbers->rhs_contracting[0], 0);
	CHECK_U64(one->dot_dimension_numbers->n_lhs_batch, 0);
	CHECK_U64(find(&program, "one.right")->shape->dimensions[0], 512);
	free_program(&program);
	xplane_hlo_module_free(&module);
}

TEST(what_events_say_themselves_has_no_size)
{
	struct xplane_hlo_cost cost = {.form = XPLANE_HLO_COUNTED, .flops = 48000};
	struct xplane_hlo_module module = {0};
	struct program program;

	add(&module, "complex", cost);
	program = read_program(&module, NULL);
	CHECK_U64(program.computation->n_instructions, 1);
	CHECK_STRING(program.computation->instructions[0]->opcode, "custom-call");
	CHECK_U64(program.computation->instructions[0]->shape->n_tuple_shapes, 0);
	free_program(&program);
	xplane_hlo_module_free(&module);
}

TEST(sizes_that_make_no_sense_are_not_known)
{
	static const struct xplane_hlo_cost costs[] = {
		{.form = XPLANE_HLO_COPY, .bytes = XPLANE_HLO_BYTES_MAX + 1},
		{.form = XPLANE_HLO_MATMUL, .m = 0, .n = 1, .k = 1, .batch = 1},
		{.form = XPLANE_HLO_MATMUL, .m = 1, .n = 1, .k = 1, .batch = 0},
		{.form = XPLANE_HLO_MATMUL, .m = 1ULL << 32, .n = 1, .k = 1ULL << 32, .batch = 1},
		{.form = XPLANE_HLO_MATMUL,
		 .m = 1ULL << 20,
		 .n = 1ULL << 20,
		 .k = 1,
		 .batch = 1ULL << 30},
	};
	struct xplane_hlo_module module = {0};
	struct program program;

	for (size_t i = 0; i < 5; i++)
		add(&module, "f", costs[i]);
	program = read_program(&module, NULL);
	CHECK_U64(program.computation->n_instructions, 5);
	for (size_t i = 0; i < 5; i++)
		CHECK_STRING(program.computation->instructions[i]->opcode, "custom-call");
	free_program(&program);
	xplane_hlo_module_free(&module);
}

UNIT_MAIN()
