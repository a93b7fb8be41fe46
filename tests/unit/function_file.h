/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A small file with one function under test, for test_function_code and test_function_returns. */
#ifndef GPUPROBE_TESTS_FUNCTION_FILE_H
#define GPUPROBE_TESTS_FUNCTION_FILE_H

#include <ctype.h>

#include "code/function_code.h"
#include "unit.h"

#define CODE	   0x10000ULL
#define CODE_BYTES 0x1000
#define DATA	   0x20000ULL
#define DATA_BYTES 0x100
#define FUNCTION   0x10400ULL /* where the function under test stands */
#define COLD	   0x10800ULL
#define OTHER	   0x10200ULL /* another function, which has a name */
#define NOT_PLACED 0xff

struct file {
	u8 code[CODE_BYTES];
	u8 data[DATA_BYTES];
	struct code_range ranges[2];
	size_t range_count;
	bool size_unknown, no_references;
	u64 pointer;	  /* a relocation makes a pointer to this address */
	u64 symbol;	  /* another symbol */
	unsigned allowed; /* PLACE_* */
	/* what came out */
	struct function_place place;
	struct return_site *sites;
	size_t site_count;
	const char *reason;
};

static inline size_t put(u8 *bytes, const char *hex)
{
	size_t count = 0;

	while (*hex) {
		unsigned value;

		if (isspace((unsigned char)*hex)) {
			hex++;
			continue;
		}
		sscanf(hex, "%2x", &value);
		bytes[count++] = (u8)value;
		hex += 2;
	}
	return count;
}

static inline void put_range(struct file *file, u64 address, const char *hex)
{
	u8 *bytes = file->code + (address - CODE);

	file->ranges[file->range_count++] = (struct code_range){.address = address,
								.file_offset = address - CODE,
								.size_bytes = put(bytes, hex),
								.bytes = bytes};
}

static inline struct file file_with(const char *hex)
{
	struct file file = {.range_count = 0};

	memset(file.code, 0xcc, sizeof(file.code));
	put(file.code + (OTHER - CODE), "c3");
	put_range(&file, FUNCTION, hex);
	/* What points at it: as in a real file, its bytes belong to the copy that is returned. */
	return file;
}

static inline void put_distance(struct file *file, size_t index, u64 target)
{
	int32_t distance = (int32_t)(target - DATA);

	memcpy(file->data + index * sizeof(distance), &distance, sizeof(distance));
}

static inline size_t read_file(const void *data, u64 address, void *ret_bytes, size_t size)
{
	const struct file *file = data;
	const u8 *from = NULL;
	u64 left = 0;

	if (address - CODE < CODE_BYTES) {
		from = file->code + (address - CODE);
		left = CODE + CODE_BYTES - address;
	} else if (address - DATA < DATA_BYTES) {
		from = file->data + (address - DATA);
		left = DATA + DATA_BYTES - address;
	}
	size = size < left ? size : left;
	if (from)
		memcpy(ret_bytes, from, size);
	return size;
}

static inline bool is_function(const void *data, u64 address)
{
	return address == OTHER || address == FUNCTION;
}

static inline enum function_frame frame(const void *data, u64 address)
{
	return FRAME_UNKNOWN;
}

static inline void examine(struct file *file)
{
	struct code_references *references = code_references_create(CODE, CODE + CODE_BYTES);
	struct function_code function = {.ranges = file->ranges,
					 .range_count = file->range_count,
					 .size_unknown = file->size_unknown,
					 .references = file->no_references ? NULL : references,
					 .is_function = is_function,
					 .frame = frame,
					 .read = read_file,
					 .data = file};
	struct code_bases bases = {0};
	struct decoder *decoder = NULL;
	struct err err = {0};

	CHECK_OK(decoder_create(&decoder, &err), err);
	CHECK(!code_references_keep(references, CODE, CODE + CODE_BYTES - 1));
	for (size_t i = 0; i < file->range_count; i++)
		file->ranges[i].bytes = file->code + (file->ranges[i].address - CODE);
	CHECK(!code_references_add_code(references, &bases, CODE, file->code, CODE_BYTES,
					CODE_BYTES));
	code_references_add_tables(references, &bases, read_file, file);
	code_references_add(references, REFERENCE_JUMP, FUNCTION);
	code_references_add(references, REFERENCE_JUMP, OTHER);
	code_references_add(references, REFERENCE_JUMP, file->symbol);
	code_references_add(references, REFERENCE_POINTER, file->pointer);
	file->reason = function_code_place(decoder, &function, file->allowed, &file->place);
	if (!file->reason)
		CHECK(!function_code_returns(decoder, &function, &file->sites, &file->site_count,
					     &file->reason));
	code_references_free(references);
	decoder_free(decoder);
}

#define ENDBR64	 "f3 0f 1e fa "
#define PUSH_RBX "53 "
#define POP_RBX	 "5b "
#define RET	 "c3 "
#define NOP5	 "0f 1f 44 00 00 "

/* endbr64; push; cmp $1,%edi; ja; lea DATA,%rdx; movslq (%rdx,%rdi,4),%rax; add %rdx,%rax; jmp
 * *%rax */
#define SWITCH                                                                            \
	ENDBR64 PUSH_RBX "83 ff 01 77 12 48 8d 15 ef fb 00 00 48 63 04 ba 48 01 d0 ff e0" \
			 "5b c3 5b c3 5b c3"
#define CASE_0 (FUNCTION + 26)
#define CASE_1 (FUNCTION + 28)

static inline struct file file_with_switch(u64 case_0, u64 case_1)
{
	struct file file = file_with(SWITCH);

	put_distance(&file, 0, case_0);
	put_distance(&file, 1, case_1);
	return file;
}

#endif
