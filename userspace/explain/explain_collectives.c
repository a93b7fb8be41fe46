/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which GPU comes last to collectives. A kernel of one runs until all that take part have come: those of one collective have the same name, overlap, and end
 * together, and each GPU has one. Of ranks that are not recorded nothing is known. Groups of GPUs that begin and end the same collective in the same moment
 * can't be told apart.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "explain/explain_parts.h"

#define GPUS_MAX    64
#define OPEN_MAX    8 /* of one name at a time: of several groups of GPUs */
#define TOGETHER_NS 30000ULL

struct one {
	u64 gpus;     /* a bit for each that has come */
	u64 begin_ns; /* the first one, */
	u64 end_ns;   /* the last one that came */
	u64 after_ns; /* how much later than the first one each came, in all */
	u64 last_ns;  /* and who came last, */
	size_t last;  /* place in gpus */
};

/* Of one name. */
struct explain_collective {
	struct one open[OPEN_MAX];
	size_t next; /* takes the place of this one */
};

static void close_one(struct explain_collectives *all, struct one *collective)
{
	unsigned count = (unsigned)__builtin_popcountll(collective->gpus);

	if (count > 1) {
		all->count++;
		all->gpus[collective->last].last_count++;
		all->gpus[collective->last].waited_ns +=
			(collective->last_ns - collective->begin_ns) * count - collective->after_ns;
	}
	*collective = (struct one){0};
}

/* The one that the GPU takes part in with this kernel: a new one where it is the first. */
static struct one *find_one(struct explain_collectives *all, struct explain_collective *collective,
			    s64 gpu, const struct view_event *event)
{
	u64 nearest_ns = TOGETHER_NS + 1;
	struct one *found = NULL;

	for (size_t i = 0; i < OPEN_MAX; i++) {
		struct one *one = &collective->open[i];
		u64 apart_ns = event->end > one->end_ns ? event->end - one->end_ns
							: one->end_ns - event->end;

		if (one->gpus && !(one->gpus >> gpu & 1) && event->ts < one->end_ns &&
		    apart_ns < nearest_ns) {
			nearest_ns = apart_ns;
			found = one;
		}
	}
	if (found)
		return found;
	found = &collective->open[collective->next++ % OPEN_MAX];
	close_one(all, found);
	found->begin_ns = event->ts;
	return found;
}

/* Those of that name; NULL: no memory. */
static struct explain_collective *find(struct explain_collectives *all, const char *name)
{
	size_t known = all->names.count;
	s64 number = string_table_add(&all->names, name, strlen(name));

	if (number < 0 || array_reserve(&all->open, &all->open_capacity, all->names.count))
		return NULL;
	if ((size_t)number == known)
		all->open[number] = (struct explain_collective){0};
	return &all->open[number];
}

/* Its place; GPUS_MAX: there are too many; -ENOMEM. */
static s64 find_gpu(struct explain *explain, const struct view_event *event)
{
	struct explain_collectives *all = &explain->collectives;
	s64 gpu = gpu_places_of(&all->places, explain->view, event->row->device);

	if (gpu < 0 || gpu >= GPUS_MAX)
		return gpu < 0 ? -ENOMEM : GPUS_MAX;
	if (array_reserve(&all->gpus, &all->gpu_capacity, (size_t)gpu + 1))
		return -ENOMEM;
	while (all->gpu_count <= (size_t)gpu)
		all->gpus[all->gpu_count++] = (struct explain_collective_gpu){0};
	all->gpus[gpu].device = event->row->device;
	all->gpus[gpu].pid = event->record->pid;
	return gpu;
}

int explain_collective_add(struct explain *explain, const struct view_event *event)
{
	struct explain_collectives *all = &explain->collectives;
	s64 gpu = find_gpu(explain, event);
	struct explain_collective *collective;
	struct one *one;

	if (gpu < 0 || gpu == GPUS_MAX)
		return gpu < 0 ? -ENOMEM : 0;
	collective = find(all, event->name);
	if (!collective)
		return -ENOMEM;
	one = find_one(all, collective, gpu, event);
	one->gpus |= 1ULL << gpu;
	one->after_ns += event->ts - one->begin_ns;
	one->end_ns = event->end;
	one->last_ns = event->ts;
	one->last = (size_t)gpu;
	return 0;
}

/* "GPU 1: NVIDIA H200 of train (100), rank 3 of 8" */
static int name_gpu(const struct explain *explain, const struct explain_collective_gpu *gpu,
		    struct text *text)
{
	text_append(text, view_device_name(explain->view, gpu->device) ?: "a GPU");
	if (gpu->pid) {
		text_append(text, " of ");
		explain_process_append_short(explain, gpu->pid, text);
	}
	return text->failed ? -ENOMEM : 0;
}

int explain_collectives_settle(struct explain *explain)
{
	struct explain_collectives *all = &explain->collectives;
	struct explain_evidence *evidence = &explain->evidence[EXPLAIN_STRAGGLER];

	for (size_t i = 0; i < all->names.count; i++)
		for (size_t j = 0; j < OPEN_MAX; j++)
			close_one(all, &all->open[i].open[j]);
	evidence->count = all->count;
	for (size_t i = 0; i < all->gpu_count; i++) {
		const struct explain_collective_gpu *gpu = &all->gpus[i];
		_cleanup_text_ struct text name = {0};

		if (!gpu->last_count)
			continue;
		if (gpu->waited_ns > explain->state_ns[EXPLAIN_STRAGGLER])
			explain->state_ns[EXPLAIN_STRAGGLER] = gpu->waited_ns;
		if (name_gpu(explain, gpu, &name) ||
		    explain_places_add(&evidence->places, text_string(&name), gpu->waited_ns,
				       gpu->last_count))
			return -ENOMEM;
	}
	return 0;
}

void explain_collectives_free(struct explain *explain)
{
	free(explain->collectives.gpus);
	free(explain->collectives.open);
	string_table_free(&explain->collectives.names);
	gpu_places_free(&explain->collectives.places);
}
