/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folders that outputs lie in and that need not exist yet. They are made with the care of base/output.h: no link of a
 * stranger is followed, they belong to the user behind sudo.
 */
#ifndef GPUPROBE_BASE_OUTPUT_FOLDER_H
#define GPUPROBE_BASE_OUTPUT_FOLDER_H

#include "base/err.h"
#include "base/types.h"

/* What was made, for output_folder_remove(). Zero-initialise it. */
struct output_folder {
	char *path;
	size_t existing_length; /* of the path: what was there before the first that was made */
};

/* Makes path and what of its parents is missing; what was made is removed again after a failure. */
int output_folder_make(struct output_folder *folder, const char *path, struct err *err);
/* Removes those that were made, where nothing is in them. */
void output_folder_remove(struct output_folder *folder);
void output_folder_free(struct output_folder *folder);

/* Can path be made, and files in it? Leaves nothing behind. To be asked before anything costly starts. */
int output_folder_check(const char *path, struct err *err);

#endif
