/* SPDX-License-Identifier: MIT */
#include "cupti_calls.h"

enum need { OPTIONAL, REQUIRED };

const char *cupti_calls_find(struct cupti_calls *calls, const struct loader *loader, void *handle)
{
	static const struct {
		u16 offset;
		u16 need;
		const char *symbol;
	} table[] = {
#define CALL(need, name, ...) {offsetof(struct cupti_calls, name), need, "cupti" #name},
#include "cupti_calls.def"
#undef CALL
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		void *function = loader->symbol(handle, table[i].symbol);

		if (!function && table[i].need == REQUIRED)
			return table[i].symbol;
		*(void **)((u8 *)calls + table[i].offset) = function;
	}
	return NULL;
}
