/* SPDX-License-Identifier: MIT */
#include "chatty_apis.h"

#include "../bpf/record.h"

#define CHATTY(domain, first, last) {VALUE_api_domain_##domain, first, last},
const struct chatty_range chatty_apis[] = {
#include "chatty_apis.def"
};
#undef CHATTY

const size_t chatty_api_count = ARRAY_SIZE(chatty_apis);

bool chatty_apis_has(u32 domain, u32 callback)
{
	for (size_t i = 0; i < chatty_api_count; i++)
		if (chatty_apis[i].domain == domain && chatty_apis[i].first <= callback &&
		    callback <= chatty_apis[i].last)
			return true;
	return false;
}
