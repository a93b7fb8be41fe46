/* SPDX-License-Identifier: MIT */
#include "api_calls.h"

#include <string.h>

#include "../../bpf/record.h"

static const struct {
	u8 group;
	u8 domain;
	u8 length_bytes;
	const char *beginning;
} rows[] = {
#define API(group, domain, beginning) \
	{API_GROUP_##group, VALUE_api_domain_##domain, sizeof(beginning) - 1, beginning},
#include "api_calls.def"
};

enum api_group api_calls_group(u32 domain, const char *name)
{
	size_t length = name ? strlen(name) : 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].domain == domain && rows[i].length_bytes <= length &&
		    !memcmp(rows[i].beginning, name, rows[i].length_bytes))
			return rows[i].group;
	return API_GROUP_OTHER;
}

void api_calls_resolve(struct api_set *ret_set, u32 groups,
		       const char *(*name_of)(void *data, u32 domain, u32 callback), void *data)
{
	*ret_set = (struct api_set){0};
	for (u32 domain = 1; domain <= ARRAY_SIZE(ret_set->bits); domain++)
		for (u32 callback = 1; callback < API_CALLS_MAX; callback++) {
			const char *name = name_of(data, domain, callback);
			u64 wanted = groups >> api_calls_group(domain, name) & 1;

			ret_set->bits[domain - 1][callback / 64] |= wanted << callback % 64;
		}
}

bool api_set_has(const struct api_set *set, u32 domain, u32 callback)
{
	return domain - 1 < ARRAY_SIZE(set->bits) && callback < API_CALLS_MAX &&
	       set->bits[domain - 1][callback / 64] >> callback % 64 & 1;
}
