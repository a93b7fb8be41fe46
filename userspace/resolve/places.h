/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where in which mapping addresses lie. */
#ifndef GPUPROBE_RESOLVE_PLACES_H
#define GPUPROBE_RESOLVE_PLACES_H

#include "resolve/resolve.h"

/* NULL: in none, or in different ones at different times and it is not clear in which. One for each address of the input;
 * the caller frees. NULL: out of memory. */
const struct resolve_mapping **places_find(const struct resolve_input *input);

#endif
