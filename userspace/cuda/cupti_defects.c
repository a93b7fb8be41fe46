/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cuda/cupti_defects.h"

static const struct cupti_defect defects[] = {
#define DEFECT(since, below, mended, what, words) {since, below, mended, what, words},
#include "cuda/cupti_defects.def"
};

const struct cupti_defect *cupti_defect_next(u32 version, const struct cupti_defect *after)
{
	for (const struct cupti_defect *defect = after ? after + 1 : defects;
	     defect < defects + ARRAY_SIZE(defects); defect++)
		if (version >= defect->since && version < defect->below)
			return defect;
	return NULL;
}
