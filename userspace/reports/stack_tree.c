/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reports/stack_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

enum column { COLUMN_SHARE, COLUMN_TOTAL, COLUMN_SELF, COLUMN_DEPTH, COLUMN_NAME, COLUMNS };

static const struct report_column columns[COLUMNS] = {
	[COLUMN_SHARE] = {"Total (%)", REPORT_DECIMAL, 1},
	[COLUMN_TOTAL] = {"Total (ns)", REPORT_COUNT},
	[COLUMN_SELF] = {"Self (ns)", REPORT_COUNT},
	[COLUMN_DEPTH] = {"Depth", REPORT_NUMBER},
	[COLUMN_NAME] = {"Name", REPORT_NAME},
};

#define PARTS_SHOWN 1000 /* what is less than one of so many has no row */

/* STACK_TREE_NONE: no memory. */
static size_t add_node(struct stack_tree *tree, size_t parent, size_t name)
{
	struct stack_tree_node *node;

	if (array_reserve(&tree->nodes, &tree->capacity, tree->count + 1))
		return STACK_TREE_NONE;
	node = &tree->nodes[tree->count];
	*node = (struct stack_tree_node){.parent = parent,
					 .first_child = STACK_TREE_NONE,
					 .next = STACK_TREE_NONE,
					 .name = name};
	if (parent != STACK_TREE_NONE) {
		node->next = tree->nodes[parent].first_child;
		tree->nodes[parent].first_child = tree->count;
	}
	return tree->count++;
}

int stack_tree_init(struct stack_tree *tree)
{
	return add_node(tree, STACK_TREE_NONE, 0) == STACK_TREE_NONE ? -ENOMEM : 0;
}

size_t stack_tree_child(struct stack_tree *tree, size_t parent, const char *name)
{
	s64 number = string_table_add(&tree->names, name, strlen(name));
	size_t child;
	u64 *known;

	if (number < 0 || parent == STACK_TREE_NONE)
		return STACK_TREE_NONE;
	known = map_find(&tree->children, parent, (u64)number);
	if (known)
		return *known;
	child = add_node(tree, parent, (size_t)number);
	if (child == STACK_TREE_NONE || map_set(&tree->children, parent, (u64)number, child))
		return STACK_TREE_NONE;
	return child;
}

size_t stack_tree_stack(struct stack_tree *tree, size_t parent, const struct view *view, u32 pid,
			u32 stack, stack_tree_append *append)
{
	const struct view_frame *frames;
	const char *cut;
	size_t count = view_frames(view, pid, stack, &frames, &cut), node = parent;

	if (cut)
		node = stack_tree_child(tree, node, cut);
	for (size_t i = count; i > 0 && node != STACK_TREE_NONE; i--) {
		_cleanup_text_ struct text name = {0};

		append(&frames[i - 1], &name);
		node = name.failed ? STACK_TREE_NONE
				   : stack_tree_child(tree, node, text_string(&name));
	}
	return node;
}

void stack_tree_add(struct stack_tree *tree, size_t node, u64 ns)
{
	tree->nodes[node].self_ns += ns;
	for (; node != STACK_TREE_NONE; node = tree->nodes[node].parent)
		tree->nodes[node].total_ns += ns;
}

/* ---- rows ---- */

static int compare_nodes(const void *a, const void *b, void *data)
{
	const struct stack_tree *tree = data;
	const struct stack_tree_node *left = &tree->nodes[*(const size_t *)a];
	const struct stack_tree_node *right = &tree->nodes[*(const size_t *)b];

	if (left->total_ns != right->total_ns)
		return left->total_ns < right->total_ns ? 1 : -1;
	return strcmp(tree->names.strings[left->name], tree->names.strings[right->name]);
}

/* Puts the children of a node into the order in which they are shown. */
static int sort_children(struct stack_tree *tree, size_t parent)
{
	_cleanup_free_ size_t *children = NULL;
	size_t count = 0, capacity = 0, *link = &tree->nodes[parent].first_child;

	for (size_t child = *link; child != STACK_TREE_NONE; child = tree->nodes[child].next) {
		if (array_reserve(&children, &capacity, count + 1))
			return -ENOMEM;
		children[count++] = child;
	}
	if (count)
		qsort_r(children, count, sizeof(*children), compare_nodes, tree);
	for (size_t i = 0; i < count; i++) {
		*link = children[i];
		link = &tree->nodes[children[i]].next;
	}
	*link = STACK_TREE_NONE;
	return 0;
}

struct shown {
	u64 total_ns, self_ns;
	const char *name;
	size_t depth;
};

static int add_row(const struct stack_tree *tree, struct report_table *table,
		   const struct shown *shown)
{
	struct report_row *row = report_table_add(table);
	_cleanup_text_ struct text name = {0};
	u64 all_ns = tree->nodes[STACK_TREE_ROOT].total_ns;

	if (!row)
		return -ENOMEM;
	text_appendf(&name, "%*s%s", (int)shown->depth, "", shown->name);
	report_cell_decimal(&row->cells[COLUMN_SHARE],
			    100.0 * (double)shown->total_ns / (double)all_ns);
	report_cell_count(&row->cells[COLUMN_TOTAL], shown->total_ns);
	report_cell_count(&row->cells[COLUMN_SELF], shown->self_ns);
	report_cell_count(&row->cells[COLUMN_DEPTH], shown->depth);
	return name.failed ? -ENOMEM
			   : report_cell_text(&row->cells[COLUMN_NAME], text_string(&name));
}

/* What is too little to have rows, of the children from this one on. */
static int add_rest(const struct stack_tree *tree, struct report_table *table, size_t child,
		    size_t depth)
{
	struct shown rest = {.name = "[less]", .depth = depth};

	for (; child != STACK_TREE_NONE; child = tree->nodes[child].next)
		rest.total_ns += tree->nodes[child].total_ns;
	rest.self_ns = rest.total_ns;
	return rest.total_ns ? add_row(tree, table, &rest) : 0;
}

/* Without recursion: stacks are the target's, and as deep as it likes. */
int stack_tree_fill(struct stack_tree *tree, struct report_table *table)
{
	u64 least_ns = tree->nodes[STACK_TREE_ROOT].total_ns / PARTS_SHOWN;
	size_t node = STACK_TREE_ROOT, depth = 0;
	int result = sort_children(tree, STACK_TREE_ROOT);

	table->columns = columns;
	table->column_count = COLUMNS;
	if (!tree->nodes[STACK_TREE_ROOT].total_ns)
		return result;
	node = tree->nodes[STACK_TREE_ROOT].first_child;
	while (node != STACK_TREE_NONE && result == 0) {
		const struct stack_tree_node *here = &tree->nodes[node];
		const struct shown shown = {here->total_ns, here->self_ns,
					    tree->names.strings[here->name], depth};

		if (here->total_ns < least_ns || !here->total_ns) {
			result = add_rest(tree, table, node, depth);
			node = STACK_TREE_NONE;
		} else {
			result = add_row(tree, table, &shown);
		}
		if (result == 0 && node != STACK_TREE_NONE)
			result = sort_children(tree, node);
		if (node != STACK_TREE_NONE && tree->nodes[node].first_child != STACK_TREE_NONE) {
			node = tree->nodes[node].first_child;
			depth++;
			continue;
		}
		/* Behind a row of what is less nothing follows. */
		if (node == STACK_TREE_NONE)
			node = here->parent, depth--;
		while (node != STACK_TREE_NONE && node != STACK_TREE_ROOT &&
		       tree->nodes[node].next == STACK_TREE_NONE)
			node = tree->nodes[node].parent, depth--;
		node = node == STACK_TREE_NONE || node == STACK_TREE_ROOT ? STACK_TREE_NONE
									  : tree->nodes[node].next;
	}
	return result;
}

void stack_tree_free(struct stack_tree *tree)
{
	free(tree->nodes);
	string_table_free(&tree->names);
	map_free(&tree->children);
}
