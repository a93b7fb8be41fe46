/* SPDX-License-Identifier: MIT */
#include "cupti_attributes.h"

static const struct {
	u8 attribute, before, while_recording;
} attributes_wanted[] = {
	{CUPTI_ATTRIBUTE_ZEROED_OUT, 0, 1},
};

static bool set(const struct cupti_calls *calls, u32 attribute, u8 value)
{
	size_t bytes = sizeof(value);

	return !calls->ActivitySetAttribute(attribute, &bytes, &value);
}

void cupti_attributes_set(struct cupti_attributes *attributes, const struct cupti_calls *calls)
{
	if (!calls->ActivityGetAttribute || !calls->ActivitySetAttribute)
		return;
	for (u32 i = 0; i < ARRAY_SIZE(attributes_wanted); i++) {
		u32 attribute = attributes_wanted[i].attribute;
		u8 value = attributes_wanted[i].while_recording;
		size_t bytes = sizeof(value);

		if (!calls->ActivityGetAttribute(attribute, &bytes, &value) &&
		    value == attributes_wanted[i].before &&
		    set(calls, attribute, attributes_wanted[i].while_recording))
			attributes->changed |= 1ULL << attribute;
	}
}

bool cupti_attributes_changed(const struct cupti_attributes *attributes,
			      enum cupti_attribute attribute)
{
	return attributes->changed >> attribute & 1;
}

void cupti_attributes_restore(const struct cupti_attributes *attributes,
			      const struct cupti_calls *calls)
{
	for (u32 i = 0; i < ARRAY_SIZE(attributes_wanted); i++)
		if (cupti_attributes_changed(attributes, attributes_wanted[i].attribute))
			set(calls, attributes_wanted[i].attribute, attributes_wanted[i].before);
}
