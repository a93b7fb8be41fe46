/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "unit.h"
#include "steps/step_name.h"

static void check_class(enum step_name (*class)(const char *name), const char *const *names,
			size_t count, enum step_name expected)
{
	for (size_t i = 0; i < count; i++)
		if (class(names[i]) != expected)
			UNIT_FAIL("\"%s\" is %d, expected %d", names[i], class(names[i]), expected);
}

#define CHECK_CLASS(class, expected, ...)                                                 \
	do {                                                                              \
		static const char *const names_[] = {__VA_ARGS__};                        \
		check_class(class, names_, sizeof(names_) / sizeof(names_[0]), expected); \
	} while (0)

TEST(names_of_steps)
{
	CHECK_CLASS(step_name_class, STEP_NAME_STEP, "step", "Step", "STEP 12", "train_step",
		    "training step #3", "TrainStep", "iteration", "Iteration7", "iter 7", "iter=7",
		    "ProfilerStep#5", "ProfilerStep*", "StepTraceAnnotation", "global step 100",
		    "epoch 3 step 12", "epoch=1, iter=2", "batch 4", "train_batch", "Batch#12",
		    "[pl][profile]run_training_batch", "decode_step", "step 3 of 10", "trainstep");
}

TEST(names_of_phases_of_which_a_step_may_be_one)
{
	CHECK_CLASS(step_name_class, STEP_NAME_PHASE, "train", "Train", "training", "train 3",
		    "train_loop", "model.train");
}

TEST(names_of_optimizers)
{
	CHECK_CLASS(step_name_class, STEP_NAME_OPTIMIZER, "Optimizer.step#Adam.step", "optimizer",
		    "optimizer_step", "adamw_step", "AdamW.step", "fused_adam", "SGDStep",
		    "apply optimizer", "Optimizer.step#SGD.step, seq = 12, op_id = 5");
}

TEST(names_that_say_nothing)
{
	CHECK_CLASS(step_name_class, STEP_NAME_NONE, "", "forward", "forward step", "step_into",
		    "stepper", "env.step", "lr_scheduler.step",
		    "Optimizer.zero_grad#Adam.zero_grad", "batch", "next batch", "load_batch 3",
		    "restraint", "12", "update", "test", "micro step", "eval", "iterator",
		    "trained", "\xff\xfe step\xc3\xa9x");
	CHECK_CLASS(step_name_class, STEP_NAME_EPOCH, "epoch 3", "train_one_epoch", "Epoch#1");
}

TEST(functions_are_named_by_their_last_parts)
{
	CHECK_CLASS(step_name_class_of_function, STEP_NAME_STEP, "train_step",
		    "ns::Trainer::train_step(int, float*)",
		    "void ns::Trainer<float, std::vector<int>>::step<3>(std::function<void ()>)",
		    "(anonymous namespace)::training_step()");
	CHECK_CLASS(step_name_class_of_function, STEP_NAME_OPTIMIZER,
		    "torch::optim::Adam::step(std::function<at::Tensor ()>)", "optimizer_step",
		    "at::native::_fused_adam_");
	CHECK_CLASS(step_name_class_of_function, STEP_NAME_NONE, "step::into(int)",
		    "train_step::operator()(int)", "sqlite3_step", "main", "", "::", "<", "(",
		    "a::");
}

TEST(numbers_in_names)
{
	CHECK_U64(step_name_number("step 12"), 12);
	CHECK_U64(step_name_number("ProfilerStep#5"), 5);
	CHECK_U64(step_name_number("step 3 of 10"), 3);
	CHECK_U64(step_name_number("epoch 3 step 12"), 12);
	CHECK_U64(step_name_number("train 7"), 7);
	CHECK_U64(step_name_number("step"), ~0ULL);
	CHECK_U64(step_name_number(""), ~0ULL);
	CHECK_U64(step_name_number("step 18446744073709551615"), ~0ULL - 1);
	CHECK_U64(step_name_number("step 99999999999999999999999"), ~0ULL - 1);
}

TEST(series_have_no_numbers)
{
	_cleanup_text_ struct text text = {0};

	step_name_append_series("epoch 12, step 7", &text);
	CHECK_STRING(text_string(&text), "epoch #, step #");
	text_clear(&text);
	step_name_append_series("42", &text);
	CHECK_STRING(text_string(&text), "#");
}

TEST(a_path_loses_the_counts_of_its_names)
{
	static const struct {
		const char *path, *said;
	} paths[] = {
		{"step 12", "step"},
		{"ProfilerStep#7/layer 3/cublasSgemm_v2", "ProfilerStep/layer/cublasSgemm_v2"},
		{"MmBackward0/(unnamed range)", "MmBackward0/(unnamed range)"},
		{"42/7", "42/7"},
		{"step 1/", "step/"},
		{"", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		_cleanup_text_ struct text text = {0};

		step_name_append_path(paths[i].path, &text);
		CHECK_STRING(text_string(&text), paths[i].said);
	}
}

UNIT_MAIN()
