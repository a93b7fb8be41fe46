/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/usdt_arguments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS	   "0123456789"
#define HEX_DIGITS DIGITS "abcdefABCDEFxX"

/* ---- registers ---- */

/* Numbers as machine code has them. */
static const struct register_row {
	const char *name;
	u8 number;
	u8 shift_bits;
} register_rows[] = {
#define LEGACY(number, letter)                                                             \
	{"r" letter "x", number, 0}, {"e" letter "x", number, 0}, {letter "x", number, 0}, \
		{letter "l", number, 0},                                                   \
	{                                                                                  \
		letter "h", number, 8                                                      \
	}
#define POINTER(number, name)                                            \
	{"r" name, number, 0}, {"e" name, number, 0}, {name, number, 0}, \
	{                                                                \
		name "l", number, 0                                      \
	}
#define NUMBERED(number)                                                                      \
	{"r" #number, number, 0}, {"r" #number "d", number, 0}, {"r" #number "w", number, 0}, \
		{"r" #number "b", number, 0},                                                 \
	{                                                                                     \
		"r" #number "l", number, 0                                                    \
	}
	LEGACY(0, "a"),
	LEGACY(1, "c"),
	LEGACY(2, "d"),
	LEGACY(3, "b"),
	POINTER(4, "sp"),
	POINTER(5, "bp"),
	POINTER(6, "si"),
	POINTER(7, "di"),
	NUMBERED(8),
	NUMBERED(9),
	NUMBERED(10),
	NUMBERED(11),
	NUMBERED(12),
	NUMBERED(13),
	NUMBERED(14),
	NUMBERED(15),
	{"rip", USDT_REGISTER_IP, 0},
#undef LEGACY
#undef POINTER
#undef NUMBERED
};

/* A part of the text; nothing behind end is looked at. */
struct span {
	const char *at, *end;
};

static bool span_take(struct span *span, char c)
{
	if (span->at == span->end || *span->at != c)
		return false;
	span->at++;
	return true;
}

static void span_skip_blanks(struct span *span)
{
	while (span->at < span->end && *span->at == ' ')
		span->at++;
}

/* A register, with its '%', at the start of the span. */
static bool take_register(struct span *span, u8 *ret_number, u8 *ret_shift_bits)
{
	size_t length = 0;

	if (!span_take(span, '%'))
		return false;
	while (span->at + length < span->end &&
	       memchr("abcdefghijklmnopqrstuvwxyz0123456789", span->at[length], 36))
		length++;
	for (size_t i = 0; i < ARRAY_SIZE(register_rows); i++) {
		const struct register_row *row = &register_rows[i];

		if (strlen(row->name) != length || memcmp(row->name, span->at, length) != 0)
			continue;
		*ret_number = row->number;
		*ret_shift_bits = row->shift_bits;
		span->at += length;
		return true;
	}
	return false;
}

/* ---- numbers and names ---- */

/* A number without sign: decimal, 0x..., 0... */
static bool take_number(struct span *span, u64 *ret_value)
{
	bool hex = span->end - span->at > 2 && span->at[0] == '0' && (span->at[1] | 0x20) == 'x';
	const char *characters = hex ? HEX_DIGITS : DIGITS;
	char digits[32];
	size_t length = 0;
	char *end;

	while (span->at + length < span->end && length < sizeof(digits) - 1 &&
	       memchr(characters, span->at[length], strlen(characters)))
		length++;
	if (!length || span->at[0] < '0' || span->at[0] > '9')
		return false;
	memcpy(digits, span->at, length);
	digits[length] = 0;
	errno = 0;
	*ret_value = strtoull(digits, &end, 0);
	if (*end || errno)
		return false;
	span->at += length;
	return true;
}

static bool is_name_character(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.' || c == '$';
}

/* "8", "-0x10+4", "counter+8": the sum, and whether a variable is in it. */
static bool take_sum(struct span *span, const struct usdt_place *place, s64 *ret_value,
		     bool *ret_variable)
{
	u64 sum = 0, term;
	bool any = false;

	*ret_variable = false;
	while (span->at < span->end && *span->at != '(') {
		bool minus = span_take(span, '-');

		if (!minus && !span_take(span, '+') && any)
			return false;
		if (!take_number(span, &term)) {
			size_t length = 0;

			while (span->at + length < span->end && is_name_character(span->at[length]))
				length++;
			if (!length || minus || *ret_variable ||
			    !place->variable(place->data, span->at, length, &term))
				return false;
			span->at += length;
			*ret_variable = true;
		}
		sum += minus ? -term : term;
		any = true;
	}
	*ret_value = (s64)sum;
	return true;
}

/* ---- operands ---- */

static bool parse_constant(struct span *span, const struct usdt_place *place,
			   struct usdt_argument *argument)
{
	bool variable;

	argument->kind = USDT_CONSTANT;
	return span->at < span->end && take_sum(span, place, &argument->value, &variable) &&
	       span->at == span->end && !variable;
}

static bool parse_register(struct span *span, struct usdt_argument *argument)
{
	argument->kind = USDT_REGISTER;
	return take_register(span, &argument->base, &argument->shift_bits) &&
	       span->at == span->end && argument->base != USDT_REGISTER_IP;
}

/* "(base,index,scale)", each of them may be missing. */
static bool parse_address_registers(struct span *span, struct usdt_argument *argument)
{
	u64 scale = 1;
	u8 shift_bits = 0;

	if (!span_take(span, '('))
		return false;
	span_skip_blanks(span);
	if (span->at < span->end && *span->at == '%' &&
	    (!take_register(span, &argument->base, &shift_bits) || shift_bits))
		return false;
	span_skip_blanks(span);
	if (span_take(span, ',')) {
		span_skip_blanks(span);
		if (span->at < span->end && *span->at == '%' &&
		    (!take_register(span, &argument->index, &shift_bits) || shift_bits))
			return false;
		span_skip_blanks(span);
		if (span_take(span, ',')) {
			span_skip_blanks(span);
			if (!take_number(span, &scale))
				return false;
		}
		span_skip_blanks(span);
	}
	argument->scale = (u8)scale;
	return span_take(span, ')') && span->at == span->end &&
	       (scale == 1 || scale == 2 || scale == 4 || scale == 8) &&
	       argument->index != USDT_REGISTER_IP;
}

static bool parse_memory(struct span *span, const struct usdt_place *place,
			 struct usdt_argument *argument)
{
	bool variable;

	argument->kind = USDT_MEMORY;
	argument->scale = 1;
	if (!take_sum(span, place, &argument->value, &variable))
		return false;
	if (span->at < span->end && !parse_address_registers(span, argument))
		return false;
	/* A number alone: the constants of Intel's syntax look like that, and no compiler means an address by it. */
	if (!variable && argument->base == USDT_REGISTER_NONE &&
	    argument->index == USDT_REGISTER_NONE)
		return false;
	if (!variable)
		return argument->base != USDT_REGISTER_IP;
	/* The assembler counts from the next instruction to where the variable lies; we count from the probe. */
	if (argument->base == USDT_REGISTER_IP) {
		argument->value -= (s64)place->address;
		return argument->index == USDT_REGISTER_NONE;
	}
	return !place->movable;
}

/* "-4@": false where there is none that is known. */
static bool take_size(struct span *span, struct usdt_argument *argument, bool *ret_float)
{
	u64 size;

	argument->is_signed = span_take(span, '-');
	if (!take_number(span, &size) || (size != 1 && size != 2 && size != 4 && size != 8))
		return false;
	argument->size_bytes = (u8)size;
	*ret_float = span_take(span, 'f');
	return span_take(span, '@');
}

static struct usdt_argument parse_one(struct span span, const struct usdt_place *place)
{
	const struct usdt_argument none = {.kind = USDT_UNREADABLE,
					   .size_bytes = 8,
					   .base = USDT_REGISTER_NONE,
					   .index = USDT_REGISTER_NONE};
	struct usdt_argument argument = none;
	bool is_float = false, known;

	/* The first version of these notes had no sizes. */
	if (!memchr(span.at, '@', (size_t)(span.end - span.at)))
		known = true;
	else
		known = take_size(&span, &argument, &is_float);
	if (!known || is_float || span.at == span.end)
		known = false;
	else if (span_take(&span, '$'))
		known = parse_constant(&span, place, &argument);
	else if (*span.at == '%')
		known = parse_register(&span, &argument);
	else
		known = parse_memory(&span, place, &argument);
	if (known)
		return argument;
	argument = (struct usdt_argument){.size_bytes = argument.size_bytes,
					  .is_signed = argument.is_signed,
					  .base = USDT_REGISTER_NONE,
					  .index = USDT_REGISTER_NONE,
					  .shift_bits = is_float};
	return argument;
}

/* "-4@", "8f@": is that what the text begins with? */
static bool begins_with_size(const char *text)
{
	text += *text == '-';
	text += strspn(text, DIGITS);
	text += *text == 'f';
	return *text == '@';
}

/* The end of the argument that begins at text: a blank that is in no parentheses and, where arguments have sizes, before the
 * size of the next one (operands of Intel's syntax have blanks: "4@DWORD PTR -4[rbp]"). */
static const char *argument_end(const char *text, bool sizes)
{
	unsigned depth = 0;

	for (; *text; text++) {
		const char *next = text + strspn(text, " ");

		if (*text == ' ' && !depth && (!sizes || !*next || begins_with_size(next)))
			break;
		depth += *text == '(';
		depth -= *text == ')' && depth;
	}
	return text;
}

size_t usdt_arguments_parse(const char *text, const struct usdt_place *place,
			    struct usdt_argument ret_arguments[USDT_ARGUMENTS_MAX])
{
	bool sizes = strchr(text, '@') != NULL;
	size_t count = 0;

	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		const char *end = argument_end(text, sizes);

		if (count < USDT_ARGUMENTS_MAX)
			ret_arguments[count] = parse_one((struct span){text, end}, place);
		count++;
		text = end;
	}
	return count;
}

void usdt_arguments_append(const struct usdt_argument *arguments, size_t count, struct text *text)
{
	for (size_t i = 0; i < count && i < USDT_ARGUMENTS_MAX; i++) {
		const struct usdt_argument *argument = &arguments[i];
		bool unreadable = argument->kind == USDT_UNREADABLE;
		char letter = unreadable && argument->shift_bits ? 'f'
			      : argument->is_signed		 ? 's'
								 : 'u';

		text_append(text, i ? " " : "");
		if (argument->as_string)
			text_append(text, "string");
		else
			text_appendf(text, "%c%u%s", letter, 8U * argument->size_bytes,
				     unreadable ? "?" : "");
	}
}
