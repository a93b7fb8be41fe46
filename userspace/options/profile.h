/*
 * The options of JAX's ProfileOptions, from profile.def: --option KEY=VALUE and --options FILE.
 *
 * Errors begin with "InvalidArgument: " (unknown key, wrong type, out of range) or "Unimplemented: " (it can not act
 * yet), and name the key and what is allowed.
 */
#ifndef GPUPROBE_OPTIONS_PROFILE_H
#define GPUPROBE_OPTIONS_PROFILE_H

#include "base/text.h"
#include "options/options.h"

/* A value, as it was written. */
struct profile_value {
	enum profile_value_type {
		PROFILE_WORD, /* of a command line or a line: what it is depends on the key */
		PROFILE_INTEGER,
		PROFILE_BOOLEAN,
		PROFILE_STRING,
		PROFILE_OTHER, /* of JSON: no key takes it */
	} type;
	s64 number;	  /* INTEGER, BOOLEAN */
	const char *text; /* WORD, STRING; and for messages always */
};

void profile_set_defaults(struct options *options);
/* The options of --option, then those of the files of --options that the command line does not give. Reads the
 * files. */
int profile_apply(struct options *options, struct err *err);
/* before: what has been given already, and holds; NULL: nothing. where: for messages, "--option", "FILE:3". */
int profile_set(struct options *options, const struct options *before, const char *key,
		const struct profile_value *value, const char *where, struct err *err);
/* Lines KEY=VALUE, or one JSON object; JAX's advanced_configuration may stand in it as an object of its own. */
int profile_set_text(struct options *options, const struct options *before, char *text, const char *name,
		     struct err *err);
int profile_set_file(struct options *options, const struct options *before, const char *path, struct err *err);
/* As options_each(), for those given. */
int profile_each(const struct options *options,
		 int (*callback)(void *data, const char *name, const char *value, bool given), void *data);
/* For --help-levels; rows of a table of three columns. */
void profile_append_help(struct text *text);
void profile_append_markdown(struct text *text);

#endif
