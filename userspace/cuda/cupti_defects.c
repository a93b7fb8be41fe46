/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cuda/cupti_defects.h"

static const struct cupti_defect defects[] = {
#define DEFECT(since, below, mended, what, words) {since, below, mended, what, words},
#include "cuda/cupti_defects.def"
};

const struct cupti_defect *cupti_defect_next(const struct cupti_defect *after)
{
	const struct cupti_defect *next = after ? after + 1 : defects;

	return next < defects + ARRAY_SIZE(defects) ? next : NULL;
}

bool cupti_defect_has(const struct cupti_defect *defect, u32 version)
{
	return version >= defect->since && version < defect->below;
}
