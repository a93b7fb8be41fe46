/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/nearest.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

void nearest_offer(struct nearest *nearest, const char *candidate)
{
	size_t length = strlen(nearest->word);
	/* A third of the letters may be wrong: more is another word. */
	unsigned limit = 1 + (length + 1) / 3;
	unsigned distance;

	if (!length)
		return;
	if (length >= 2 && strncmp(nearest->word, candidate, length) == 0)
		distance = 0;
	else
		distance = text_distance(nearest->word, candidate, limit);
	/* One letter for another is no likeness between names of one or two letters. */
	if (distance >= limit || (distance && distance >= length))
		return;
	if (nearest->best && nearest->best_distance <= distance)
		return;
	nearest->best = candidate;
	nearest->best_distance = distance;
}

const char *nearest_hint(struct nearest *nearest, const char *before)
{
	nearest->hint[0] = '\0';
	if (nearest->best)
		snprintf(nearest->hint, sizeof(nearest->hint), ". Did you mean %s%s?", before,
			 nearest->best);
	return nearest->hint;
}
