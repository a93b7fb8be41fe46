/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include "base/text.h"
#include "steps/step_bounds.h"

/* A thread's work as letters: A-F kernels, N a graph, o an optimizer, i the host gives, h it takes. A blank is a pause. */
static const enum step_item_type types[128] = {
	['A'] = STEP_ITEM_KERNEL, ['B'] = STEP_ITEM_KERNEL,    ['C'] = STEP_ITEM_KERNEL,
	['D'] = STEP_ITEM_KERNEL, ['E'] = STEP_ITEM_KERNEL,    ['F'] = STEP_ITEM_KERNEL,
	['N'] = STEP_ITEM_GRAPH,  ['o'] = STEP_ITEM_OPTIMIZER, ['i'] = STEP_ITEM_INPUT,
	['h'] = STEP_ITEM_HOST,
};

/* The same letters in their steps, each in brackets, the last one without its end where it is none. */
static void check_bounds(const char *letters, char root, const char *expected)
{
	struct text text _cleanup_text_ = {0};
	struct step_item items[256] = {0};
	struct step_sequence sequence;
	struct step_bounds bounds;
	struct paged_array paged;
	size_t count = 0, next = 0;
	u64 now_ns = 0;
	bool closed = false;

	for (const char *at = letters; *at; at++) {
		now_ns += *at == ' ' ? 1000 : 10;
		if (*at != ' ')
			items[count++] = (struct step_item){now_ns, 0, (u8)*at, now_ns + 5};
	}
	paged_array_init(&paged, sizeof(*items));
	CHECK(paged_array_grow(&paged, count) == 0);
	for (size_t i = 0; i < count; i++)
		*(struct step_item *)paged_array_change(&paged, i) = items[i];
	sequence = (struct step_sequence){.items = &paged, .count = count, .types = types};
	CHECK(step_bounds_find(&sequence, (u8)root, &bounds) == 0);
	paged_array_free(&paged);
	for (size_t i = 0; i < count; i++) {
		if (bounds.last_end_ns && !closed && items[i].ts_ns > bounds.last_end_ns) {
			text_append_char(&text, ']');
			closed = true;
		}
		if (next < bounds.count && bounds.begins[next] == i) {
			text_append_char(&text, '[');
			next++;
		}
		text_append_char(&text, (char)items[i].name);
	}
	if (bounds.last_end_ns && !closed)
		text_append_char(&text, ']');
	CHECK_STRING(text_string(&text), expected);
	free(bounds.begins);
}

TEST(a_step_begins_with_its_root_and_the_last_one_ends_with_its_work)
{
	check_bounds("ABC ABC ABC", 'A', "[ABC[ABC[ABC]");
	check_bounds("ABC ABC ABCDE", 'A', "[ABC[ABC[ABC]DE");
	check_bounds("AhB AhB AhBh", 'A', "[AhB[AhB[AhB]h");
}

TEST(a_last_one_that_lacks_work_is_none)
{
	check_bounds("ABC ABC AB", 'A', "[ABC[ABC[AB");
	check_bounds("BC ABC ABC A", 'A', "BC[ABC[ABC[A");
	/* What the host takes of it may come behind the window. */
	check_bounds("ABCh ABCh ABC", 'A', "[ABCh[ABCh[ABC]");
}

TEST(kernels_of_other_names_are_work_too)
{
	check_bounds("ABC ABC ADC", 'A', "[ABC[ABC[ADC]");
}

TEST(a_graph_in_the_middle_behind_what_the_host_takes)
{
	check_bounds("iABNCh iABNCh iABNCh", 'N', "[iABNCh[iABNCh[iABNCh]");
	/* What came before the window is missing in the first one. */
	check_bounds("BNCh iABNCh iABNCh", 'N', "BNCh[iABNCh[iABNCh]");
	/* A pause says more than a wait. */
	check_bounds("iNhAB iNhAB iNhAB", 'N', "[iNhAB[iNhAB[iNhAB]");
	check_bounds("ANhBANhBANhB", 'N', "ANh[BANh[BANh]B");
}

TEST(a_graph_in_the_middle_behind_a_pause)
{
	check_bounds("ABN ABN ABN ABN", 'N', "[ABN[ABN[ABN[ABN]");
	check_bounds("BN ABN ABN ABNh", 'N', "BN[ABN[ABN[ABN]h");
	/* The pause is before the graph, or nowhere. */
	check_bounds("NAB NAB NAB", 'N', "[NAB[NAB[NAB]");
	check_bounds("ABNABNABN", 'N', "AB[NAB[NAB[N");
}

TEST(a_length_that_most_periods_do_not_have_is_no_usual_one)
{
	/* Of 3, 4, 5 items none is usual, though the last one has the vote. */
	check_bounds("NB ANBB ANBBB AN", 'N', "[NBA[NBBA[NBBBA[N");
	check_bounds("NB ANBB ANBB ANBBB AN", 'N', "[NBA[NBBA[NBBA[NBBBA[N");
	check_bounds("NB ANBB ANBB ANBB ANBBB AN", 'N', "NB[ANBB[ANBB[ANBB[ANBBB[AN");
}

TEST(one_or_none)
{
	check_bounds("ABC", 'A', "[ABC");
	check_bounds("ABC", 'D', "ABC");
	check_bounds("", 'A', "");
}

UNIT_MAIN()
