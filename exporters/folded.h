/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folded stacks, the input of flame graphs (flamegraph.pl, inferno, speedscope): a line "process;thread;outermost;...;innermost;
 * [what for] VALUE" for each stack of each thread name, sorted. Where the callers of a stack are missing, "[cut]" stands first.
 */
#ifndef GPUPROBE_EXPORTERS_FOLDED_H
#define GPUPROBE_EXPORTERS_FOLDED_H

#include "base/err.h"
#include "view/view.h"

extern const struct view_sink folded_sink;

/* path says what the values are: "x.off-cpu.folded"; "x.folded": the first of folded.c's table that the capture has. */
int folded_create(const char *path, bool gzip, void **ret_data, struct err *err);
int folded_finish(void *data, bool commit, u64 *ret_size_bytes, struct err *err);

#endif
