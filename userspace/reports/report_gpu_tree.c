/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report "gpu_stacks": GPU time by who launched it, as a tree: the code of the program, callers first, down to the call and what ran. Where the launching
 * thread has nothing of the program in its stack, that of the one thread that waits for it stands outside of it. What has no stack is below [no stack], so that
 * the tree adds up to all that GPUs did.
 */
#include <errno.h>
#include <string.h>

#include "reports/report_table.h"
#include "reports/stack_tree.h"

struct run {
	struct view *view;
	struct stack_tree tree;
	struct string_table names; /* of what ran */
	struct map nodes;	   /* (process and name, both stacks) -> node */
};

static int no_memory(struct err *err)
{
	return err_errno(err, -ENOMEM, "can't make the report gpu_stacks");
}

/* Of what a launch led to, which is the first of its kind; STACK_TREE_NONE: no memory. */
static size_t make_node(struct run *run, const struct view_event *event)
{
	struct view_launch_part parts[VIEW_LAUNCH_PARTS_MAX];
	size_t count = view_launch_parts(run->view, event, parts, NULL);
	size_t node = STACK_TREE_ROOT, call = STACK_TREE_NONE;

	for (size_t i = 0; i < count; i++) {
		if (parts[i].name)
			node = stack_tree_child(&run->tree, node, parts[i].name);
		else
			call = node = stack_tree_stack(&run->tree, node, run->view, parts[i].pid,
						       parts[i].stack, view_frame_append_call);
	}
	/* The last stack is that of the launch. */
	stack_tree_end(&run->tree, call);
	return node;
}

static int add_work(struct run *run, const struct view_event *event)
{
	const struct view_cause *cause = event->cause;
	s64 name = string_table_add(&run->names, event->name, strlen(event->name));
	u64 what = (u64)(cause ? cause->pid : 0) << 32 | (u32)name;
	u64 stacks = cause ? (u64)cause->within.waiter_stack << 32 | cause->stack.stack : 0;
	const u64 *known = name < 0 ? NULL : map_find(&run->nodes, what, stacks);
	size_t node = known ? *known : STACK_TREE_NONE;

	if (name >= 0 && !known)
		node = make_node(run, event);
	if (node == STACK_TREE_NONE || (!known && map_set(&run->nodes, what, stacks, node)))
		return -ENOMEM;
	stack_tree_add(&run->tree, node, event->dur);
	return 0;
}

static int run_span(void *data, const struct view_event *event, struct err *err)
{
	static const u16 work[VIEW_ROW_KINDS_MAX] = {VIEW_GPU_WORK};

	if (!view_row_is_of(work, event->kind->number) || event->row->type != ROW_STREAM)
		return 0;
	return add_work(data, event) ? no_memory(err) : 0;
}

int report_gpu_tree_make(struct view *view, const struct report_request *request,
			 struct report_table *table, struct err *err)
{
	const struct view_sink sink = {.span = run_span};
	bool any = view_kind_count(view, KIND_launch_stack);
	struct run run = {.view = view};
	int result = stack_tree_init(&run.tree) ? no_memory(err) : 0;

	table->title = "GPU time as a tree (callers first)";
	table->empty = any ? "No GPU did anything."
			   : "No stacks of launches were taken (--launch-stacks all takes them).";
	if (result == 0 && any)
		result = view_run(view, &sink, &run, err);
	if (result == 0 && stack_tree_fill(&run.tree, request, table))
		result = no_memory(err);
	stack_tree_free(&run.tree);
	string_table_free(&run.names);
	map_free(&run.nodes);
	return result;
}
