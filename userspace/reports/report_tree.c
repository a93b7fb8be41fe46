/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reports "cpu_stacks" and "wall_stacks": who called whom, from where threads begin to where they ran or waited. */
#include <errno.h>
#include <string.h>

#include "reports/report_table.h"
#include "reports/stack_tree.h"

struct run {
	const struct view *view;
	bool of_wall;
	struct stack_tree tree;
};

static int no_memory(struct err *err)
{
	return err_errno(err, -ENOMEM, "can't make a report of stacks");
}

static int run_open(void *data, const struct view *view, const struct view_survey *survey,
		    struct err *err)
{
	struct run *run = data;

	(void)survey;
	run->view = view;
	return stack_tree_init(&run->tree) ? no_memory(err) : 0;
}

static size_t node_of_piece(struct run *run, const struct view_event *event,
			    const struct view_wall_piece *piece)
{
	size_t node;
	_cleanup_text_ struct text leaf = {0};
	bool named;

	if (piece->why) {
		node = stack_tree_child(&run->tree, STACK_TREE_ROOT, piece->why);
	} else {
		node = stack_tree_stack(&run->tree, STACK_TREE_ROOT, run->view, event->record->pid,
					event->record->stack, view_frame_append_name);
		stack_tree_end(&run->tree, node);
	}
	if (!run->of_wall || node == STACK_TREE_NONE)
		return node;
	/* What it left its CPU in; where that was no call the state says it. */
	named = event->kind->number == KIND_off_cpu && piece->state != VIEW_WALL_PREEMPTED &&
		piece->state != VIEW_WALL_THROTTLED;
	text_appendf(&leaf, "[%s%s%s]", view_wall_word(piece->state), named ? ": " : "",
		     named ? event->name : "");
	return leaf.failed ? STACK_TREE_NONE
			   : stack_tree_child(&run->tree, node, text_string(&leaf));
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
		if (node == STACK_TREE_NONE)
			return no_memory(err);
		stack_tree_add(&run->tree, node, pieces[i].ns);
	}
	return 0;
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
	if (result == 0 && stack_tree_fill(&run.tree, request, table))
		result = no_memory(err);
	stack_tree_free(&run.tree);
	return result;
}
