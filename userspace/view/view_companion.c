/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What other folders compute from a view and keep with it. The view knows neither what it is nor how many there are. */
#include "view/view.h"

#include <stdlib.h>

#include "view/view_parts.h"

struct view_companion {
	const struct view_companion_type *type;
	void *state;
	struct view_companion *next;
};

void *view_companion(const struct view *view, const struct view_companion_type *type)
{
	/* It adds to what a view carries, and changes nothing that the view has said. */
	struct view_companion **first = &((struct view *)view)->companions, *companion;

	for (companion = *first; companion; companion = companion->next)
		if (companion->type == type)
			return companion->state;
	companion = malloc(sizeof(*companion));
	if (!companion)
		return NULL;
	*companion = (struct view_companion){type, type->make(), *first};
	if (!companion->state) {
		free(companion);
		return NULL;
	}
	*first = companion;
	return companion->state;
}

void view_companions_free(struct view_companion *companions)
{
	while (companions) {
		struct view_companion *next = companions->next;

		companions->type->free(companions->state);
		free(companions);
		companions = next;
	}
}
