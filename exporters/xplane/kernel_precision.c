/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/xplane/kernel_precision.h"

#include <ctype.h>
#include <fnmatch.h>

#include "base/array.h"
#include "base/text.h"

/* Names come from the target. Beyond these they are looked at again each time. */
#define KNOWN_MAX	(1U << 16)
#define NAME_LENGTH_MAX 4096

static const char *const half_names[] = {
#define KERNEL_HALF(name) name,
#include "exporters/xplane/kernel_precision.def"
#undef KERNEL_HALF
};

bool kernel_name_is_half(const char *name)
{
	struct text text _cleanup_text_ = {0};

	text_append_char(&text, ' ');
	for (size_t i = 0; i < NAME_LENGTH_MAX && name[i]; i++)
		text_append_char(&text, tolower((unsigned char)name[i]));
	for (size_t i = 0; i < ARRAY_SIZE(half_names); i++)
		if (fnmatch(half_names[i], text_string(&text), 0) == 0)
			return true;
	return false;
}

static bool is_half(u8 type)
{
	return type == VALUE_data_type_f16 || type == VALUE_data_type_bf16;
}

int kernel_precision_find(struct kernel_precision *precision, const struct view_event *event,
			  bool *ret_half)
{
	const struct view_matmul *matmul = event->cause ? event->cause->matmul : NULL;
	const u64 *known;

	*ret_half = matmul && is_half(matmul->type_a) && is_half(matmul->type_b);
	if (*ret_half)
		return 0;
	known = map_find(&precision->known, (uintptr_t)event->name, 0);
	*ret_half = known ? *known : kernel_name_is_half(event->name);
	if (known || precision->known.count >= KNOWN_MAX)
		return 0;
	return map_set(&precision->known, (uintptr_t)event->name, 0, *ret_half);
}

void kernel_precision_free(struct kernel_precision *precision)
{
	map_free(&precision->known);
}
