/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "base/types.h"
#include "unit.h"
#include "steps/step_period.h"

/* A thread's work as letters: A-M kernels, N-P graphs, o an optimizer, h the host, x what says nothing. A blank is a pause. */
#define ITEMS_MAX 8192

static const enum step_item_type types[128] = {
	['A'] = STEP_ITEM_KERNEL,    ['B'] = STEP_ITEM_KERNEL, ['C'] = STEP_ITEM_KERNEL,
	['D'] = STEP_ITEM_KERNEL,    ['E'] = STEP_ITEM_KERNEL, ['F'] = STEP_ITEM_KERNEL,
	['N'] = STEP_ITEM_GRAPH,     ['O'] = STEP_ITEM_GRAPH,  ['P'] = STEP_ITEM_GRAPH,
	['o'] = STEP_ITEM_OPTIMIZER, ['h'] = STEP_ITEM_HOST,   ['x'] = STEP_ITEM_OTHER,
};

struct sequence {
	struct step_item items[ITEMS_MAX];
	size_t count;
	u64 now_ns;
};

static int find_root(const struct step_item *items, size_t count, const enum step_item_type *kinds,
		     size_t kind_count, u32 *ret_root)
{
	struct paged_array paged;
	struct step_sequence found = {.items = &paged, .count = count, .types = kinds};
	int result;

	paged_array_init(&paged, sizeof(*items));
	CHECK(paged_array_grow(&paged, count) == 0);
	for (size_t i = 0; i < count; i++)
		*(struct step_item *)paged_array_change(&paged, i) = items[i];
	result = step_period_find(&found, kind_count, ret_root);
	paged_array_free(&paged);
	return result;
}

static void put(struct sequence *sequence, const char *letters, unsigned times)
{
	for (unsigned n = 0; n < times; n++)
		for (const char *at = letters; *at; at++) {
			sequence->now_ns += *at == ' ' ? 1000 : 10;
			if (*at != ' ' && sequence->count < ITEMS_MAX)
				sequence->items[sequence->count++] =
					(struct step_item){sequence->now_ns, 0, (u8)*at, 0};
		}
}

/* The letter of the root; '-' for none. */
static char root_of(const struct sequence *sequence)
{
	u32 root = '?';
	int result = find_root(sequence->items, sequence->count, types, ARRAY_SIZE(types), &root);

	CHECK(result == 0 || result == -ENOENT);
	return result == 0 ? (char)root : '-';
}

static char root_of_loop(const char *letters, unsigned times)
{
	static struct sequence sequence;

	sequence = (struct sequence){0};
	put(&sequence, letters, times);
	return root_of(&sequence);
}

TEST(a_graph_comes_before_an_optimizer_before_a_kernel)
{
	CHECK_U64(root_of_loop("hABBNACo", 10), 'N');
	CHECK_U64(root_of_loop("hABBACo", 10), 'o');
	CHECK_U64(root_of_loop("hABBA C", 10), 'C');
}

TEST(a_graph_alone_is_periodic)
{
	CHECK_U64(root_of_loop("N", 100), 'N');
}

TEST(a_kernel_alone_says_nothing)
{
	CHECK_U64(root_of_loop("A", 1000), '-');
	CHECK_U64(root_of_loop("Ah", 1000), 'A');
	CHECK_U64(root_of_loop("AB", 1000), 'B');
}

TEST(nothing_and_too_few_periods)
{
	CHECK_U64(root_of_loop("", 0), '-');
	CHECK_U64(root_of_loop("hhhh", 10), '-');
	CHECK_U64(root_of_loop("hABC", 3), '-');
	CHECK_U64(root_of_loop("hABC", 4), 'A');
}

static unsigned random_below(unsigned *state, unsigned limit)
{
	*state = *state * 1103515245 + 12345;
	return (*state >> 16) % limit;
}

TEST(without_a_period_there_is_none)
{
	static struct sequence sequence;
	unsigned state = 1;

	sequence = (struct sequence){0};
	for (unsigned i = 0; i < 4000; i++) {
		char letters[] = {"ABCDEFNOPh"[random_below(&state, 10)], 0};

		put(&sequence, letters, 1);
	}
	CHECK_U64(root_of(&sequence), '-');
}

/* Hundreds of kernels of which each comes a few times: some of them at equal distances. */
TEST(chance_is_no_period)
{
	static enum step_item_type kinds[400] = {STEP_ITEM_HOST};
	static struct step_item items[2000];
	unsigned state = 1, found = 0;

	for (unsigned i = 1; i < ARRAY_SIZE(kinds); i++)
		kinds[i] = i % 20 ? STEP_ITEM_KERNEL : STEP_ITEM_GRAPH;
	for (unsigned round = 0; round < 50; round++) {
		u32 root;

		for (unsigned i = 0; i < ARRAY_SIZE(items); i++)
			items[i] = (struct step_item){
				i * 10, 0,
				random_below(&state, 5) ? random_below(&state, ARRAY_SIZE(kinds))
							: 0,
				0};
		found += find_root(items, ARRAY_SIZE(items), kinds, ARRAY_SIZE(kinds), &root) == 0;
	}
	CHECK_U64(found, 0);
}

/* 24 layers and what comes behind them. */
#define LAYERS(layer) layer layer layer layer layer layer layer layer layer layer layer layer
TEST(layers_are_no_steps)
{
	CHECK_U64(root_of_loop("hD" LAYERS("AB") LAYERS("AB") "E", 20), 'D');
	/* A graph a layer. */
	CHECK_U64(root_of_loop("hD" LAYERS("AN") LAYERS("AN") "E", 20), 'D');
	/* So many that the others are rare among them. */
	CHECK_U64(root_of_loop("hD" LAYERS("AB") LAYERS("AB") LAYERS("AB") LAYERS("AB")
				       LAYERS("AB") "E",
			       20),
		  'D');
}

TEST(a_loop_in_a_step_is_no_step)
{
	/* Pieces of input, each copied. */
	CHECK_U64(root_of_loop("C" LAYERS("hA") LAYERS("hA") LAYERS("hA") LAYERS("BB") LAYERS("BBB")
				       LAYERS("BBB"),
			       20),
		  'C');
}

TEST(what_is_done_now_and_then_is_no_step)
{
	static struct sequence sequence;

	sequence = (struct sequence){0};
	for (unsigned i = 0; i < 20; i++) {
		put(&sequence, "h" LAYERS("AB") " C", 10);
		put(&sequence, "hD", 1); /* logging */
	}
	CHECK_U64(root_of(&sequence), 'C');
	/* A long way round once: a test, a checkpoint. */
	put(&sequence, LAYERS("hFFFF"), 4);
	put(&sequence, "h" LAYERS("AB") " C", 100);
	CHECK_U64(root_of(&sequence), 'C');
}

TEST(graphs_for_inputs_of_several_sizes)
{
	static struct sequence sequence;
	unsigned state = 1;

	sequence = (struct sequence){0};
	for (unsigned i = 0; i < 50; i++) {
		char graph[] = {"NOP"[random_below(&state, 3)], 0};

		put(&sequence, "hA", 1);
		put(&sequence, graph, 1);
		put(&sequence, "B ", 1);
	}
	CHECK_U64(root_of(&sequence), 'A');
}

TEST(what_begins_and_ends_in_the_middle_of_a_step)
{
	static struct sequence sequence;

	sequence = (struct sequence){0};
	put(&sequence, "BNACo", 1);
	put(&sequence, "hABBNACo", 10);
	put(&sequence, "hA", 1);
	CHECK_U64(root_of(&sequence), 'N');
}

TEST(what_ran_before_the_loop)
{
	static struct sequence sequence;

	sequence = (struct sequence){0};
	put(&sequence, "AFFBEEEhEDC", 1);
	put(&sequence, "hABBNAC", 30);
	CHECK_U64(root_of(&sequence), 'N');
}

UNIT_MAIN()
