/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/matrix_kernels.h"

#include <ctype.h>
#include <fnmatch.h>

#include "base/array.h"
#include "base/text.h"

/* Names come from the target. Beyond these they are looked at again each time. */
#define KNOWN_MAX	(1U << 16)
#define NAME_LENGTH_MAX 4096

static const struct {
	const char *name;
	enum matrix_work work;
} rows[] = {
#define MATRIX_KERNEL(name, work) {name, MATRIX_WORK_##work},
#include "view/matrix_kernels.def"
#undef MATRIX_KERNEL
};

enum matrix_work matrix_kernel_work(const char *name)
{
	struct text text _cleanup_text_ = {0};

	text_append_char(&text, ' ');
	for (size_t i = 0; i < NAME_LENGTH_MAX && name[i]; i++)
		text_append_char(&text, tolower((unsigned char)name[i]));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (fnmatch(rows[i].name, text_string(&text), 0) == 0)
			return rows[i].work;
	return MATRIX_WORK_NONE;
}

const char *matrix_work_name(enum matrix_work work)
{
	static const char *const names[MATRIX_WORK_COUNT] = {
		[MATRIX_WORK_PRODUCT] = "matrix products",
		[MATRIX_WORK_CONVOLUTION] = "convolutions",
		[MATRIX_WORK_ATTENTION] = "attention",
	};

	return names[work];
}

int matrix_kernels_add(struct matrix_kernels *kernels, const char *name, u64 dur_ns, bool has_sizes)
{
	enum matrix_work work;
	const u64 *known;

	kernels->ns += dur_ns;
	if (has_sizes)
		return 0;
	known = map_find(&kernels->known, (uintptr_t)name, 0);
	work = known ? (enum matrix_work) * known : matrix_kernel_work(name);
	kernels->unsized_count[work]++;
	kernels->unsized_ns[work] += dur_ns;
	if (known || kernels->known.count >= KNOWN_MAX)
		return 0;
	return map_set(&kernels->known, (uintptr_t)name, 0, work);
}

void matrix_kernels_free(struct matrix_kernels *kernels)
{
	map_free(&kernels->known);
	*kernels = (struct matrix_kernels){0};
}
