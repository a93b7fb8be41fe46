/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/unwind_words.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

/* ---- rules ---- */

static int rules_begin(struct unwind_rules *rules)
{
	if (rules->count)
		return 0;
	if (array_reserve(&rules->items, &rules->capacity, UNWIND_RULES_FIXED))
		return -ENOMEM;
	memset(rules->items, 0, UNWIND_RULES_FIXED * sizeof(*rules->items));
	rules->items[UNWIND_RULE_UNSUPPORTED].cfa = UNWIND_CFA_UNSUPPORTED;
	rules->count = UNWIND_RULES_FIXED;
	return 0;
}

int unwind_rules_add(struct unwind_rules *rules, const struct unwind_rule *rule, u32 *ret_number)
{
	u64 key[2] = {0}, *known;
	int result = rules_begin(rules);

	_Static_assert(sizeof(*rule) <= sizeof(key), "a key holds a rule");
	if (result)
		return result;
	memcpy(key, rule, sizeof(*rule));
	known = map_find(&rules->numbers, key[0], key[1]);
	if (known) {
		*ret_number = (u32)*known;
		return 0;
	}
	if (rules->count == UNWIND_RULES_MAX) {
		*ret_number = UNWIND_RULE_UNSUPPORTED;
		return 0;
	}
	if (array_reserve(&rules->items, &rules->capacity, rules->count + 1) ||
	    map_set(&rules->numbers, key[0], key[1], rules->count))
		return -ENOMEM;
	rules->items[rules->count] = *rule;
	*ret_number = (u32)rules->count++;
	return 0;
}

/* The numbers that the rules of one file have among those of all. */
static int number_rules(const struct elf_unwind_rows *rows, struct unwind_rules *rules,
			u32 **ret_numbers)
{
	_cleanup_free_ u32 *numbers = calloc(rows->rule_count + 1, sizeof(*numbers));
	int result = numbers ? 0 : -ENOMEM;

	/* The first one of a file is what none says. */
	for (u32 i = 1; i < rows->rule_count && !result; i++)
		result = unwind_rules_add(rules, &rows->rules[i], &numbers[i]);
	if (!result)
		*ret_numbers = take_pointer(&numbers);
	return result;
}

void unwind_rules_free(struct unwind_rules *rules)
{
	free(rules->items);
	map_free(&rules->numbers);
	*rules = (struct unwind_rules){0};
}

/* ---- words ---- */

/* MKL's assembler has a row for 565 bytes of code, and where some functions of a page are known the others are put in with them. */
#define BYTES_A_SPARE_WORD 128

/* Where the rows of a page go that are to stand at word `next` or behind it: none are torn apart. */
static size_t place_of(size_t next, u32 count)
{
	size_t left = UNWIND_CHUNK_WORDS - next % UNWIND_CHUNK_WORDS;

	return count <= left ? next : next + left;
}

static u32 rows_of(const struct elf_unwind_rows *rows, u32 page)
{
	return rows->page_first[page + 1] - rows->page_first[page];
}

static size_t words_needed(const struct elf_unwind_rows *rows)
{
	size_t next = UNWIND_PAGE((size_t)rows->page_count);

	for (u32 page = 0; page < rows->page_count; page++)
		next = place_of(next, rows_of(rows, page)) + rows_of(rows, page);
	next += rows->uncovered_bytes / BYTES_A_SPARE_WORD;
	return (next + UNWIND_CHUNK_WORDS - 1) / UNWIND_CHUNK_WORDS * UNWIND_CHUNK_WORDS;
}

/* Returns how many are used. */
static size_t fill(const struct elf_unwind_rows *rows, const u32 *numbers, u32 *words)
{
	size_t next = UNWIND_PAGE((size_t)rows->page_count);

	words[UNWIND_FIRST_PAGE] = (u32)rows->first_page;
	words[UNWIND_PAGE_COUNT] = rows->page_count;
	for (u32 page = 0; page < rows->page_count; page++) {
		const u32 *from = &rows->rows[rows->page_first[page]];
		u32 count = rows_of(rows, page);

		next = place_of(next, count);
		words[UNWIND_PAGE((size_t)page)] = (u32)next;
		words[UNWIND_PAGE((size_t)page) + 1] = count;
		for (u32 i = 0; i < count; i++)
			words[next++] = UNWIND_ROW(from[i], numbers[UNWIND_ROW_RULE(from[i])]);
	}
	return next;
}

int unwind_words_make(const struct elf_unwind_rows *rows, struct unwind_rules *rules,
		      struct unwind_words *ret_words)
{
	_cleanup_free_ u32 *numbers = NULL;
	size_t count = words_needed(rows);
	u32 *words = calloc(count, sizeof(*words));
	int result = words ? number_rules(rows, rules, &numbers) : -ENOMEM;

	if (result) {
		free(words);
		return result;
	}
	*ret_words = (struct unwind_words){words, count, fill(rows, numbers, words)};
	return 0;
}
