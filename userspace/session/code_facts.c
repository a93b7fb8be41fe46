/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/code_facts.h"

#include <string.h>

#include "base/cleanup.h"

void code_facts_look(struct code_facts *code, const struct bpf_source *source, bool always)
{
	_cleanup_free_ u32 *pids = NULL;
	size_t count;

	if (bpf_source_targets(source, &pids, &count))
		return;
	for (size_t i = 0; i < count; i++)
		(void)code_map_look(&code->map, pids[i], always);
}

/* Memory without a file, of which a JIT has thousands of pieces, is told of where a stack leads there. */
static bool is_worth_telling(const struct code_mapping *mapping)
{
	return mapping->inode || mapping->path[0] == '[';
}

int code_facts_put(struct code_facts *code, struct recording_facts *facts, struct batch *batch)
{
	int result = 0;

	for (; code->sent_count < code->map.count && !result; code->sent_count++) {
		const struct code_mapping *mapping = &code->map.mappings[code->sent_count];

		if (is_worth_telling(mapping))
			result = recording_facts_mapping(facts, batch, &code->map, mapping);
	}
	return result;
}

void code_facts_free(struct code_facts *code)
{
	code_map_free(&code->map);
}
