/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the user asked, from options.def. */
#ifndef GPUPROBE_OPTIONS_OPTIONS_H
#define GPUPROBE_OPTIONS_OPTIONS_H

#include <stdio.h>

#include "base/err.h"
#include "base/types.h"

enum options_verb {
	VERB_RECORD = 1,
	VERB_EXPORT = 2,
	VERB_STATS = 4,
	VERB_CHECK = 8,
	VERB_COMPLETION = 16,
	VERB_HELP = 32,
	VERB_VERSION = 64,
	VERB_SERVE = 128,
	VERB_EXPLAIN = 256,
	VERB_OPEN = 512,
	VERB_ALL = 1023,
};

/* The values of CHOICE options: CHOICE_attach_mode_single. */
enum options_choice {
#define CHOICE(member, number, word, help) CHOICE_##member##_##word = number,
#include "options/options.def"
};

struct options_list {
	char **items;
	size_t count;
};

struct options_pids {
	u32 *items; /* each once, in the order given */
	size_t count;
};

/* One member per PROFILE row of profile.def: the number, 0 or 1, or for a string whether it is not empty. */
struct options_profile {
#define PROFILE(name, type, value, minimum, maximum, acts, help) s64 name;
#include "options/profile.def"
};

struct options_profile_given {
#define PROFILE(name, type, value, minimum, maximum, acts, help) bool name;
#include "options/profile.def"
};

/* One member per OPTION row, by its TYPE; and given.MEMBER: whether the user named it. */
struct options {
#define OPTION_MEMBER_FLAG(member)    bool member;
#define OPTION_MEMBER_NUMBER(member)  u64 member;
#define OPTION_MEMBER_SECONDS(member) u64 member;
#define OPTION_MEMBER_TEXT(member)    char *member;
#define OPTION_MEMBER_LIST(member)    struct options_list member;
#define OPTION_MEMBER_PIDS(member)    struct options_pids member;
#define OPTION_MEMBER_CHOICE(member)  unsigned member;
#define OPTION(member, type, long_name, short_name, metavar, value, minimum, maximum, verbs, help) \
	OPTION_MEMBER_##type(member)
#include "options/options.def"
	struct {
#define OPTION(member, type, long_name, short_name, metavar, value, minimum, maximum, verbs, help) \
	bool member;
#include "options/options.def"
	} given;
	struct options_profile profile;
	struct options_profile_given profile_given;
	enum options_verb verb;
	bool verb_given; /* false: record because no verb was named */
	struct options_list arguments; /* positional: CAPTURE; for help a verb; for completion a shell */
	char **command;		       /* what stands behind "--", NULL-terminated; NULL: none */
};

/* argv[0] is skipped; the first word that is no option (nor the value of one) may be a verb, else it is
 * record. Messages name the option, what was given and what is allowed, and the nearest name for an unknown
 * one. With --help, --help-levels or --version what the verb needs besides is not asked for. On failure ret_options is
 * empty. */
int options_parse(int argc, char **argv, struct options *ret_options, struct err *err);
void options_free(struct options *options);

/* Calls back for every option of the verb (but those that only print) with its long name and its value as
 * text, whether given or default. Lists: once per item; a text without default, and what profile.def adds: only
 * when given. For the option facts. Ends with the first result that is not 0, and returns it. */
int options_each(const struct options *options,
		 int (*callback)(void *data, const char *name, const char *value, bool given),
		 void *data);

/* Those given that `verb` takes too, as words of a command line ("--children", "--pid=4242"), behind those that are in
 * the list. */
int options_words(const struct options *options, enum options_verb verb, struct options_list *words,
		  struct err *err);
int options_list_add(struct options_list *list, const char *string, struct err *err);
/* The words between commas of string, without empty ones. */
int options_list_split(struct options_list *list, const char *string, struct err *err);
void options_list_free(struct options_list *list);

void options_print_help(FILE *file, enum options_verb verb); /* VERB_ALL: the overview */
/* --help-levels: what the levels switch on, and the options of profile.def. */
void options_print_levels(FILE *file);
/* The page docs/options.md. */
void options_print_markdown(FILE *file);
/* The manual page gpuprobe-VERB.1, for man(1); VERB_ALL: gpuprobe.1. */
void options_print_man(FILE *file, enum options_verb verb, const char *program_version);
/* The verb of this name, 0 when there is none. */
enum options_verb options_verb_find(const char *name);
const char *options_verb_name(enum options_verb verb);
/* Fails, and says so, where this verb was left out of the build. */
int options_verb_absent(const char *name, struct err *err);
/* shell: "bash" or "zsh". */
int options_print_completion(FILE *file, const char *shell, struct err *err);

#endif
