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
	VERB_ALL = 15,
};

struct options_list {
	char **items;
	size_t count;
};

struct options_pids {
	u32 *items; /* each once, in the order given */
	size_t count;
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
#define CHOICE(member, number, word, help)
#include "options/options.def"
#undef OPTION
	struct {
#define OPTION(member, type, long_name, short_name, metavar, value, minimum, maximum, verbs, help) \
	bool member;
#include "options/options.def"
#undef OPTION
#undef CHOICE
	} given;
	enum options_verb verb;
	struct options_list arguments; /* positional: CAPTURE */
	char **command;		       /* what stands behind "--", NULL-terminated; NULL: none */
};

/* argv[0] is skipped; argv[1] may be a verb, else it is record. Messages name the option, what was given
 * and what is allowed, and the nearest name for an unknown one. On failure ret_options is empty. */
int options_parse(int argc, char **argv, struct options *ret_options, struct err *err);
void options_free(struct options *options);

/* Calls back for every option of the verb with its value as text, whether given or default. Lists: once
 * per item. For the option facts. */
int options_each(const struct options *options,
		 int (*callback)(void *data, const char *name, const char *value, bool given),
		 void *data);

void options_print_help(FILE *file, enum options_verb verb); /* VERB_ALL: the overview */
/* The block of README.md between its markers. */
void options_print_markdown(FILE *file);
/* shell: "bash" or "zsh". */
int options_print_completion(FILE *file, const char *shell, struct err *err);

#endif
