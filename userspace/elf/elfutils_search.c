/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elfutils_search.h"

#include <search.h>
#include <stddef.h>

void eu_search_tree_init(struct elfutils_search_tree *tree)
{
	tree->root = NULL;
}

void eu_search_tree_fini(struct elfutils_search_tree *tree, elfutils_free_node free_node)
{
	eu_tdestroy(tree, free_node);
}

void *eu_tsearch(const void *key, struct elfutils_search_tree *tree, elfutils_compare compare)
{
	return tsearch(key, &tree->root, compare);
}

void *eu_tfind(const void *key, struct elfutils_search_tree *tree, elfutils_compare compare)
{
	return tfind(key, &tree->root, compare);
}

void *eu_tdelete(const void *key, struct elfutils_search_tree *tree, elfutils_compare compare)
{
	return tdelete(key, &tree->root, compare);
}

void eu_tdestroy(struct elfutils_search_tree *tree, elfutils_free_node free_node)
{
	tdestroy(tree->root, free_node);
	tree->root = NULL;
}
