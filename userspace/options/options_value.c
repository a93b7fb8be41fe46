/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The values of options: from words to members of struct options, and nothing that is not exactly
 * right. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "options/options_table.h"

#define PID_MAX 4194304

/* Quoted values in messages are cut: a command line can be megabytes long. */
#define SHOWN "%.100s"

static void *member_of(struct options *options, const struct option_row *row)
{
	return (char *)options + row->offset;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits only; a number that does not fit becomes UINT64_MAX. Returns where the digits end. */
static const char *read_digits(const char *string, u64 *ret_value)
{
	u64 value = 0;

	for (; is_digit(*string); string++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, *string - '0', &value)) {
			value = UINT64_MAX;
			while (is_digit(string[1]))
				string++;
		}
	*ret_value = value;
	return string;
}

/* "2", "2.5", ".5": no sign, no exponent, no "inf". What is finer than a nanosecond is dropped. */
static bool read_seconds(const char *string, u64 *ret_ns)
{
	const char *end;
	u64 seconds, ns, place_ns = NS_PER_SECOND / 10;

	end = read_digits(string, &seconds);
	if (end == string && !(end[0] == '.' && is_digit(end[1])))
		return false;
	if (__builtin_mul_overflow(seconds, NS_PER_SECOND, &ns))
		ns = UINT64_MAX;
	if (*end == '.')
		for (end++; is_digit(*end); end++, place_ns /= 10)
			if (__builtin_add_overflow(ns, (*end - '0') * place_ns, &ns))
				ns = UINT64_MAX;
	if (*end)
		return false;
	*ret_ns = ns;
	return true;
}

static int set_number(struct options *options, const struct option_row *row, const char *spelled,
		      const char *value, struct err *err)
{
	char range[64];
	const char *end;
	u64 number;

	option_range_text(row, range, sizeof(range));
	end = read_digits(value, &number);
	if (end == value || *end)
		return err_set(err, -EINVAL, "%s \"" SHOWN "\": a whole number is expected, %s",
			       spelled, value, range);
	if (number < (u64)row->minimum || number > (u64)row->maximum)
		return err_set(err, -EINVAL, "%s " SHOWN ": out of range, %s is allowed", spelled,
			       value, range);
	*(u64 *)member_of(options, row) = number;
	return 0;
}

static int set_seconds(struct options *options, const struct option_row *row, const char *spelled,
		       const char *value, struct err *err)
{
	char range[64];
	u64 ns;

	option_range_text(row, range, sizeof(range));
	if (!read_seconds(value, &ns))
		return err_set(err, -EINVAL,
			       "%s \"" SHOWN
			       "\": a number of seconds is expected (2.5 or 10, without unit), %s",
			       spelled, value, range);
	if (ns < (u64)(row->minimum * NS_PER_SECOND) || ns > (u64)(row->maximum * NS_PER_SECOND))
		return err_set(err, -EINVAL, "%s " SHOWN ": out of range, %s seconds are allowed",
			       spelled, value, range);
	*(u64 *)member_of(options, row) = ns;
	return 0;
}

static int add_pid(struct options_pids *pids, u64 pid, struct err *err)
{
	u32 *items;

	for (size_t i = 0; i < pids->count; i++)
		if (pids->items[i] == pid)
			return 0;
	items = reallocarray(pids->items, pids->count + 1, sizeof(*items));
	if (!items)
		return err_errno(err, -ENOMEM, "can't keep the process ids");
	items[pids->count++] = pid;
	pids->items = items;
	return 0;
}

/* Between process ids: commas, or blanks and ends of lines, as pidof and pgrep write them. */
#define BLANKS	     " \t\n"
#define BETWEEN_PIDS "," BLANKS

static int set_pids(struct options *options, const struct option_row *row, const char *spelled,
		    const char *value, struct err *err)
{
	const char *word = value + strspn(value, BLANKS);
	int result;

	if (!*word)
		return err_set(err, -EINVAL,
			       "%s \"\": a process id is expected (pidof found no process?)",
			       spelled);
	for (;;) {
		u64 pid;
		const char *end = read_digits(word, &pid);

		if (end == word || (*end && !strchr(BETWEEN_PIDS, *end)))
			return err_set(err, -EINVAL,
				       "%s \"" SHOWN
				       "\": a process id, or several as 12,34, is expected",
				       spelled, value);
		if (pid < 1 || pid > PID_MAX)
			return err_set(err, -EINVAL,
				       "%s " SHOWN ": out of range, process ids are 1 to %u",
				       spelled, value, PID_MAX);
		result = add_pid(member_of(options, row), pid, err);
		end += strspn(end, BLANKS);
		if (result < 0 || !*end)
			return result;
		word = *end == ',' ? end + 1 + strspn(end + 1, BLANKS) : end;
	}
}

static int set_choice(struct options *options, const struct option_row *row, const char *spelled,
		      const char *value, struct err *err)
{
	struct nearest nearest = {.word = value};
	char choices[256];

	for (const struct choice_row *choice = choice_rows; choice->member; choice++) {
		if (strcmp(choice->member, row->member) != 0)
			continue;
		if (strcmp(choice->word, value) == 0) {
			*(unsigned *)member_of(options, row) = choice->number;
			return 0;
		}
		nearest_offer(&nearest, choice->word);
	}
	return err_set(err, -EINVAL, "%s \"" SHOWN "\": must be %s%s", spelled, value,
		       option_choices_text(row, choices, sizeof(choices)),
		       nearest_hint(&nearest, ""));
}

int options_list_add(struct options_list *list, const char *string, struct err *err)
{
	char **items = reallocarray(list->items, list->count + 1, sizeof(*items));
	char *copy = strdup(string);

	if (items)
		list->items = items;
	if (!items || !copy) {
		free(copy);
		return err_errno(err, -ENOMEM, "can't keep the options");
	}
	list->items[list->count++] = copy;
	return 0;
}

static int set_list(struct options *options, const struct option_row *row, const char *spelled,
		    const char *value, struct err *err)
{
	if (!*value)
		return err_set(err, -EINVAL, "%s \"\": %s is empty", spelled, row->metavar);
	return options_list_add(member_of(options, row), value, err);
}

static int set_text(struct options *options, const struct option_row *row, const char *spelled,
		    const char *value, struct err *err)
{
	char **member = member_of(options, row);
	char *copy;

	if (!*value)
		return err_set(err, -EINVAL, "%s \"\": %s is empty", spelled, row->metavar);
	copy = strdup(value);
	if (!copy)
		return err_errno(err, -ENOMEM, "can't keep the options");
	free(*member);
	*member = copy;
	return 0;
}

static int set_flag(struct options *options, const struct option_row *row, const char *spelled,
		    const char *value, struct err *err)
{
	*(bool *)member_of(options, row) = true;
	return 0;
}

int option_set(struct options *options, const struct option_row *row, const char *spelled,
	       const char *value, struct err *err)
{
	static int (*const setters[])(struct options * options, const struct option_row *row,
				      const char *spelled, const char *value, struct err *err) = {
		[OPTION_FLAG] = set_flag,	[OPTION_NUMBER] = set_number,
		[OPTION_SECONDS] = set_seconds, [OPTION_TEXT] = set_text,
		[OPTION_LIST] = set_list,	[OPTION_PIDS] = set_pids,
		[OPTION_CHOICE] = set_choice,
	};
	int result = setters[row->type](options, row, spelled, value, err);

	if (result == 0)
		*(bool *)((char *)options + row->given_offset) = true;
	return result;
}
