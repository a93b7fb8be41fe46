/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_cies.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

int elf_cies_add(struct elf_cies *cies, const struct elf_cfi *cfi,
		 const struct elf_cfi_entry *entry)
{
	struct elf_cie_state *state;

	if (array_reserve(&cies->items, &cies->capacity, cies->count + 1))
		return -ENOMEM;
	state = &cies->items[cies->count];
	if (!elf_cie_parse(cfi, entry, &state->cie))
		return 0;
	elf_cie_run(cfi, &state->cie, &state->initial);
	cies->count++;
	return 0;
}

static int offset_compare(const void *key, const void *item)
{
	u32 offset = *(const u32 *)key;
	const struct elf_cie_state *state = item;

	return offset < state->cie.offset ? -1 : offset > state->cie.offset;
}

const struct elf_cie_state *elf_cies_find(const struct elf_cies *cies, u32 offset)
{
	if (!cies->count)
		return NULL;
	/* Most functions have the last one. */
	if (cies->items[cies->count - 1].cie.offset == offset)
		return &cies->items[cies->count - 1];
	return bsearch(&offset, cies->items, cies->count, sizeof(*cies->items), offset_compare);
}
