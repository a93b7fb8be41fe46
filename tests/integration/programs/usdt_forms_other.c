/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Variables that are called as those of usdt_forms.c, and are others. */
#include <stdint.h>
#include <sys/sdt.h>

#include "usdt_forms.h"

static volatile int32_t same_name = 2222;

PROBED void forms_other(void)
{
	STAP_PROBE1(forms, other_twice_there, same_name);
	printf("other_twice_there %d\n", same_name);
	same_name--;
}
