/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include "exporters/xplane/input_stages.h"

static void check(u16 kind, const char *name, enum input_stage expected)
{
	enum input_stage found = input_stage_of_name(name, kind);

	if (found != expected)
		printf("# %s is %d\n", name, found);
	CHECK(found == expected);
}

TEST(ranges_of_known_loaders)
{
	check(KIND_range, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
	      INPUT_STAGE_OTHER);
	check(KIND_range, "enumerate(DataPipe)#Collator", INPUT_STAGE_OTHER);
	check(KIND_range, "[pl][profile][_TrainingEpochLoop].train_dataloader_next",
	      INPUT_STAGE_OTHER);
	check(KIND_range, "[DALI][VideoReader] Prefetch #3", INPUT_STAGE_READ);
	check(KIND_range, "[DALI][DataReader] Prefetch #12", INPUT_STAGE_READ);
	check(KIND_range, "[DALI][CPU op] readers.File", INPUT_STAGE_READ);
	check(KIND_range, "[DALI][CPU op] Resize_3", INPUT_STAGE_PREPROCESSING);
}

TEST(ranges_that_programs_name)
{
	check(KIND_range, "loading data", INPUT_STAGE_OTHER);
	check(KIND_range, "Data_Loading", INPUT_STAGE_OTHER);
	check(KIND_range, "DataLoad", INPUT_STAGE_OTHER);
	check(KIND_range, "data_wait", INPUT_STAGE_OTHER);
	check(KIND_usdt_span, "batch-generator", INPUT_STAGE_OTHER);
	check(KIND_range, "tokenize", INPUT_STAGE_PREPROCESSING);
	check(KIND_range, "data_prep", INPUT_STAGE_PREPROCESSING);
	check(KIND_range, "image_decode", INPUT_STAGE_PREPROCESSING);
	check(KIND_range, "Data_Transfer", INPUT_STAGE_ENQUEUE);
	check(KIND_range, "copy H2D", INPUT_STAGE_ENQUEUE);
	check(KIND_process_range, "next batch", INPUT_STAGE_OTHER);
	check(KIND_range, "data", INPUT_STAGE_OTHER);
	check(KIND_range, "dataloader", INPUT_STAGE_OTHER);
	check(KIND_range, "DataLoader", INPUT_STAGE_OTHER);
	check(KIND_range, "next", INPUT_STAGE_OTHER);
	check(KIND_usdt_span, "next", INPUT_STAGE_OTHER);
}

TEST(functions_by_their_last_part)
{
	check(KIND_call, "load_batch", INPUT_STAGE_OTHER);
	check(KIND_call, "ns::Loader<std::string>::next_batch(std::vector<int>&)",
	      INPUT_STAGE_OTHER);
	check(KIND_call, "(anonymous namespace)::decode_jpeg(char const*)",
	      INPUT_STAGE_PREPROCESSING);
	check(KIND_call, "readFile", INPUT_STAGE_READ);
	check(KIND_call, "__libc_pread64", INPUT_STAGE_READ);
	check(KIND_call, "pread64", INPUT_STAGE_READ);
	check(KIND_call, "read", INPUT_STAGE_OTHER);
	check(KIND_call, "DataLoader::size()", INPUT_STAGE_NONE);
	check(KIND_call, "Buffer::data()", INPUT_STAGE_NONE);
	check(KIND_call, "std::list<int>::iterator::next()", INPUT_STAGE_NONE);
	check(KIND_call, "spread_work", INPUT_STAGE_NONE);
	check(KIND_call, "f(load_batch)", INPUT_STAGE_NONE);
}

/* What could be something else. */
TEST(others_are_none)
{
	static const char *const names[] = {
		"decode",     "detokenize",    "load model",   "load_weights",
		"forward",    "data_parallel", "batch_norm",   "read",
		"",	      "step 3",	       "preprocessor", "optimizer.step",
		"prefetch",   "batch 7",       "transformer",  "next_step",
		"next token", "update data",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		check(KIND_range, names[i], INPUT_STAGE_NONE);
	check(KIND_api, "cudaMemcpyAsync", INPUT_STAGE_NONE);
	check(KIND_api, "cuMemcpyDtoHAsync", INPUT_STAGE_NONE);
	check(KIND_kernel, "load_batch", INPUT_STAGE_NONE);
}

TEST(calls_of_CUDA_whose_name_says_it)
{
	check(KIND_api, "cuMemcpyHtoDAsync", INPUT_STAGE_ENQUEUE);
	check(KIND_api, "cuMemcpyHtoD", INPUT_STAGE_ENQUEUE);
}

UNIT_MAIN()
