/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The documentation of the data model, from record.def: `gpuprobe help records`. */
#ifndef GPUPROBE_STORE_SCHEMA_DOCUMENT_H
#define GPUPROBE_STORE_SCHEMA_DOCUMENT_H

#include <stdio.h>

/* Every kind with its fields, and every enum, as Markdown. */
void schema_print_markdown(FILE *file);

#endif
