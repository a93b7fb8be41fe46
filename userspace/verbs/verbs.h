/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One function a verb: does what the options say, prints every error, returns the exit code. */
#ifndef GPUPROBE_VERBS_VERBS_H
#define GPUPROBE_VERBS_VERBS_H

#include "options/options.h"

/* EXIT_SUCCESS and EXIT_FAILURE are the others. */
#define EXIT_USAGE 2

int verb_record(const struct options *options);
int verb_export(const struct options *options);
int verb_stats(const struct options *options);
int verb_explain(const struct options *options);
int verb_help_reports(const struct options *options);
int verb_check(const struct options *options);
int verb_open(const struct options *options);
int verb_serve(const struct options *options);
int verb_completion(const struct options *options);
int verb_help(const struct options *options);
int verb_version(const struct options *options);

#endif
