/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A C library that only its test uses. */
#include "protocol.h"

static volatile int sink;

PROBED void library_inner(void)
{
	sink++;
}

PROBED void library_outer(void)
{
	library_inner();
	library_inner();
	sink++;
}
