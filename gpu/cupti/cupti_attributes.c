/* SPDX-License-Identifier: MIT */
#include "cupti_attributes.h"

#define ZEROED_OUT 5 /* CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, u8 */

static bool set(const struct cupti_calls *calls, u8 value)
{
	size_t bytes = sizeof(value);

	return !calls->ActivitySetAttribute(ZEROED_OUT, &bytes, &value);
}

bool cupti_attributes_zero_ourselves(const struct cupti_calls *calls)
{
	u8 value = 1;
	size_t bytes = sizeof(value);

	return calls->ActivityGetAttribute && calls->ActivitySetAttribute &&
	       !calls->ActivityGetAttribute(ZEROED_OUT, &bytes, &value) && !value && set(calls, 1);
}

void cupti_attributes_zero_no_more(const struct cupti_calls *calls)
{
	set(calls, 0);
}
