/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "why/why_callers.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

/* Who called less of it says little of where it comes from. */
#define LEAST_PERCENT 40

static int put(struct why_callers *callers, const struct why_callers_recent *recent)
{
	u64 *known =
		recent->where ? map_find(&callers->amounts, recent->what, recent->where) : NULL;

	if (known)
		*known += recent->amount;
	if (known || !recent->where || callers->amounts.count >= WHY_CALLERS_MAX)
		return 0;
	return map_set(&callers->amounts, recent->what, recent->where, recent->amount);
}

int why_callers_add(struct why_callers *callers, u32 what, u32 pid, u32 stack, u64 amount)
{
	u64 where = (u64)pid << 32 | stack;
	u64 mixed = (where ^ (u64)what << 40) * 0x9e3779b97f4a7c15ULL;
	struct why_callers_recent *recent =
		&callers->recent[mixed >> 32 & (WHY_CALLERS_RECENT - 1)];

	if (!stack || !amount)
		return 0;
	if (recent->where != where || recent->what != what) {
		if (put(callers, recent))
			return -ENOMEM;
		*recent = (struct why_callers_recent){where, what, 0};
	}
	recent->amount += amount;
	return 0;
}

int why_callers_settle(struct why_callers *callers)
{
	for (size_t i = 0; i < WHY_CALLERS_RECENT; i++) {
		if (put(callers, &callers->recent[i]))
			return -ENOMEM;
		callers->recent[i] = (struct why_callers_recent){0};
	}
	return 0;
}

/* The sums by who called. */
struct sums {
	struct string_table names;
	struct map amounts; /* (number of name, 0) -> amount */
	u64 all;
};

static int add_to_sums(struct sums *sums, const struct view *view, const struct map_slot *slot)
{
	_cleanup_text_ struct text text = {0};
	struct view_frame frame;
	const u64 *known;
	s64 number;

	sums->all += slot->value;
	if (!view_own_caller(view, slot->key_b >> 32, (u32)slot->key_b, &frame))
		return 0;
	view_frame_append_call(&frame, &text);
	number = text.failed ? -ENOMEM
			     : string_table_add(&sums->names, text_string(&text), text.length);
	if (number < 0)
		return -ENOMEM;
	known = map_find(&sums->amounts, (u64)number, 0);
	return map_set(&sums->amounts, (u64)number, 0, (known ? *known : 0) + slot->value);
}

static int sum(const struct why_callers *callers, const struct view *view, u32 what,
	       struct sums *sums)
{
	for (size_t i = 0; i < callers->amounts.capacity; i++) {
		const struct map_slot *slot = &callers->amounts.slots[i];

		if (slot->used && slot->key_a == what && add_to_sums(sums, view, slot))
			return -ENOMEM;
	}
	return 0;
}

/* Of equal ones that with the lesser name. Its amount; 0: there is none. */
static u64 most_of(const struct sums *sums, const char **ret_name)
{
	u64 most = 0;

	for (size_t i = 0; i < sums->names.count; i++) {
		u64 amount = *map_find(&sums->amounts, i, 0);
		const char *name = sums->names.strings[i];

		if (amount < most || (amount == most && strcmp(name, *ret_name) > 0))
			continue;
		most = amount;
		*ret_name = name;
	}
	return most;
}

bool why_callers_find(const struct why_callers *callers, const struct view *view, u32 what,
		      struct text *text, u32 *ret_percent)
{
	struct sums sums = {0};
	const char *name = NULL;
	u64 most = 0;

	if (sum(callers, view, what, &sums))
		text->failed = true;
	else
		most = most_of(&sums, &name);
	*ret_percent = sums.all ? (u32)((double)most * 100 / (double)sums.all + 0.5) : 0;
	if (*ret_percent >= LEAST_PERCENT)
		text_append(text, name);
	string_table_free(&sums.names);
	map_free(&sums.amounts);
	return *ret_percent >= LEAST_PERCENT;
}

void why_callers_free(struct why_callers *callers)
{
	map_free(&callers->amounts);
}
