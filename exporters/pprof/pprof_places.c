/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/pprof/pprof_places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"

int pprof_places_init(struct pprof_places *places, const struct view *view)
{
	places->view = view;
	return pprof_string(places, "") < 0 ? -ENOMEM : 0;
}

/* Names of a target need not be UTF-8, strings of a message must. */
s64 pprof_string(struct pprof_places *places, const char *string)
{
	_cleanup_text_ struct text scratch = {0};
	const char *utf8 = text_utf8(string, &scratch);

	return scratch.failed ? -ENOMEM : string_table_add(&places->strings, utf8, strlen(utf8));
}

static s64 function_id(struct pprof_places *places, const char *name, const char *file)
{
	s64 name_number = pprof_string(places, name), file_number = pprof_string(places, file);
	Pprof__Function *function;
	u64 *known;

	if (name_number < 0 || file_number < 0)
		return -ENOMEM;
	known = map_find(&places->by_function, (u64)name_number, (u64)file_number);
	if (known)
		return (s64)*known;
	if (array_reserve(&places->functions, &places->function_capacity,
			  places->function_count + 1))
		return -ENOMEM;
	function = malloc(sizeof(*function));
	if (!function)
		return -ENOMEM;
	pprof__function__init(function);
	places->functions[places->function_count++] = function;
	function->id = places->function_count;
	function->name = function->system_name = name_number;
	function->filename = file_number;
	return map_set(&places->by_function, (u64)name_number, (u64)file_number, function->id)
		       ? -ENOMEM
		       : (s64)function->id;
}

static int fill_mapping(struct pprof_places *places, const struct record_module *module,
			Pprof__Mapping *mapping)
{
	_cleanup_text_ struct text build_id = {0};
	const char *path = view_text(places->view, module->header.name);
	bool known = false;

	for (size_t i = 0; i < sizeof(module->build_id); i++)
		known |= module->build_id[i] != 0;
	for (size_t i = 0; i < sizeof(module->build_id) && known; i++)
		text_appendf(&build_id, "%02x", module->build_id[i]);
	mapping->memory_start = module->start;
	mapping->memory_limit = module->end;
	mapping->file_offset = module->file_offset == ~0ULL ? 0 : module->file_offset;
	mapping->filename = pprof_string(places, path ? path : "");
	mapping->build_id = pprof_string(places, text_string(&build_id));
	mapping->has_functions = true;
	return mapping->filename < 0 || mapping->build_id < 0 || build_id.failed ? -ENOMEM : 0;
}

/* 0: the file is not known. */
static s64 mapping_id(struct pprof_places *places, u32 module)
{
	const struct record_module *fact =
		(const struct record_module *)view_fact(places->view, KIND_module, module);
	u64 *known = map_find(&places->by_module, module, 0);
	Pprof__Mapping *mapping;

	if (!fact)
		return 0;
	if (known)
		return (s64)*known;
	if (array_reserve(&places->mappings, &places->mapping_capacity, places->mapping_count + 1))
		return -ENOMEM;
	mapping = malloc(sizeof(*mapping));
	if (!mapping)
		return -ENOMEM;
	pprof__mapping__init(mapping);
	places->mappings[places->mapping_count++] = mapping;
	mapping->id = places->mapping_count;
	if (fill_mapping(places, fact, mapping) ||
	    map_set(&places->by_module, module, 0, mapping->id))
		return -ENOMEM;
	return (s64)mapping->id;
}

/* NULL: no memory. */
static Pprof__Location *location_add(struct pprof_places *places, u64 key_a, u64 key_b)
{
	Pprof__Location *location;

	if (array_reserve(&places->locations, &places->location_capacity,
			  places->location_count + 1))
		return NULL;
	location = malloc(sizeof(*location));
	if (!location)
		return NULL;
	pprof__location__init(location);
	places->locations[places->location_count++] = location;
	location->id = places->location_count;
	return map_set(&places->by_place, key_a, key_b, location->id) ? NULL : location;
}

static int add_line(Pprof__Location *location, s64 function, u32 line)
{
	Pprof__Line **lines = reallocarray(location->line, location->n_line + 1, sizeof(*lines));

	if (!lines)
		return -ENOMEM;
	location->line = lines;
	lines[location->n_line] = malloc(sizeof(**lines));
	if (!lines[location->n_line])
		return -ENOMEM;
	pprof__line__init(lines[location->n_line]);
	lines[location->n_line]->function_id = (u64)function;
	lines[location->n_line++]->line = line;
	return 0;
}

/* Of frames, the first of which is the innermost function at one address: how many belong to it. */
static size_t levels_of(const struct view_frame *frames, size_t count)
{
	size_t levels = 1;

	while (levels < count && frames[levels - 1].inlined)
		levels++;
	return levels;
}

static s64 location_id(struct pprof_places *places, u32 pid, const struct view_frame *frames,
		       size_t levels)
{
	/* The same memory may have held different files, and the same code be a guess in one stack and known in another. No program has code at
	 * addresses with that bit. */
	u64 key = (u64)pid << 32 | frames->module_id, *known;
	u64 place = frames->address ^ (frames->guessed ? 1ULL << 63 : 0);
	Pprof__Location *location;
	s64 mapping;

	if (!frames->address)
		return pprof_place_named(places, frames->name);
	known = map_find(&places->by_place, key, place);
	if (known)
		return (s64)*known;
	mapping = mapping_id(places, frames[levels - 1].module_id);
	location = mapping < 0 ? NULL : location_add(places, key, place);
	if (!location)
		return -ENOMEM;
	location->mapping_id = (u64)mapping;
	location->address = frames->address;
	for (size_t i = 0; i < levels; i++) {
		_cleanup_text_ struct text name = {0};
		s64 function;

		/* Where it is has fields of its own. */
		if (frames[i].python)
			text_append(&name, frames[i].name);
		else
			view_frame_append_name(&frames[i], &name);
		function = name.failed ? -ENOMEM
				       : function_id(places, text_string(&name), frames[i].file);
		if (function < 0 || add_line(location, function, frames[i].line))
			return -ENOMEM;
	}
	return (s64)location->id;
}

s64 pprof_place_named(struct pprof_places *places, const char *name)
{
	return pprof_place_written(places, name, "", 0);
}

s64 pprof_place_written(struct pprof_places *places, const char *name, const char *file, u32 line)
{
	s64 function = function_id(places, name, file);
	Pprof__Location *location;
	u64 *known;

	u64 key = (u64)function << 32 | line;

	if (function < 0)
		return -ENOMEM;
	known = map_find(&places->by_place, ~0ULL, key);
	if (known)
		return (s64)*known;
	location = location_add(places, ~0ULL, key);
	if (!location || add_line(location, function, line))
		return -ENOMEM;
	return (s64)location->id;
}

int pprof_places_of(struct pprof_places *places, u32 pid, u32 stack, u64 **ret_ids,
		    size_t *ret_count)
{
	const struct view_frame *frames;
	const char *cut;
	size_t count = view_frames(places->view, pid, stack, &frames, &cut);
	_cleanup_free_ u64 *ids = calloc(count + 2, sizeof(*ids));
	size_t id_count = 0, levels;
	s64 id = 0;

	if (!ids)
		return -ENOMEM;
	for (size_t i = 0; i < count && id >= 0; i += levels) {
		levels = levels_of(&frames[i], count - i);
		id = location_id(places, pid, &frames[i], levels);
		ids[id_count++] = (u64)id;
	}
	if (id >= 0 && cut) {
		id = pprof_place_named(places, cut);
		ids[id_count++] = (u64)id;
	}
	if (id < 0)
		return -ENOMEM;
	*ret_ids = take_pointer(&ids);
	*ret_count = id_count;
	return 0;
}

void pprof_places_free(struct pprof_places *places)
{
	for (size_t i = 0; i < places->function_count; i++)
		free(places->functions[i]);
	for (size_t i = 0; i < places->mapping_count; i++)
		free(places->mappings[i]);
	for (size_t i = 0; i < places->location_count; i++) {
		for (size_t j = 0; j < places->locations[i]->n_line; j++)
			free(places->locations[i]->line[j]);
		free(places->locations[i]->line);
		free(places->locations[i]);
	}
	free(places->functions);
	free(places->mappings);
	free(places->locations);
	string_table_free(&places->strings);
	map_free(&places->by_function);
	map_free(&places->by_module);
	map_free(&places->by_place);
}
