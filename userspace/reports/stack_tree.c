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

#define PARTS_SHOWN    1000 /* what is less than one of so many has no row */
#define CUT	       "…"
#define FOLDED_COLUMNS 36 /* of the first and of the last function of a row for several */

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
		node->depth = parent == STACK_TREE_ROOT ? 0 : tree->nodes[parent].depth + 1;
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
		size_t known = tree->count;

		append(&frames[i - 1], &name);
		node = name.failed ? STACK_TREE_NONE
				   : stack_tree_child(tree, node, text_string(&name));
		if (node != STACK_TREE_NONE && node == known)
			tree->nodes[node].is_library = view_is_library_frame(view, &frames[i - 1]);
	}
	return node;
}

void stack_tree_end(struct stack_tree *tree, size_t node)
{
	if (node != STACK_TREE_NONE)
		tree->nodes[node].is_end = true;
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
static int sort_children(struct stack_tree *tree, size_t parent, u32 level)
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
		tree->nodes[children[i]].level = level;
	}
	*link = STACK_TREE_NONE;
	return 0;
}

struct fill {
	struct stack_tree *tree;
	struct report_table *table;
	u64 least_ns; /* what is less has no row */
	bool folds;
};

struct shown {
	u64 total_ns, self_ns;
	const char *name;
	size_t node;	/* at whose place it stands */
	bool is_folded; /* it stands for several */
};

static int add_row(const struct fill *fill, const struct shown *shown)
{
	struct report_row *row = report_table_add(fill->table);
	const struct stack_tree_node *node = &fill->tree->nodes[shown->node];
	_cleanup_text_ struct text name = {0};
	u64 all_ns = fill->tree->nodes[STACK_TREE_ROOT].total_ns;

	if (!row)
		return -ENOMEM;
	text_appendf(&name, "%*s%s", (int)node->level, "", shown->name);
	report_cell_decimal(&row->cells[COLUMN_SHARE],
			    100.0 * (double)shown->total_ns / (double)all_ns);
	report_cell_count(&row->cells[COLUMN_TOTAL], shown->total_ns);
	report_cell_count(&row->cells[COLUMN_SELF], shown->self_ns);
	report_cell_count(&row->cells[COLUMN_DEPTH], node->depth);
	row->marked = shown->is_folded;
	return name.failed ? -ENOMEM
			   : report_cell_text(&row->cells[COLUMN_NAME], text_string(&name));
}

/* What is too little to have rows, of the children from this one on. */
static int add_rest(const struct fill *fill, size_t child)
{
	struct shown rest = {.name = "[less]", .node = child};

	for (; child != STACK_TREE_NONE; child = fill->tree->nodes[child].next)
		rest.total_ns += fill->tree->nodes[child].total_ns;
	rest.self_ns = rest.total_ns;
	return rest.total_ns ? add_row(fill, &rest) : 0;
}

static bool has_row(const struct fill *fill, size_t node)
{
	u64 total_ns = fill->tree->nodes[node].total_ns;

	return total_ns && total_ns >= fill->least_ns;
}

/* The only one of its children that has a row; STACK_TREE_NONE: none has, or several have. */
static size_t only_child(const struct fill *fill, size_t node)
{
	size_t child = fill->tree->nodes[node].first_child, only = STACK_TREE_NONE;

	for (; child != STACK_TREE_NONE; child = fill->tree->nodes[child].next) {
		if (!has_row(fill, child))
			continue;
		if (only != STACK_TREE_NONE)
			return STACK_TREE_NONE;
		only = child;
	}
	return only;
}

/* Has it less time than the first one of its row by what would have no row? */
static bool goes_on(const struct fill *fill, size_t first, size_t node)
{
	const struct stack_tree_node *nodes = fill->tree->nodes;

	return nodes[node].is_library && !nodes[node].is_end &&
	       nodes[first].total_ns - nodes[node].total_ns <= fill->least_ns;
}

/* The last one of those that have a row together with this one. */
static size_t fold(const struct fill *fill, size_t first)
{
	struct stack_tree_node *nodes = fill->tree->nodes;
	size_t last = first, child;

	if (!fill->folds || !goes_on(fill, first, first))
		return first;
	while ((child = only_child(fill, last)) != STACK_TREE_NONE && goes_on(fill, first, child)) {
		nodes[child].is_folded = true;
		last = child;
	}
	return last;
}

/* What stands behind the outermost namespace of a name; NULL: it is in none. */
static const char *behind_namespace(const char *name)
{
	unsigned depth = 0;

	for (; *name; name++) {
		if (strchr("<([{", *name))
			depth++;
		else if (strchr(">)]}", *name) && depth)
			depth--;
		else if (!depth && !strncmp(name, "::", 2))
			return name + 2;
	}
	return NULL;
}

/* Where the parameters of a function of C++ begin, or the name ends: "step (train.py:12)" has none, nor has "(anonymous namespace)::f". */
static size_t parameters_at(const char *name)
{
	unsigned depth = 0;
	size_t i;

	for (i = 0; name[i]; i++) {
		bool begins = i && !strchr(" :", name[i - 1]) &&
			      (i < 8 || strncmp(name + i - 8, "operator", 8));

		if (name[i] == '(' && !depth && begins)
			return i;
		if (strchr("<([{", name[i]))
			depth++;
		else if (strchr(">)]}", name[i]) && depth)
			depth--;
	}
	return i;
}

/* Of a long name the end of its namespaces says most, and its parameters least. */
static void append_short(struct text *text, const char *name)
{
	_cleanup_text_ struct text plain = {0};
	const char *rest, *inner;

	text_append_bytes(&plain, name,
			  text_columns(name) > FOLDED_COLUMNS ? parameters_at(name) : strlen(name));
	rest = text_string(&plain);
	while (text_columns(rest) > FOLDED_COLUMNS && (inner = behind_namespace(rest)))
		rest = inner;
	text->failed |= plain.failed;
	if (text_columns(rest) <= FOLDED_COLUMNS) {
		text_append(text, rest);
		return;
	}
	text_append_bytes(text, rest, text_skip_columns(rest, FOLDED_COLUMNS - 1));
	text_append(text, CUT);
}

/* "start_thread … main_loop (4 frames)" */
static int append_folded(const struct stack_tree *tree, size_t first, size_t last,
			 struct text *text)
{
	append_short(text, tree->names.strings[tree->nodes[first].name]);
	text_append(text, " " CUT " ");
	append_short(text, tree->names.strings[tree->nodes[last].name]);
	text_appendf(text, " (%u frames)", tree->nodes[last].depth - tree->nodes[first].depth + 1);
	return text->failed ? -ENOMEM : 0;
}

static int add_nodes(const struct fill *fill, size_t first, size_t last)
{
	const struct stack_tree_node *nodes = fill->tree->nodes;
	/* With what lies between them, and has no row. */
	struct shown shown = {.total_ns = nodes[first].total_ns,
			      .self_ns = nodes[first].total_ns - nodes[last].total_ns +
					 nodes[last].self_ns,
			      .name = fill->tree->names.strings[nodes[first].name],
			      .node = first,
			      .is_folded = first != last};
	_cleanup_text_ struct text name = {0};
	int result = shown.is_folded ? append_folded(fill->tree, first, last, &name) : 0;

	if (shown.is_folded)
		shown.name = text_string(&name);
	return result ? result : add_row(fill, &shown);
}

/* What comes behind a node and all that it called. */
static size_t node_behind(const struct stack_tree *tree, size_t node)
{
	/* Beside one that has no row of its own nothing has. */
	while (node != STACK_TREE_ROOT &&
	       (tree->nodes[node].is_folded || tree->nodes[node].next == STACK_TREE_NONE))
		node = tree->nodes[node].parent;
	return node == STACK_TREE_ROOT ? STACK_TREE_NONE : tree->nodes[node].next;
}

/* Without recursion: stacks are the target's, and as deep as it likes. */
static int add_tree(const struct fill *fill)
{
	struct stack_tree *tree = fill->tree;
	int result = sort_children(tree, STACK_TREE_ROOT, 0);
	size_t node = tree->nodes[STACK_TREE_ROOT].first_child;

	while (node != STACK_TREE_NONE && result == 0) {
		size_t last;

		/* Behind it are only such. */
		if (!has_row(fill, node)) {
			result = add_rest(fill, node);
			node = node_behind(tree, tree->nodes[node].parent);
			continue;
		}
		last = fold(fill, node);
		result = add_nodes(fill, node, last);
		if (result == 0)
			result = sort_children(tree, last, tree->nodes[node].level + 1);
		node = tree->nodes[last].first_child;
		if (node == STACK_TREE_NONE)
			node = node_behind(tree, last);
	}
	return result;
}

int stack_tree_fill(struct stack_tree *tree, const struct report_request *request,
		    struct report_table *table)
{
	u64 all_ns = tree->nodes[STACK_TREE_ROOT].total_ns;
	const struct fill fill = {tree, table, all_ns / PARTS_SHOWN,
				  table->for_people && !request->by_frame};
	_cleanup_text_ struct text note = {0};

	table->columns = columns;
	table->column_count = COLUMNS;
	text_appendf(&note,
		     "functions of libraries, each of which called only the next one: "
		     "-r %s:frames has a row for each",
		     request->report->name);
	table->marked_note = note.failed ? NULL : strdup(note.data);
	if (!table->marked_note)
		return -ENOMEM;
	return all_ns ? add_tree(&fill) : 0;
}

void stack_tree_free(struct stack_tree *tree)
{
	free(tree->nodes);
	string_table_free(&tree->names);
	map_free(&tree->children);
}
