/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of a profile that samples refer to: strings, functions, files, places in the code, each once. */
#ifndef GPUPROBE_EXPORTERS_PPROF_PPROF_PLACES_H
#define GPUPROBE_EXPORTERS_PPROF_PPROF_PLACES_H

#include "base/map.h"
#include "pprof.pb-c.h"
#include "view/view.h"

/* Zero-initialise but for the view. */
struct pprof_places {
	const struct view *view;
	struct string_table strings;
	struct map by_function;	     /* (name, file) -> id */
	Pprof__Function **functions; /* id n at n - 1, as those below */
	size_t function_count, function_capacity;
	struct map by_module; /* id of the fact, or string of its name -> id */
	Pprof__Mapping **mappings;
	size_t mapping_count, mapping_capacity;
	struct map by_place; /* (process and module, address and whether it is guessed), or string -> id */
	Pprof__Location **locations;
	size_t location_count, location_capacity;
};

/* The first string of all is "". 0 or -ENOMEM. */
int pprof_places_init(struct pprof_places *places, const struct view *view);
/* The number of a string. -ENOMEM. */
s64 pprof_string(struct pprof_places *places, const char *string);
/* The places that a stack of a process leads through, innermost first; to be freed by the caller. A stack that is cut ends in a place that
 * says so. 0 or -ENOMEM. */
int pprof_places_of(struct pprof_places *places, u32 pid, u32 stack, u64 **ret_ids, size_t *ret_count);
/* A place that is no code, by its name. -ENOMEM. */
s64 pprof_place_named(struct pprof_places *places, const char *name);
/* One without an address, that is written in a file ("": not known) at a line (0: the same). -ENOMEM. */
s64 pprof_place_written(struct pprof_places *places, const char *name, const char *file, u32 line);
void pprof_places_free(struct pprof_places *places);

#endif
