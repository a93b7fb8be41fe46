/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is read of an interpreter of Python: its memory (an image of each version, with words of it changed), code objects as the BPF programs
 * send them, tables of lines. The first byte chooses.
 */
#include <stdlib.h>

#include "../unit/python_image.h"
#include "base/array.h"
#include "python/python_codes.h"
#include "python/python_lines.h"

struct change {
	u16 place; /* of the image, in words */
	u64 word;
} __attribute__((packed));

static void read_memory(const u8 *bytes, size_t size)
{
	struct image *image = calloc(1, sizeof(*image));
	char version[PYTHON_VERSION_BYTES];
	struct python_process process;
	struct err err = {0};

	builds[bytes[0] % ARRAY_SIZE(builds)](image);
	for (size_t i = 1; i + sizeof(struct change) <= size; i += sizeof(struct change)) {
		struct change change;

		memcpy(&change, bytes + i, sizeof(change));
		put(image, BASE + change.place % (IMAGE_BYTES / 8) * 8, change.word);
	}
	if (open_image(image, version, &process, &err) && !err.message[0])
		abort();
	if (image->reads > 1000000)
		abort();
	free(image);
}

static void read_code(const u8 *bytes, size_t size)
{
	struct python_codes codes = {0};
	struct python_code *code = calloc(1, sizeof(*code));
	size_t taken = size < sizeof(*code) ? size : sizeof(*code);

	memcpy(code, bytes, taken);
	python_codes_add(&codes, code, taken);
	for (u32 number = 0; number < 100; number++)
		(void)python_codes_find(&codes, PYTHON_FRAME_OF(code->id, number));
	python_codes_free(&codes);
	free(code);
}

static void read_lines(const u8 *bytes, size_t size)
{
	for (u32 unit = 0; unit < 200; unit++)
		(void)python_line_of(bytes[0] % 3, bytes + 1, size - 1, 7, unit);
}

int LLVMFuzzerTestOneInput(const u8 *bytes, size_t size)
{
	if (size < 2)
		return 0;
	switch (bytes[0] % 3) {
	case 0:
		read_memory(bytes + 1, size - 1);
		break;
	case 1:
		read_code(bytes + 1, size - 1);
		break;
	default:
		read_lines(bytes + 1, size - 1);
	}
	return 0;
}
