/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/xplane/xplane_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "exporters/xplane/gpu_peaks.h"

/* Above every thread id and stream number, below the ids of lines that readers derive (0xdeadbeef and on). */
#define FIRST_OWN_ID  0x40000000
#define LANE_IDS      100000 /* between those of a stream */
#define COUNTERS_ID   INT64_MAX
#define COUNTERS_NAME "_counters_"
/* The first lines of planes; the second is of the host's or of GPUs'. */
#define COUNTERS_LINE	0
#define MEMORY_LINE	1
#define MEMORY_ID	(FIRST_OWN_ID - 1)
#define MEMORY_NAME	"GPU memory"
#define STEP_SPANS_LINE 1
#define STEP_SPANS_ID	(FIRST_OWN_ID - 2)
/* XProf's command line takes all lines of a GPU for kernels, but for those in whose names such a word is. */
#define STEP_SPANS_NAME "Step spans (overlay)"
/* Of the first GPU; those of others are below. */
#define IDLE_ID (FIRST_OWN_ID - 3)
/* From there on no thread or stream has its own number for an id. */
#define FIRST_OF_ALL_ID (FIRST_OWN_ID - (1 << 20))
#define HOST_PLANE	"/host:CPU"
/* Of the host's plane: readers number GPUs by the ids of their planes. */
#define HOST_PLANE_ID 500

/* Of a GPU readers give the first 16 lines and what they derive from them rows of their own, 7 each; lines beyond these
 * keep theirs, which must be others. */
#define GPU_ROWS 1000
/* Readers have signed 64 bits for picoseconds: 100 days of 106, so that nothing is at the edge. */
#define NS_PER_DAY	      (24 * 60 * 60 * NS_PER_SECOND)
#define XPLANE_PROFILE_NS_MAX (100 * NS_PER_DAY)

/* Of planes in struct builder; of GPUs their number + 1. */
#define HOST_KEY 0

struct builder {
	struct xplane_rows *rows;
	const struct view *view;
	struct map spaces;   /* pid -> space */
	struct map planes;   /* (space, device number + 1; 0: host) -> plane */
	struct map line_ids; /* (plane, id) that is taken */
	u32 next_id;
};

static bool is_on_gpu(const struct view_row *row)
{
	return row->type == ROW_STREAM || row->type == ROW_DEVICE;
}

/* ---- spaces ---- */

static int compare_spaces(const void *a, const void *b)
{
	const struct xplane_space *left = a, *right = b;

	return left->pid < right->pid ? -1 : left->pid > right->pid;
}

/* What belongs to no process goes to the first. */
static int find_spaces(struct builder *builder)
{
	struct xplane_rows *rows = builder->rows;
	const struct view_survey *survey = rows->survey;

	rows->spaces = calloc(survey->row_count + 1, sizeof(*rows->spaces));
	if (!rows->spaces)
		return -ENOMEM;
	for (size_t i = 0; i < survey->row_count; i++) {
		const struct view_row *row = &survey->rows[i];

		if (!row->pid || map_find(&builder->spaces, row->pid, 0))
			continue;
		if (map_set(&builder->spaces, row->pid, 0, 0) < 0)
			return -ENOMEM;
		rows->spaces[rows->space_count++] =
			(struct xplane_space){.pid = row->pid, .name = row->process_name};
	}
	if (!rows->space_count)
		rows->spaces[rows->space_count++].name = "";
	qsort(rows->spaces, rows->space_count, sizeof(*rows->spaces), compare_spaces);
	for (size_t i = 0; i < rows->space_count; i++)
		if (map_set(&builder->spaces, rows->spaces[i].pid, 0, i) < 0)
			return -ENOMEM;
	return 0;
}

static size_t space_of(const struct builder *builder, const struct view_row *row)
{
	const u64 *space = map_find(&builder->spaces, row->pid, 0);

	return space ? *space : 0;
}

/* ---- planes ---- */

/* Stats by which readers know the GPU's limits; what is not known is left out. */
static int add_capabilities(struct xplane_plane *plane, const struct record_device *device,
			    const char *name)
{
	const struct gpu_peak *peak = name ? gpu_peak(name) : NULL;
	u64 bandwidth = device->memory_bandwidth_kb_s * 1000;
	int result = 0;

	if (name)
		result = xplane_plane_add_string(plane, "gpu_device_name", name);
	if (result == 0 && device->core_clock_khz)
		result = xplane_plane_add_s64(plane, "clock_rate", device->core_clock_khz);
	if (result == 0 && device->multiprocessors)
		result = xplane_plane_add_s64(plane, "core_count", device->multiprocessors);
	if (!bandwidth && peak)
		bandwidth = peak->bandwidth_bytes;
	if (result == 0 && bandwidth)
		result = xplane_plane_add_u64(plane, "memory_bandwidth", bandwidth);
	if (result == 0 && peak)
		result = xplane_plane_add_double(plane, "peak_teraflops_per_second", peak->tflops);
	if (result == 0 && device->memory_bytes)
		result = xplane_plane_add_u64(plane, "memory_size", device->memory_bytes);
	if (result == 0 && device->compute_major)
		result = xplane_plane_add_s64(plane, "compute_cap_major", device->compute_major);
	if (result == 0 && device->compute_major && device->compute_minor != 0xffffffff)
		result = xplane_plane_add_s64(plane, "compute_cap_minor", device->compute_minor);
	return result;
}

static int add_at_attach(struct xplane_plane *plane, const struct record_gpu_at_attach *fact)
{
	char address[32];
	int result = 0;

	snprintf(address, sizeof(address), "%04x:%02x:%02x.0", fact->pci_domain, fact->pci_bus,
		 fact->pci_device);
	if (fact->pci_bus != ~0U)
		result = xplane_plane_add_string(plane, "pci_bus_id", address);
	if (result == 0 && fact->memory_used_bytes != ~0ULL)
		result = xplane_plane_add_u64(plane, "memory_used_at_attach",
					      fact->memory_used_bytes);
	if (result == 0 && fact->process_memory_bytes != ~0ULL)
		result = xplane_plane_add_u64(plane, "process_memory_at_attach",
					      fact->process_memory_bytes);
	return result;
}

static int add_named_line(struct xplane_plane *plane, s64 id, const char *name)
{
	struct xplane_line *line = xplane_plane_line(plane, id);

	if (!line)
		return -ENOMEM;
	text_append(&line->name, name);
	return line->name.failed ? -ENOMEM : 0;
}

static int add_plane(struct builder *builder, size_t space, u64 key, s64 id, const char *name)
{
	struct xplane_rows *rows = builder->rows;
	struct xplane_plane *plane = &rows->planes[rows->plane_count];
	int result = xplane_plane_init(plane, id, name);

	if (result < 0)
		return result;
	rows->plane_count++;
	rows->spaces[space].plane_count++;
	result = add_named_line(plane, COUNTERS_ID, COUNTERS_NAME);
	if (result == 0 && key == HOST_KEY)
		result = add_named_line(plane, MEMORY_ID, MEMORY_NAME);
	else if (result == 0)
		result = add_named_line(plane, STEP_SPANS_ID, STEP_SPANS_NAME);
	return result < 0 ? result : map_set(&builder->planes, space, key, rows->plane_count - 1);
}

static bool is_plane_id(const struct xplane_rows *rows, const struct xplane_space *space, s64 id)
{
	for (size_t i = 0; i < space->plane_count; i++)
		if (rows->planes[space->first_plane + i].id == id)
			return true;
	return false;
}

/* The GPU's number; of numbers that are too large for an id, the last that is free. */
static s64 plane_id(const struct xplane_rows *rows, const struct xplane_space *space, u32 number)
{
	s64 id = number < HOST_PLANE_ID ? number : HOST_PLANE_ID - 1;

	for (s64 i = 0; i < HOST_PLANE_ID && is_plane_id(rows, space, id); i++)
		id = HOST_PLANE_ID - 1 - i;
	return id;
}

static int add_gpu(struct builder *builder, size_t space, const struct view_row *row)
{
	const struct record_header *device = view_fact(builder->view, KIND_device, row->device);
	const struct record_gpu_at_attach *at_attach =
		view_gpu_at_attach(builder->view, row->device);
	struct xplane_rows *rows = builder->rows;
	struct xplane_plane *plane = &rows->planes[rows->plane_count];
	u64 key = (u64)row->device_number + 1;
	char name[64];
	int result;

	if (map_find(&builder->planes, space, key))
		return 0;
	snprintf(name, sizeof(name), "/device:GPU:%u", row->device_number);
	result = add_plane(builder, space, key,
			   plane_id(rows, &rows->spaces[space], row->device_number), name);
	if (result < 0)
		return result;
	plane->device_number = row->device_number;
	result = xplane_plane_add_string(plane, "device_vendor", "Nvidia");
	if (result == 0 && device)
		result = add_capabilities(plane, (const struct record_device *)device,
					  view_text(builder->view, device->name));
	if (result == 0 && at_attach)
		result = add_at_attach(plane, at_attach);
	return result;
}

static int find_planes(struct builder *builder)
{
	struct xplane_rows *rows = builder->rows;
	const struct view_survey *survey = rows->survey;
	int result = 0;

	rows->planes = calloc(rows->space_count + survey->row_count, sizeof(*rows->planes));
	if (!rows->planes)
		return -ENOMEM;
	for (size_t space = 0; space < rows->space_count && result == 0; space++) {
		rows->spaces[space].first_plane = rows->plane_count;
		result = add_plane(builder, space, HOST_KEY, HOST_PLANE_ID, HOST_PLANE);
		for (size_t i = 0; i < survey->row_count && result == 0; i++)
			if (is_on_gpu(&survey->rows[i]) &&
			    space_of(builder, &survey->rows[i]) == space)
				result = add_gpu(builder, space, &survey->rows[i]);
	}
	return result;
}

/* ---- lines ---- */

static int take_id(struct builder *builder, size_t plane, u64 wanted, s64 *ret_id)
{
	while (!wanted || wanted >= FIRST_OF_ALL_ID ||
	       map_find(&builder->line_ids, plane, wanted)) {
		wanted = 0;
		if (!map_find(&builder->line_ids, plane, builder->next_id))
			break;
		builder->next_id++;
	}
	*ret_id = wanted ? wanted : builder->next_id++;
	return map_set(&builder->line_ids, plane, *ret_id, 1);
}

/* Streams get theirs when it is known what ran on them: xplane.c. */
static void name_line(struct xplane_line *line, const struct view_row *row, unsigned lane)
{
	struct text scratch _cleanup_text_ = {0};
	const char *name = text_utf8(row->name, &scratch);

	if (row->type == ROW_THREAD)
		text_appendf(&line->name, "%s/%u", name, row->tid);
	else if (row->type == ROW_STREAM)
		text_appendf(&line->name, "Stream #%u", row->stream_number);
	else if (row->type == ROW_SYNC)
		text_appendf(&line->name, "waits for GPU %u: %s", row->device_number, name);
	else
		text_append(&line->name, name);
	if (lane)
		text_appendf(&line->name, " (%u)", lane + 1);
}

/* What other tools show too; readers say the id of a line where it has rows below it. 0: any. */
static u64 wanted_id(const struct view_row *row, unsigned lane)
{
	if (row->type == ROW_STREAM && row->stream_number)
		return row->stream_number + (u64)lane * LANE_IDS;
	return row->type == ROW_THREAD && !lane ? row->tid : 0;
}

static int add_line(struct builder *builder, const struct view_row *row, unsigned lane)
{
	struct xplane_rows *rows = builder->rows;
	u64 key = is_on_gpu(row) ? (u64)row->device_number + 1 : HOST_KEY;
	size_t plane = *map_find(&builder->planes, space_of(builder, row), key);
	u64 wanted = wanted_id(row, lane);
	struct xplane_line *line;
	s64 id;

	if (take_id(builder, plane, wanted, &id) < 0)
		return -ENOMEM;
	line = xplane_plane_line(&rows->planes[plane], id);
	if (!line)
		return -ENOMEM;
	line->display_id = rows->planes[plane].line_count + (is_on_gpu(row) ? GPU_ROWS : 0);
	name_line(line, row, lane);
	rows->places[rows->place_count++] =
		(struct xplane_place){plane, rows->planes[plane].line_count - 1};
	return line->name.failed ? -ENOMEM : 0;
}

static int add_lines(struct builder *builder)
{
	struct xplane_rows *rows = builder->rows;
	const struct view_survey *survey = rows->survey;
	size_t count = 0;
	int result = 0;

	for (size_t i = 0; i < survey->row_count; i++)
		count += survey->rows[i].lane_count;
	rows->first_place = calloc(survey->row_count + 1, sizeof(*rows->first_place));
	rows->places = calloc(count + 1, sizeof(*rows->places));
	if (!rows->first_place || !rows->places)
		return -ENOMEM;
	for (size_t i = 0; i < survey->row_count && result == 0; i++) {
		rows->first_place[i] = rows->place_count;
		for (unsigned lane = 0; lane < survey->rows[i].lane_count && result == 0; lane++)
			result = add_line(builder, &survey->rows[i], lane);
	}
	return result;
}

int xplane_rows_make(struct xplane_rows *rows, const struct view *view,
		     const struct view_survey *survey, struct err *err)
{
	struct builder builder = {.rows = rows, .view = view, .next_id = FIRST_OWN_ID};
	int result;

	rows->survey = survey;
	view_time_range(survey, &rows->start_ns, &rows->end_ns);
	if (rows->end_ns - rows->start_ns > XPLANE_PROFILE_NS_MAX)
		return err_set(err, -ERANGE,
			       "can't write XPlane: from the first event to the last it is %llu "
			       "days, and a file holds %llu at most. Times of the capture may be "
			       "damaged: gpuprobe stats FILE",
			       (unsigned long long)((rows->end_ns - rows->start_ns) / NS_PER_DAY),
			       XPLANE_PROFILE_NS_MAX / NS_PER_DAY);
	result = find_spaces(&builder);
	if (result == 0)
		result = find_planes(&builder);
	if (result == 0)
		result = add_lines(&builder);
	map_free(&builder.spaces);
	map_free(&builder.planes);
	map_free(&builder.line_ids);
	return result < 0 ? err_errno(err, result, "can't lay out the planes") : 0;
}

void xplane_rows_free(struct xplane_rows *rows)
{
	for (size_t i = 0; i < rows->plane_count; i++)
		xplane_plane_free(&rows->planes[i]);
	for (size_t i = 0; i < rows->space_count; i++) {
		if (rows->spaces[i].metadata)
			xplane_plane_free(rows->spaces[i].metadata);
		free(rows->spaces[i].metadata);
	}
	free(rows->spaces);
	free(rows->planes);
	free(rows->first_place);
	free(rows->places);
	*rows = (struct xplane_rows){0};
}

const struct xplane_place *xplane_rows_place(const struct xplane_rows *rows, size_t row_index,
					     unsigned lane)
{
	if (row_index >= rows->survey->row_count ||
	    lane >= rows->survey->rows[row_index].lane_count)
		return NULL;
	return &rows->places[rows->first_place[row_index] + lane];
}

struct xplane_line *xplane_rows_counters(const struct xplane_rows *rows,
					 const struct xplane_place *place)
{
	return &rows->planes[place->plane].lines[COUNTERS_LINE];
}

struct xplane_line *xplane_rows_memory(const struct xplane_rows *rows,
				       const struct xplane_place *place)
{
	return &rows->planes[place->plane].lines[MEMORY_LINE];
}

static struct xplane_space *space_of_plane(struct xplane_rows *rows, size_t plane)
{
	struct xplane_space *space = rows->spaces;

	while (plane >= space->first_plane + space->plane_count)
		space++;
	return space;
}

int xplane_rows_add_idle(struct xplane_rows *rows, size_t row_index, const char *name,
			 struct xplane_place *ret_place)
{
	size_t row_plane = rows->places[rows->first_place[row_index]].plane;
	struct xplane_space *space = space_of_plane(rows, row_plane);
	struct xplane_plane *plane = &rows->planes[space->first_plane];
	struct xplane_line *line = xplane_plane_line(plane, IDLE_ID - (s64)space->idle_count);

	if (!line)
		return -ENOMEM;
	*ret_place = (struct xplane_place){space->first_plane, plane->line_count - 1};
	text_appendf(&line->name, "GPU %u: %s", rows->survey->rows[row_index].device_number, name);
	/* Lines without one are shown by their ids, behind all others. */
	for (size_t i = 0; i < plane->line_count; i++)
		if (plane->lines[i].display_id > (s64)space->idle_count)
			plane->lines[i].display_id++;
	line->display_id = (s64)++space->idle_count;
	return line->name.failed ? -ENOMEM : 0;
}

struct xplane_line *xplane_rows_step_spans(struct xplane_plane *plane)
{
	return &plane->lines[STEP_SPANS_LINE];
}
