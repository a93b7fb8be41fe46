/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows that replace others in the words of a file: rule by rule against what they are to be. */
#include <errno.h>

#include "base/cleanup.h"
#include "unwind/unwind_words.h"
#include "unwind_file.h"

#define ADDRESSES (4 * UNWIND_PAGE_BYTES) /* from TEXT on */

/* Some functions, and 0x8000 bytes without any between them. */
static bool make_words(struct unwind_words *words, struct unwind_rules *rules)
{
	struct unwind_file file = {0};
	size_t cie = put_cie(&file, USUAL);
	struct elf_unwind_rows rows;
	bool done;

	put_fde(&file, cie, TEXT, 0x800, "41 0e10");
	put_fde(&file, cie, TEXT + 0x3900, 0x100, "41 0e18 41 0e20");
	if (!read_rows(&file, &rows))
		return false;
	done = !unwind_words_make(&rows, rules, words);
	CHECK(done);
	elf_unwind_rows_free(&rows);
	return done;
}

static void check_model(const struct unwind_words *words, const u32 *model)
{
	for (u64 i = 0; i < ADDRESSES; i++)
		if (unwind_words_rule(words, TEXT + i) != model[i]) {
			UNIT_FAIL("at %#llx: %u, expected %u", (unsigned long long)i,
				  unwind_words_rule(words, TEXT + i), model[i]);
			return;
		}
}

static void patch(struct unwind_words *words, u32 *model, const struct unwind_patch *patch)
{
	CHECK(!unwind_words_patch(words, patch));
	for (size_t i = 0; i < patch->count; i++) {
		u64 end = i + 1 < patch->count ? patch->rows[i + 1].address : patch->end;

		for (u64 at = patch->rows[i].address; at < end; at++)
			model[at - TEXT] = patch->rows[i].rule;
	}
}

TEST(patches_change_what_they_name)
{
	_cleanup_free_ u32 *model = calloc(ADDRESSES, sizeof(*model));
	struct unwind_words words;
	struct unwind_rules rules = {0};
	u64 state = 7;

	if (!make_words(&words, &rules))
		return;
	for (u64 i = 0; i < ADDRESSES; i++)
		model[i] = unwind_words_rule(&words, TEXT + i);
	CHECK(model[0] != UNWIND_RULE_NONE && model[0x1000] == UNWIND_RULE_NONE);
	for (int round = 0; round < 60 && words.used + 500 < words.count; round++) {
		struct unwind_patch_row rows[8];
		struct unwind_patch one = {.rows = rows, .count = 1 + (size_t)round % 8};
		u64 at = TEXT + (state >> 33) % (ADDRESSES - 0x2000);

		one.start = at;
		for (size_t i = 0; i < one.count; i++) {
			state = state * 6364136223846793005ULL + 1442695040888963407ULL;
			rows[i] = (struct unwind_patch_row){at, UNWIND_RULES_FIXED +
									(u32)(state >> 40) % 3};
			at += 1 + (state >> 50) % (round % 3 ? 0x30 : 0x400);
		}
		one.end = at;
		patch(&words, model, &one);
		check_model(&words, model);
	}
	free(words.items);
	unwind_rules_free(&rules);
}

TEST(stretches_go_over_pages)
{
	struct unwind_words words;
	struct unwind_rules rules = {0};
	u64 start, end;

	if (!make_words(&words, &rules))
		return;
	for (u64 at = 0x800; at < 0x3900; at += 0x7f) {
		unwind_words_stretch(&words, TEXT + at, &start, &end);
		CHECK_U64(start, TEXT + 0x800);
		CHECK_U64(end, TEXT + 0x3900);
	}
	unwind_words_stretch(&words, TEXT + 0x3901, &start, &end);
	CHECK_U64(start, TEXT + 0x3901);
	CHECK_U64(end, TEXT + 0x3902);
	unwind_words_stretch(&words, TEXT + (1ULL << 40), &start, &end);
	CHECK_U64(start, end);
	free(words.items);
	unwind_rules_free(&rules);
}

TEST(no_room_is_said)
{
	struct unwind_words words;
	struct unwind_rules rules = {0};
	struct unwind_patch_row row = {TEXT + 0x1000, UNWIND_RULE_SEARCHED};
	struct unwind_patch one = {TEXT + 0x1000, TEXT + 0x1010, &row, 1};
	int result = 0;

	if (!make_words(&words, &rules))
		return;
	for (size_t i = 0; i <= words.count && !result; i++)
		result = unwind_words_patch(&words, &one);
	CHECK(result == -ENOSPC && words.used <= words.count);
	CHECK_U64(unwind_words_rule(&words, TEXT + 0x1000), UNWIND_RULE_SEARCHED);
	CHECK_U64(unwind_words_rule(&words, TEXT + 0x1010), UNWIND_RULE_NONE);
	one.end = TEXT + (1ULL << 40);
	CHECK(unwind_words_patch(&words, &one) == -EINVAL);
	free(words.items);
	unwind_rules_free(&rules);
}

UNIT_MAIN()
