/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reports "cpu_stacks" and "wall_stacks": who called whom, from where threads begin to where they ran or waited. Functions are the nodes, a
 * caller before what it called, what took most first; what took less than a thousandth is summed up in a row of its caller's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "reports/report_table.h"

enum column { COLUMN_SHARE, COLUMN_TOTAL, COLUMN_SELF, COLUMN_DEPTH, COLUMN_NAME, COLUMNS };

static const struct report_column columns[COLUMNS] = {
	[COLUMN_SHARE] = {"Total (%)", REPORT_DECIMAL, 1},
	[COLUMN_TOTAL] = {"Total (ns)", REPORT_COUNT},
	[COLUMN_SELF] = {"Self (ns)", REPORT_COUNT},
	[COLUMN_DEPTH] = {"Depth", REPORT_NUMBER},
	[COLUMN_NAME] = {"Name", REPORT_NAME},
};

#define PARTS_SHOWN 1000 /* what is less than one of so many has no row */
#define NO_NODE	    SIZE_MAX

struct node {
	u64 total_ns, self_ns;
	size_t parent, first_child, next; /* NO_NODE: none */
	size_t name;			  /* number of the string */
};

struct run {
	const struct view *view;
	bool of_wall;
	struct string_table names;
	struct map children; /* (node, name) -> node */
	struct node *nodes;  /* the first one is the root */
	size_t count, capacity;
};

/* NO_NODE: no memory. */
static size_t add_node(struct run *run, size_t parent, size_t name)
{
	struct node *node;

	if (array_reserve(&run->nodes, &run->capacity, run->count + 1))
		return NO_NODE;
	node = &run->nodes[run->count];
	*node = (struct node){
		.parent = parent, .first_child = NO_NODE, .next = NO_NODE, .name = name};
	if (parent != NO_NODE) {
		node->next = run->nodes[parent].first_child;
		run->nodes[parent].first_child = run->count;
	}
	return run->count++;
}

static size_t child_named(struct run *run, size_t parent, const char *name)
{
	s64 number = string_table_add(&run->names, name, strlen(name));
	size_t child;
	u64 *known;

	if (number < 0 || parent == NO_NODE)
		return NO_NODE;
	known = map_find(&run->children, parent, (u64)number);
	if (known)
		return *known;
	child = add_node(run, parent, (size_t)number);
	if (child == NO_NODE || map_set(&run->children, parent, (u64)number, child))
		return NO_NODE;
	return child;
}

static int run_open(void *data, const struct view *view, const struct view_survey *survey,
		    struct err *err)
{
	struct run *run = data;

	(void)survey;
	run->view = view;
	return add_node(run, NO_NODE, 0) == NO_NODE
		       ? err_errno(err, -ENOMEM, "can't make a report of stacks")
		       : 0;
}

/* Down to where the stack ends; NO_NODE: no memory. */
static size_t node_of_stack(struct run *run, const struct record_header *record)
{
	const struct view_frame *frames;
	const char *cut;
	size_t count = view_frames(run->view, record->pid, record->stack, &frames, &cut), node = 0;

	if (cut)
		node = child_named(run, node, cut);
	for (size_t i = count; i > 0 && node != NO_NODE; i--) {
		_cleanup_text_ struct text name = {0};

		view_frame_append_name(&frames[i - 1], &name);
		node = name.failed ? NO_NODE : child_named(run, node, text_string(&name));
	}
	return node;
}

static size_t node_of_piece(struct run *run, const struct view_event *event,
			    const struct view_wall_piece *piece)
{
	size_t node =
		piece->why ? child_named(run, 0, piece->why) : node_of_stack(run, event->record);
	_cleanup_text_ struct text leaf = {0};
	bool named;

	if (!run->of_wall || node == NO_NODE)
		return node;
	/* What it left its CPU in; where that was no call the state says it. */
	named = event->kind->number == KIND_off_cpu && piece->state != VIEW_WALL_PREEMPTED &&
		piece->state != VIEW_WALL_THROTTLED;
	text_appendf(&leaf, "[%s%s%s]", view_wall_word(piece->state), named ? ": " : "",
		     named ? event->name : "");
	return leaf.failed ? NO_NODE : child_named(run, node, text_string(&leaf));
}

static int run_event(void *data, const struct view_event *event, struct err *err)
{
	struct view_wall_piece pieces[VIEW_WALL_PIECES_MAX];
	struct run *run = data;
	size_t count = view_wall_pieces(run->view, event, pieces);

	for (size_t i = 0; i < count; i++) {
		size_t node;

		if (pieces[i].state == VIEW_WALL_BEYOND ||
		    (!run->of_wall && pieces[i].state != VIEW_WALL_RUNNING))
			continue;
		node = node_of_piece(run, event, &pieces[i]);
		if (node == NO_NODE)
			return err_errno(err, -ENOMEM, "can't make a report of stacks");
		run->nodes[node].self_ns += pieces[i].ns;
		for (; node != NO_NODE; node = run->nodes[node].parent)
			run->nodes[node].total_ns += pieces[i].ns;
	}
	return 0;
}

/* ---- rows ---- */

static int compare_nodes(const void *a, const void *b, void *data)
{
	const struct run *run = data;
	const struct node *left = &run->nodes[*(const size_t *)a];
	const struct node *right = &run->nodes[*(const size_t *)b];

	if (left->total_ns != right->total_ns)
		return left->total_ns < right->total_ns ? 1 : -1;
	return strcmp(run->names.strings[left->name], run->names.strings[right->name]);
}

/* Puts the children of a node into the order in which they are shown. */
static int sort_children(struct run *run, size_t parent)
{
	_cleanup_free_ size_t *children = NULL;
	size_t count = 0, capacity = 0, *link = &run->nodes[parent].first_child;

	for (size_t child = *link; child != NO_NODE; child = run->nodes[child].next) {
		if (array_reserve(&children, &capacity, count + 1))
			return -ENOMEM;
		children[count++] = child;
	}
	if (count)
		qsort_r(children, count, sizeof(*children), compare_nodes, run);
	for (size_t i = 0; i < count; i++) {
		*link = children[i];
		link = &run->nodes[children[i]].next;
	}
	*link = NO_NODE;
	return 0;
}

struct shown {
	u64 total_ns, self_ns;
	const char *name;
	size_t depth;
};

static int add_row(const struct run *run, struct report_table *table, const struct shown *shown)
{
	struct report_row *row = report_table_add(table);
	_cleanup_text_ struct text name = {0};
	u64 all_ns = run->nodes[0].total_ns;

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
static int add_rest(const struct run *run, struct report_table *table, size_t child, size_t depth)
{
	struct shown rest = {.name = "[less]", .depth = depth};

	for (; child != NO_NODE; child = run->nodes[child].next)
		rest.total_ns += run->nodes[child].total_ns;
	rest.self_ns = rest.total_ns;
	return rest.total_ns ? add_row(run, table, &rest) : 0;
}

/* Without recursion: stacks are the target's, and as deep as it likes. */
static int fill_table(struct run *run, struct report_table *table)
{
	u64 least_ns = run->nodes[0].total_ns / PARTS_SHOWN;
	size_t node = 0, depth = 0;
	int result = sort_children(run, 0);

	node = run->nodes[0].first_child;
	while (node != NO_NODE && result == 0) {
		const struct node *here = &run->nodes[node];
		const struct shown shown = {here->total_ns, here->self_ns,
					    run->names.strings[here->name], depth};

		if (here->total_ns < least_ns || !here->total_ns) {
			result = add_rest(run, table, node, depth);
			node = NO_NODE;
		} else {
			result = add_row(run, table, &shown);
		}
		if (result == 0 && node != NO_NODE)
			result = sort_children(run, node);
		if (node != NO_NODE && run->nodes[node].first_child != NO_NODE) {
			node = run->nodes[node].first_child;
			depth++;
			continue;
		}
		/* Behind a row of what is less nothing follows. */
		if (node == NO_NODE)
			node = here->parent, depth--;
		while (node != NO_NODE && node != 0 && run->nodes[node].next == NO_NODE)
			node = run->nodes[node].parent, depth--;
		node = node == NO_NODE || node == 0 ? NO_NODE : run->nodes[node].next;
	}
	return result;
}

int report_tree_make(struct view *view, const struct report_request *request,
		     struct report_table *table, struct err *err)
{
	const struct view_sink sink = {
		.open = run_open, .span = run_event, .point = run_event, .total = run_event};
	struct run run = {.of_wall = !strcmp(request->report->name, "wall_stacks")};
	int result = view_run(view, &sink, &run, err);

	table->title = run.of_wall ? "Time of threads as a tree (callers first)"
				   : "CPU time as a tree (callers first)";
	table->empty = "No samples were taken.";
	table->columns = columns;
	table->column_count = COLUMNS;
	if (result == 0 && run.nodes[0].total_ns && fill_table(&run, table))
		result = err_errno(err, -ENOMEM, "can't make the report %s", request->report->name);
	free(run.nodes);
	string_table_free(&run.names);
	map_free(&run.children);
	return result;
}
