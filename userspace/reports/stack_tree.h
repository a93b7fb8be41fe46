/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Times by stack as a tree of functions, and the table of it: a caller before what it called, what took most first; what took less than a thousandth is
 * summed up in a row of its caller's. For people functions of libraries (view_is_library_frame()) of which each called only the next one have one row,
 * unless they asked for all. What is said by stack_tree_end() is never among these.
 */
#ifndef GPUPROBE_REPORTS_STACK_TREE_H
#define GPUPROBE_REPORTS_STACK_TREE_H

#include "base/map.h"
#include "reports/report_table.h"

#define STACK_TREE_ROOT 0
#define STACK_TREE_NONE SIZE_MAX /* no node; of what makes one: no memory */

/* Zero-initialise. */
struct stack_tree {
	struct string_table names;
	struct map children; /* (node, name) -> node */
	struct stack_tree_node {
		u64 total_ns, self_ns;
		u32 depth; /* callers that it has */
		u32 level; /* rows that it stands below */
		bool is_library, is_end; /* of code; a stack ends in it */
		bool is_folded; /* into the row of who called it */
		size_t parent, first_child, next; /* STACK_TREE_NONE: none */
		size_t name;			  /* number of the string */
	} *nodes;				  /* the first one is the root */
	size_t count, capacity;
};

typedef void stack_tree_append(const struct view_frame *frame, struct text *text);

/* Makes the root. 0 or -ENOMEM. */
int stack_tree_init(struct stack_tree *tree);
/* What a node called, of that name; STACK_TREE_NONE gives that. */
size_t stack_tree_child(struct stack_tree *tree, size_t parent, const char *name);
/* Down to where the stack ends, its functions named by append. One that has nodes is a library's if the first such was. */
size_t stack_tree_stack(struct stack_tree *tree, size_t parent, const struct view *view, u32 pid, u32 stack, stack_tree_append *append);
/* The stack ends in this node: it has a row of its own. */
void stack_tree_end(struct stack_tree *tree, size_t node);
/* Time of a node itself. */
void stack_tree_add(struct stack_tree *tree, size_t node, u64 ns);
/* Sorts the tree and fills the table, its columns too. 0 or -ENOMEM. */
int stack_tree_fill(struct stack_tree *tree, const struct report_request *request, struct report_table *table);
void stack_tree_free(struct stack_tree *tree);

#endif
