/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of the code that a process maps the BPF programs are told, where it is more than they search. */
#ifndef GPUPROBE_UNWIND_UNWIND_SPACE_H
#define GPUPROBE_UNWIND_UNWIND_SPACE_H

#include "unwind/unwind_words.h"

/* Sorts them by address, makes one of neighbours that one serves as well, and leaves at most `most` of them: first those of files that can
 * have no table go, then those of the files that are mapped most often, so that the program, its loader and its C library stay.
 * ret_left_out: so many went. 0 or -ENOMEM. */
int unwind_space_fit(struct unwind_mapping *mappings, size_t *count, size_t most,
		     size_t *ret_left_out);

#endif
