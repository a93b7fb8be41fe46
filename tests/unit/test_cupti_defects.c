/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cuda/cupti_defects.h"
#include "unit.h"

/* How many a version has, the first of them being about this. */
static void expect(u32 version, size_t count, const char *first)
{
	const struct cupti_defect *defect = NULL;
	size_t found = 0;

	while ((defect = cupti_defect_next(defect))) {
		if (!cupti_defect_has(defect, version))
			continue;
		if (!found)
			CHECK_STRING(defect->what, first);
		CHECK(defect->mended[0] && defect->words[0]);
		found++;
	}
	CHECK_U64(found, count);
}

TEST(each_version_has_those_that_it_has)
{
	expect(18, 3, "names of kernels"); /* 11.8 */
	expect(28, 3, "names of kernels"); /* 12.9 Update 1 */
	expect(130000, 4, "names of kernels");
	expect(130001, 3, "names of kernels");
	expect(130101, 2, "names of kernels");
	expect(130400, 2, "names of kernels");
	expect(130401, 0, "");
	expect(130500, 0, "");
}

UNIT_MAIN()
