/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two probed functions: outer() calls leaf() twice, and its result, 2 * (value + 1), shows a call gone wrong. */
#ifndef LEAF_AND_OUTER_H
#define LEAF_AND_OUTER_H

#include "protocol.h"

static volatile long sink;

PROBED long leaf(long value)
{
	sink += value;
	return value + 1;
}

PROBED long outer(long value)
{
	return leaf(value) + leaf(value);
}

#endif
