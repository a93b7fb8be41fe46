/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What elfutils 0.192 (Debian 13) forgot to put into libelf.a and libdw.a: the search trees that both use
 * (sourceware bug 32293). The linker takes this only where the archives leave it undefined. Without the
 * lock of the original: one thread at a time may use libelf and libdw, which is so in gpuprobe.
 */
#ifndef GPUPROBE_ELF_ELFUTILS_SEARCH_H
#define GPUPROBE_ELF_ELFUTILS_SEARCH_H

/* The archives own and size the structure; its first member is the root of a tree of <search.h>. */
struct elfutils_search_tree {
	void *root;
};

typedef int (*elfutils_compare)(const void *a, const void *b);
typedef void (*elfutils_free_node)(void *node);

void eu_search_tree_init(struct elfutils_search_tree *tree);
void eu_search_tree_fini(struct elfutils_search_tree *tree, elfutils_free_node free_node);
void *eu_tsearch(const void *key, struct elfutils_search_tree *tree, elfutils_compare compare);
void *eu_tfind(const void *key, struct elfutils_search_tree *tree, elfutils_compare compare);
void *eu_tdelete(const void *key, struct elfutils_search_tree *tree, elfutils_compare compare);
void eu_tdestroy(struct elfutils_search_tree *tree, elfutils_free_node free_node);

#endif
