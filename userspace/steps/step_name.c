/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "steps/step_name.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"

#define WORD_BYTES    32
#define NUMBER_ABSENT (~0ULL)

/* Words of which one that is not here makes a name say nothing: "step_into", "env.step", "forward step". */
enum word_role {
	WORD_UNKNOWN,
	WORD_NEUTRAL, /* may stand beside the others */
	WORD_STEP,
	WORD_BATCH, /* a step where it is numbered or of training: "batch" alone may be data */
	WORD_PHASE,
	WORD_EPOCH,
	WORD_OPTIMIZER,
	WORD_UPDATE, /* says what an optimizer does */
	WORD_ROLES,
};

static const struct {
	const char *word;
	enum word_role role;
} word_rows[] = {
	{"step", WORD_STEP},
	{"steps", WORD_STEP},
	{"iter", WORD_STEP},
	{"iteration", WORD_STEP},
	{"itr", WORD_STEP},
	{"trainstep", WORD_STEP},
	{"trainingstep", WORD_STEP},
	{"batch", WORD_BATCH},
	{"minibatch", WORD_BATCH},
	{"train", WORD_PHASE},
	{"training", WORD_PHASE},
	{"epoch", WORD_EPOCH},
	{"epochs", WORD_EPOCH},
	{"optimizer", WORD_OPTIMIZER},
	{"optimiser", WORD_OPTIMIZER},
	{"optim", WORD_OPTIMIZER},
	{"adam", WORD_OPTIMIZER},
	{"adamw", WORD_OPTIMIZER},
	{"sgd", WORD_OPTIMIZER},
	{"lamb", WORD_OPTIMIZER},
	{"lion", WORD_OPTIMIZER},
	{"adagrad", WORD_OPTIMIZER},
	{"adadelta", WORD_OPTIMIZER},
	{"adafactor", WORD_OPTIMIZER},
	{"rmsprop", WORD_OPTIMIZER},
	{"muon", WORD_OPTIMIZER},
	{"update", WORD_UPDATE},
	{"apply", WORD_UPDATE},
	{"fused", WORD_NEUTRAL},
	{"profiler", WORD_NEUTRAL},
	{"profile", WORD_NEUTRAL},
	{"trace", WORD_NEUTRAL},
	{"annotation", WORD_NEUTRAL},
	{"global", WORD_NEUTRAL},
	{"main", WORD_NEUTRAL},
	{"loop", WORD_NEUTRAL},
	{"trainer", WORD_NEUTRAL},
	{"model", WORD_NEUTRAL},
	{"eval", WORD_NEUTRAL},
	{"evaluation", WORD_NEUTRAL},
	{"validation", WORD_NEUTRAL},
	{"val", WORD_NEUTRAL},
	{"test", WORD_NEUTRAL},
	{"infer", WORD_NEUTRAL},
	{"inference", WORD_NEUTRAL},
	{"decode", WORD_NEUTRAL},
	{"prefill", WORD_NEUTRAL},
	{"generate", WORD_NEUTRAL},
	{"generation", WORD_NEUTRAL},
	{"engine", WORD_NEUTRAL},
	{"run", WORD_NEUTRAL},
	{"do", WORD_NEUTRAL},
	{"one", WORD_NEUTRAL},
	{"single", WORD_NEUTRAL},
	{"execute", WORD_NEUTRAL},
	{"of", WORD_NEUTRAL},
	{"no", WORD_NEUTRAL},
	{"nr", WORD_NEUTRAL},
	{"num", WORD_NEUTRAL},
	{"number", WORD_NEUTRAL},
	{"pl", WORD_NEUTRAL},
	{"op", WORD_NEUTRAL},
	{"id", WORD_NEUTRAL},
	{"seq", WORD_NEUTRAL},
};

static enum word_role role_of(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(word_rows); i++)
		if (strcmp(word_rows[i].word, word) == 0)
			return word_rows[i].role;
	return WORD_UNKNOWN;
}

/* Words and numbers of a name, one after the other. */
struct words {
	const char *at;
	char word[WORD_BYTES]; /* in lower case; "": it is a number */
	u64 number;
};

static bool is_letter(char c)
{
	return isalpha((unsigned char)c) && isascii((unsigned char)c);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "ProfilerStep" and "SGDStep" are two words, "AdamW" is one. */
static bool begins_word(const char *at)
{
	return isupper((unsigned char)at[0]) && islower((unsigned char)at[1]);
}

static void read_number(struct words *words)
{
	words->number = 0;
	for (; is_digit(*words->at); words->at++) {
		unsigned digit = *words->at - '0';

		if (words->number > (NUMBER_ABSENT - 1 - digit) / 10)
			words->number = NUMBER_ABSENT - 1;
		else
			words->number = words->number * 10 + digit;
	}
}

static bool words_next(struct words *words)
{
	size_t length = 0;

	while (*words->at && !is_letter(*words->at) && !is_digit(*words->at))
		words->at++;
	words->word[0] = 0;
	if (!*words->at)
		return false;
	if (is_digit(*words->at)) {
		read_number(words);
		return true;
	}
	for (; is_letter(*words->at); words->at++) {
		if (length && begins_word(words->at))
			break;
		if (length < WORD_BYTES - 1)
			words->word[length++] = tolower((unsigned char)*words->at);
	}
	words->word[length] = 0;
	return true;
}

enum step_name step_name_class(const char *name)
{
	struct words words = {.at = name};
	bool has[WORD_ROLES] = {0}, numbered = false;

	while (words_next(&words)) {
		if (words.word[0])
			has[role_of(words.word)] = true;
		else
			numbered = true;
		if (has[WORD_UNKNOWN])
			return STEP_NAME_NONE;
	}
	if (has[WORD_OPTIMIZER])
		return STEP_NAME_OPTIMIZER;
	if (has[WORD_UPDATE])
		return STEP_NAME_NONE;
	if (has[WORD_STEP] || (has[WORD_BATCH] && (numbered || has[WORD_PHASE])))
		return STEP_NAME_STEP;
	if (has[WORD_EPOCH])
		return STEP_NAME_EPOCH;
	return has[WORD_PHASE] ? STEP_NAME_PHASE : STEP_NAME_NONE;
}

#define ANONYMOUS "(anonymous namespace)"

/* "void ns::Trainer<float>::step(int)" is "ns::Trainer::step". */
static void append_path(const char *name, struct text *path)
{
	unsigned depth = 0;

	for (const char *at = name; *at; at++) {
		if (strncmp(at, ANONYMOUS, strlen(ANONYMOUS)) == 0)
			at += strlen(ANONYMOUS) - 1;
		else if (*at == '<')
			depth++;
		else if (*at == '>' && depth)
			depth--;
		else if (depth)
			continue;
		else if (*at == '(')
			break;
		else if (*at == ' ')
			text_clear(path);
		else
			text_append_char(path, *at);
	}
}

/* Where its last `count` parts begin. */
static const char *last_parts(const char *path, unsigned count)
{
	size_t at = strlen(path);

	while (at >= 2) {
		bool separator = path[at - 1] == ':' && path[at - 2] == ':';

		if (separator && --count == 0)
			return path + at;
		at -= separator ? 2 : 1;
	}
	return path;
}

enum step_name step_name_class_of_function(const char *name)
{
	struct text path _cleanup_text_ = {0};

	append_path(name, &path);
	if (path.failed)
		return STEP_NAME_NONE;
	/* Whose step it is stands in front of it: Adam::step. */
	if (step_name_class(last_parts(text_string(&path), 2)) == STEP_NAME_OPTIMIZER)
		return STEP_NAME_OPTIMIZER;
	return step_name_class(last_parts(text_string(&path), 1));
}

/* The one behind the word for a step, in "step 3 of 10"; else the last one. */
u64 step_name_number(const char *name)
{
	struct words words = {.at = name};
	u64 number = NUMBER_ABSENT;
	bool behind_step = false;

	while (words_next(&words)) {
		if (words.word[0]) {
			behind_step = role_of(words.word) == WORD_STEP;
			continue;
		}
		number = words.number;
		if (behind_step)
			break;
	}
	return number;
}

void step_name_append_path(const char *path, struct text *text)
{
	for (;;) {
		size_t length = strcspn(path, "/");

		text_append_bytes(text, path, step_name_without_count(path, length));
		if (!path[length])
			return;
		text_append_char(text, '/');
		path += length + 1;
	}
}

void step_name_append_series(const char *name, struct text *text)
{
	while (*name) {
		size_t plain = strcspn(name, "0123456789"), digits;

		text_append_bytes(text, name, plain);
		digits = strspn(name + plain, "0123456789");
		if (digits)
			text_append(text, "#");
		name += plain + digits;
	}
}

size_t step_name_without_count(const char *name, size_t length)
{
	size_t end = length;

	while (end && isdigit((unsigned char)name[end - 1]))
		end--;
	if (end == length || !end || !strchr(" #:=", name[end - 1]))
		return length;
	while (end && strchr(" #:=", name[end - 1]))
		end--;
	return end ? end : length;
}
