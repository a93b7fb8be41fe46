/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/version.h"

const char *version_text(void)
{
#ifdef VERSION_FILE
	return
#include VERSION_FILE
		;
#else
	/* Of tests: another commit is no reason to link them again. */
	return "0.0.0-test";
#endif
}
