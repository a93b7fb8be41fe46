/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looking at what was written: traces in ui.perfetto.dev, folders of profiles in XProf. */
#ifndef GPUPROBE_VERBS_OPEN_OPEN_H
#define GPUPROBE_VERBS_OPEN_OPEN_H

#include "base/err.h"
#include "options/options.h"

/* For --open: is there an output that can be looked at? And is --origin one? */
int open_check(const struct options *options, struct err *err);
/* Those outputs, as the user behind sudo, in a process of its own. Prints every error, returns the exit code. */
int open_outputs(const struct options *options);

#endif
