/* SPDX-License-Identifier: GPL-2.0-or-later */
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

void profile_set_defaults(struct options *options);
/* The options of --option, then those of the files of --options that the command line does not give. Reads the
 * files. */
int profile_apply(struct options *options, struct err *err);
/* As options_each(), for those given. */
int profile_each(const struct options *options,
		 int (*callback)(void *data, const char *name, const char *value, bool given), void *data);
/* For --help-levels. */
void profile_append_help(struct text *text);

/* One of these options, in words. */
struct profile_description {
	const char *name;
	char allowed[80];
	const char *acts; /* "refused yet: ", "" for what acts */
	const char *help;
};

/* The one of this number, in the order of profile.def; false: there are no more. */
bool profile_describe(size_t number, struct profile_description *ret_description);

#endif
