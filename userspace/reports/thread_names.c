/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reports/thread_names.h"

#include <string.h>

size_t thread_name_stem_length(const char *name)
{
	size_t length = strlen(name);

	while (length && name[length - 1] >= '0' && name[length - 1] <= '9')
		length--;
	return length ? length : strlen(name);
}

void thread_names_append(struct text *text, const char *name, bool they_differ, u64 count)
{
	size_t length = they_differ ? thread_name_stem_length(name) : strlen(name);

	/* What stands between the number and the name belongs to neither. */
	while (they_differ && length > 1 && strchr("_-.:#/ ", name[length - 1]))
		length--;
	text_append_bytes(text, name, length);
	if (count > 1)
		text_appendf(text, " x%llu", (unsigned long long)count);
}
