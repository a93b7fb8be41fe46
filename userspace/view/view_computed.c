/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The values that stand in no record: computed from an event, its cause, its row, and the facts it refers to. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "view/occupancy.h"
#include "view/view_parts.h"

/* ---- of every event ---- */

static struct view_value compute_name(const struct view *view, const struct view_event *event)
{
	return value_string(event->name);
}

static struct view_value compute_end(const struct view *view, const struct view_event *event)
{
	return value_u64(event->end);
}

static struct view_value compute_dur(const struct view *view, const struct view_event *event)
{
	return value_u64(event->dur);
}

static struct view_value compute_lane(const struct view *view, const struct view_event *event)
{
	return value_u64(event->lane);
}

static struct view_value compute_depth(const struct view *view, const struct view_event *event)
{
	return value_u64(event->depth);
}

static struct view_value compute_row(const struct view *view, const struct view_event *event)
{
	return value_string(event->row->name);
}

static struct view_value compute_process(const struct view *view, const struct view_event *event)
{
	return value_string(event->row->process_name);
}

/* ---- of ranges ---- */

static struct view_value compute_payload_double(const struct view *view,
						const struct view_event *event)
{
	/* The same place in all of them. */
	const struct record_range *range = (const struct record_range *)event->record;
	double decimal;

	memcpy(&decimal, &range->payload_double_bits, sizeof(decimal));
	return value_decimal(decimal);
}

/* As Nsight's tables name it: with its domain in front. */
static struct view_value compute_range_name(const struct view *view, const struct view_event *event)
{
	const struct record_range *range = (const struct record_range *)event->record;
	const char *domain = view_text(view, range->domain);
	_cleanup_text_ struct text name = {0};

	if (!domain)
		return value_string(event->name);
	text_append(&name, domain);
	text_append_char(&name, ':');
	text_append(&name, event->name);
	return value_string(view_intern(view, text_string(&name), name.length));
}

/* ---- causes ---- */

static struct view_value compute_launch(const struct view *view, const struct view_event *event)
{
	return event->launch ? value_u64(event->launch) : value_absent();
}

static struct view_value compute_cause(const struct view *view, const struct view_event *event)
{
	return event->cause ? value_u64(event->cause->number) : value_absent();
}

static struct view_value compute_cause_name(const struct view *view, const struct view_event *event)
{
	return value_string(event->cause ? event->cause->name : NULL);
}

static struct view_value compute_launch_delay(const struct view *view,
					      const struct view_event *event)
{
	return event->cause ? value_u64(event->ts - event->cause->ts) : value_absent();
}

/* Work that began before its launch had returned did not queue. */
static struct view_value compute_queue(const struct view *view, const struct view_event *event)
{
	const struct view_cause *cause = event->cause;

	if (!cause || cause->open || event->ts < cause->ts + cause->dur)
		return value_absent();
	return value_u64(event->ts - (cause->ts + cause->dur));
}

static struct view_value compute_total(const struct view *view, const struct view_event *event)
{
	const struct view_cause *cause = event->cause;
	u64 end;

	if (!cause)
		return value_absent();
	end = cause->ts + cause->dur > event->end ? cause->ts + cause->dur : event->end;
	return value_u64(end - cause->ts);
}

static struct view_value compute_cause_dur(const struct view *view, const struct view_event *event)
{
	return event->cause && !event->cause->open ? value_u64(event->cause->dur) : value_absent();
}

static struct view_value compute_cause_tid(const struct view *view, const struct view_event *event)
{
	return event->cause && event->cause->tid ? value_u64(event->cause->tid) : value_absent();
}

/* ---- what its launch belongs to ---- */

static struct view_value compute_within(const struct view *view, const struct view_event *event)
{
	return value_string(event->cause ? view_path_text(view, event->cause->within.path) : NULL);
}

static struct view_value compute_within_by(const struct view *view, const struct view_event *event)
{
	static const char *const words[] = {
		[VIEW_WITHIN_NOTHING] = NULL,
		[VIEW_WITHIN_OWN] = "own",
		[VIEW_WITHIN_BY_WAIT] = "wait",
		[VIEW_WITHIN_BY_TIME] = "time",
	};

	return value_string(event->cause ? words[event->cause->within.by] : NULL);
}

static struct view_value unique_correlation(const struct view *view, const struct view_event *event)
{
	const struct schema_field *field = view->kinds.kinds[event->kind->number].correlation;

	return view_field_absent(field, event->record)
		       ? value_absent()
		       : value_u64(view_unique_correlation(view, event));
}

/* They would count what a call inside another one launched twice, too. */
static struct view_value compute_correlation(const struct view *view,
					     const struct view_event *event)
{
	return event->inner_call ? value_absent() : unique_correlation(view, event);
}

static struct view_value compute_outer(const struct view *view, const struct view_event *event)
{
	return event->inner_call ? unique_correlation(view, event) : value_absent();
}

/* ---- numbers of devices, contexts and streams ---- */

static u64 stream_number(const struct view *view, u32 id)
{
	const struct record_stream *fact =
		(const struct record_stream *)view_fact(view, KIND_stream, id);

	return fact && fact->number != ~0U ? fact->number : id;
}

/* As the process numbers what the field refers to; an id without such a fact stands for itself. */
static struct view_value number_of(const struct view *view, const struct view_event *event,
				   enum view_number which)
{
	const struct view_number_field *of = &view->kinds.kinds[event->kind->number].numbers[which];
	const struct record_header *fact;

	if (view_field_absent(of->field, event->record))
		return value_absent();
	fact = view_fact(view, of->fact_kind, schema_field_value(of->field, event->record, 0));
	if (fact && !view_field_absent(of->number, fact))
		return value_u64(schema_field_value(of->number, fact, 0));
	return value_u64(schema_field_value(of->field, event->record, 0));
}

static struct view_value compute_device(const struct view *view, const struct view_event *event)
{
	return number_of(view, event, VIEW_NUMBER_DEVICE);
}

static struct view_value compute_context(const struct view *view, const struct view_event *event)
{
	return number_of(view, event, VIEW_NUMBER_CONTEXT);
}

static struct view_value compute_stream(const struct view *view, const struct view_event *event)
{
	return number_of(view, event, VIEW_NUMBER_STREAM);
}

/* ---- what a wait for a CUDA event waits for ---- */

static struct view_value compute_recorded_by(const struct view *view,
					     const struct view_event *event)
{
	u64 correlation;
	u32 stream;

	return view_event_recorded(view, event, &stream, &correlation) ? value_u64(correlation)
								       : value_absent();
}

static struct view_value compute_recorded_in(const struct view *view,
					     const struct view_event *event)
{
	u64 correlation;
	u32 stream;

	return view_event_recorded(view, event, &stream, &correlation)
		       ? value_u64(stream_number(view, stream))
		       : value_absent();
}

static struct view_value compute_source_device(const struct view *view,
					       const struct view_event *event)
{
	return number_of(view, event, VIEW_NUMBER_SOURCE_DEVICE);
}

static struct view_value compute_destination_device(const struct view *view,
						    const struct view_event *event)
{
	return number_of(view, event, VIEW_NUMBER_DESTINATION_DEVICE);
}

static struct view_value compute_device_name(const struct view *view,
					     const struct view_event *event)
{
	const struct schema_field *field = schema_field(event->kind, SCHEMA_FIELD(kernel, device));

	return value_string(view_device_name(view, schema_field_value(field, event->record, 0)));
}

/* ---- kernels ---- */

static struct view_value compute_mangled(const struct view *view, const struct view_event *event)
{
	const char *name = view_text(view, event->record->name);

	return value_string(name && strcmp(name, event->name) ? name : NULL);
}

static struct view_value compute_short_name(const struct view *view, const struct view_event *event)
{
	const char *name = view_short_name(view, event->record);

	return value_string(name ? name : event->name);
}

static const struct record_kernel *kernel_of(const struct view_event *event)
{
	return (const struct record_kernel *)event->record;
}

static const struct record_device *device_of(const struct view *view,
					     const struct view_event *event)
{
	return (const struct record_device *)view_fact(view, KIND_device, kernel_of(event)->device);
}

static struct view_value compute_shared_memory(const struct view *view,
					       const struct view_event *event)
{
	const struct record_kernel *kernel = kernel_of(event);

	if (kernel->static_shared_memory_bytes == ~0U || kernel->dynamic_shared_memory_bytes == ~0U)
		return value_absent();
	return value_u64((u64)kernel->static_shared_memory_bytes +
			 kernel->dynamic_shared_memory_bytes);
}

static double blocks_per_sm(const struct view *view, const struct view_event *event)
{
	const struct record_device *device = device_of(view, event);
	u64 blocks = kernel_blocks(kernel_of(event));

	return device && device->multiprocessors && blocks
		       ? (double)blocks / device->multiprocessors
		       : NAN;
}

static struct view_value compute_blocks_per_sm(const struct view *view,
					       const struct view_event *event)
{
	return value_decimal(blocks_per_sm(view, event));
}

static struct view_value compute_warps_per_sm(const struct view *view,
					      const struct view_event *event)
{
	const struct record_device *device = device_of(view, event);
	u64 threads = kernel_threads(kernel_of(event));

	if (!device || !device->threads_per_warp || !threads)
		return value_absent();
	return value_decimal(blocks_per_sm(view, event) * threads / device->threads_per_warp);
}

static bool occupancy_of_event(const struct view *view, const struct view_event *event,
			       struct occupancy *ret_occupancy)
{
	return view_occupancy(view, kernel_of(event), ret_occupancy);
}

static struct view_value compute_occupancy(const struct view *view, const struct view_event *event)
{
	struct occupancy occupancy;

	return occupancy_of_event(view, event, &occupancy)
		       ? value_decimal(100 * occupancy.theoretical)
		       : value_absent();
}

static struct view_value compute_occupancy_estimate(const struct view *view,
						    const struct view_event *event)
{
	struct occupancy occupancy;

	return occupancy_of_event(view, event, &occupancy)
		       ? value_u64(0.5 + 100 * occupancy.estimate)
		       : value_absent();
}

static struct view_value compute_occupancy_limit(const struct view *view,
						 const struct view_event *event)
{
	static const char *const limits[] = {
		[LIMIT_WARPS] = "warps",
		[LIMIT_BLOCKS] = "blocks",
		[LIMIT_REGISTERS] = "registers",
		[LIMIT_SHARED_MEMORY] = "shared memory",
	};
	struct occupancy occupancy;

	return value_string(occupancy_of_event(view, event, &occupancy) ? limits[occupancy.limit]
									: NULL);
}

/* ---- the same, as CUDA's occupancy calculator calls it ---- */

static struct view_value occupancy_limit_value(const struct view *view,
					       const struct view_event *event,
					       enum occupancy_limit limit)
{
	struct occupancy occupancy;

	return occupancy_of_event(view, event, &occupancy) && occupancy.limits[limit] != ~0U
		       ? value_u64(occupancy.limits[limit])
		       : value_absent();
}

static struct view_value compute_limit_warps(const struct view *view,
					     const struct view_event *event)
{
	return occupancy_limit_value(view, event, LIMIT_WARPS);
}

static struct view_value compute_limit_blocks(const struct view *view,
					      const struct view_event *event)
{
	return occupancy_limit_value(view, event, LIMIT_BLOCKS);
}

static struct view_value compute_limit_registers(const struct view *view,
						 const struct view_event *event)
{
	return occupancy_limit_value(view, event, LIMIT_REGISTERS);
}

static struct view_value compute_limit_shared_memory(const struct view *view,
						     const struct view_event *event)
{
	return occupancy_limit_value(view, event, LIMIT_SHARED_MEMORY);
}

static struct view_value compute_active_blocks(const struct view *view,
					       const struct view_event *event)
{
	struct occupancy occupancy;

	return occupancy_of_event(view, event, &occupancy)
		       ? value_u64(occupancy.blocks_per_multiprocessor)
		       : value_absent();
}

static struct view_value compute_block_registers(const struct view *view,
						 const struct view_event *event)
{
	struct occupancy occupancy;

	return occupancy_of_event(view, event, &occupancy) ? value_u64(occupancy.block_registers)
							   : value_absent();
}

static struct view_value compute_block_shared_memory(const struct view *view,
						     const struct view_event *event)
{
	struct occupancy occupancy;

	return occupancy_of_event(view, event, &occupancy)
		       ? value_u64(occupancy.block_shared_memory_bytes)
		       : value_absent();
}

/* All that allow no more than the first does. */
static struct view_value compute_limiting_factors(const struct view *view,
						  const struct view_event *event)
{
	static const struct {
		enum occupancy_limit limit;
		const char *word;
	} factors[] = {
		{LIMIT_WARPS, "WARPS"},
		{LIMIT_REGISTERS, "REGS"},
		{LIMIT_SHARED_MEMORY, "SMEM"},
		{LIMIT_BLOCKS, "BLOCKS"},
	};
	struct occupancy occupancy;
	char words[32] = "";
	size_t length = 0;

	if (!occupancy_of_event(view, event, &occupancy))
		return value_absent();
	for (size_t i = 0; i < ARRAY_SIZE(factors); i++)
		if (occupancy.limits[factors[i].limit] == occupancy.blocks_per_multiprocessor)
			length += snprintf(words + length, sizeof(words) - length, "%s%s",
					   length ? "|" : "", factors[i].word);
	return value_string(view_intern(view, words, length));
}

/* ---- memory ---- */

/* Gigabytes a second is bytes a nanosecond. */
static struct view_value compute_bandwidth(const struct view *view, const struct view_event *event)
{
	const struct schema_field *bytes = schema_field(event->kind, SCHEMA_FIELD(copy, bytes));

	if (view_field_absent(bytes, event->record) || !event->dur || event->open)
		return value_absent();
	return value_decimal((double)schema_field_value(bytes, event->record, 0) /
			     (double)event->dur);
}

/* ---- words of enums, as other CUDA tools write them ---- */

static struct view_value word_of(const struct view_event *event, const char *name)
{
	const struct schema_field *field = schema_field(event->kind, name);

	return value_string(
		view_word(field->reference, schema_field_value(field, event->record, 0)));
}

static struct view_value compute_type_word(const struct view *view, const struct view_event *event)
{
	return word_of(event, SCHEMA_FIELD(sync, type));
}

/* "[CUDA memcpy HtoD]" */
static struct view_value compute_operation(const struct view *view, const struct view_event *event)
{
	struct view_value direction;
	char name[64];

	if (event->kind->number == KIND_set)
		return value_string("[CUDA memset]");
	direction = word_of(event, SCHEMA_FIELD(copy, direction));
	return value_string(view_intern(
		view, name,
		snprintf(name, sizeof(name), "[CUDA memcpy %s]",
			 direction.type == VALUE_STRING ? direction.string : "Unknown")));
}

/* ---- the table ---- */

/* clang-format off */
static const struct computed_row {
	const char *name;
	const char *field; /* only of kinds that have it; NULL: of all */
	u16 kinds[VIEW_ROW_KINDS_MAX]; /* only of these; none: of all */
	view_compute *compute;
} computed_rows[] = {
	{"name",                      NULL,                                    {},                      compute_name},
	{"dur",                       NULL,                                    {},                      compute_dur},
	{"end",                       NULL,                                    {},                      compute_end},
	{"lane",                      NULL,                                    {},                      compute_lane},
	{"depth",                     NULL,                                    {},                      compute_depth},
	{"row",                       NULL,                                    {},                      compute_row},
	{"process",                   NULL,                                    {},                      compute_process},
	{"weight_ns",                 NULL,                                    {KIND_sample},           view_compute_weight},
	{"payload_double",            SCHEMA_FIELD(range, payload_double_bits), {},                      compute_payload_double},
	{"range_name",                NULL,                                    {VIEW_RANGES},           compute_range_name},
	{"range_name",                NULL,                                    {KIND_usdt_span},        compute_name},
	{"launch_number",             NULL,                                    {},                      compute_launch},
	{"cause",                     NULL,                                    {},                      compute_cause},
	{"cause_name",                NULL,                                    {},                      compute_cause_name},
	{"cause_dur_ns",              NULL,                                    {},                      compute_cause_dur},
	{"cause_tid",                 NULL,                                    {},                      compute_cause_tid},
	/* The ranges and functions that it belongs to, and how that is known: view_contexts.c. */
	{"within",                    NULL,                                    {VIEW_GPU_WORK},         compute_within},
	{"within_by",                 NULL,                                    {VIEW_GPU_WORK},         compute_within_by},
	/* From the start of the launch to the start of what it launched. */
	{"launch_delay_ns",           NULL,                                    {},                      compute_launch_delay},
	/* From the end of the launch to the start of what it launched. */
	{"queue_ns",                  NULL,                                    {},                      compute_queue},
	{"launch_to_end_ns",          NULL,                                    {},                      compute_total},
	{"unique_correlation",        SCHEMA_FIELD(kernel, correlation),       {},                      compute_correlation},
	{"outer_correlation",         SCHEMA_FIELD(kernel, correlation),       {},                      compute_outer},
	{"device_number",             SCHEMA_FIELD(kernel, device),            {},                      compute_device},
	{"context_number",            SCHEMA_FIELD(kernel, context),           {},                      compute_context},
	{"stream_number",             SCHEMA_FIELD(kernel, stream),            {},                      compute_stream},
	{"recorded_by",               SCHEMA_FIELD(sync, event),               {KIND_sync},             compute_recorded_by},
	{"recorded_in",               SCHEMA_FIELD(sync, event),               {KIND_sync},             compute_recorded_in},
	{"source_device_number",      SCHEMA_FIELD(copy, source_device),       {},                      compute_source_device},
	{"destination_device_number", SCHEMA_FIELD(copy, destination_device),  {},                      compute_destination_device},
	{"device_name",               SCHEMA_FIELD(kernel, device),            {},                      compute_device_name},
	{"mangled",                   NULL,                                    {KIND_kernel},           compute_mangled},
	{"short_name",                NULL,                                    {KIND_kernel},           compute_short_name},
	/* Of what Triton or inductor compiled: "/srv/kernels.py:12", and of which nodes of the program. */
	{"kernel_source",             NULL,                                    {KIND_kernel},           view_compute_kernel_source},
	{"kernel_nodes",              NULL,                                    {KIND_kernel},           view_compute_kernel_nodes},
	{"shared_memory_bytes",       NULL,                                    {KIND_kernel},           compute_shared_memory},
	{"blocks_per_sm",             NULL,                                    {KIND_kernel},           compute_blocks_per_sm},
	{"warps_per_sm",              NULL,                                    {KIND_kernel},           compute_warps_per_sm},
	/* Percent: what fits, and what a grid of this size fills on average. */
	{"occupancy",                 NULL,                                    {KIND_kernel},           compute_occupancy},
	{"occupancy_estimate",        NULL,                                    {KIND_kernel},           compute_occupancy_estimate},
	{"occupancy_limit",           NULL,                                    {KIND_kernel},           compute_occupancy_limit},
	{"occupancy_active_blocks",   NULL,                                    {KIND_kernel},           compute_active_blocks},
	{"occupancy_factors",         NULL,                                    {KIND_kernel},           compute_limiting_factors},
	{"occupancy_registers",       NULL,                                    {KIND_kernel},           compute_limit_registers},
	{"occupancy_shared_memory",   NULL,                                    {KIND_kernel},           compute_limit_shared_memory},
	{"occupancy_warps",           NULL,                                    {KIND_kernel},           compute_limit_warps},
	{"occupancy_blocks",          NULL,                                    {KIND_kernel},           compute_limit_blocks},
	{"block_registers",           NULL,                                    {KIND_kernel},           compute_block_registers},
	{"block_shared_memory_bytes", NULL,                                    {KIND_kernel},           compute_block_shared_memory},
	{"matmul",                    NULL,                                    {KIND_kernel},           view_compute_matmul},
	{"matmul_flops",              NULL,                                    {KIND_kernel},           view_compute_matmul_flops},
	{"bandwidth",                 NULL,                                    {KIND_copy, KIND_set},   compute_bandwidth},
	{"operation_name",            NULL,                                    {KIND_api, KIND_kernel}, compute_name},
	{"operation_name",            NULL,                                    {KIND_copy, KIND_set},   compute_operation},
	{"operation_name",            NULL,                                    {KIND_migration},        view_compute_migration_name},
	{"type_word",                 NULL,                                    {KIND_sync},             compute_type_word},
	/* As tables of Nsight Systems have them. */
	{"offset_ns",                 NULL,                                    {},                      view_compute_offset},
	{"thread_name",               NULL,                                    {},                      view_compute_thread_name},
	{"thread_priority",           NULL,                                    {},                      view_compute_thread_priority},
	{"device_and_number",         SCHEMA_FIELD(kernel, device),            {},                      view_compute_device_and_number},
	{"source_memory",             NULL,                                    {KIND_copy, KIND_set},   view_compute_source_memory},
	{"source_memory",             NULL,                                    {KIND_migration},        view_compute_managed_memory},
	{"destination_memory",        NULL,                                    {KIND_copy},             view_compute_destination_memory},
	{"destination_memory",        NULL,                                    {KIND_migration},        view_compute_managed_memory},
	{"device_and_number",         NULL,                                    {KIND_migration},        view_compute_device_and_number},
	{"device_number",             NULL,                                    {KIND_migration},        view_compute_migration_device},
	{"bytes",                     NULL,                                    {KIND_migration},        view_compute_migrated_bytes},
	{"bandwidth",                 NULL,                                    {KIND_migration},        view_compute_migrated_bandwidth},
	{"percent",                   NULL,                                    {KIND_probing},          view_compute_probing_percent},
	{"average_ns",                NULL,                                    {KIND_function_total},   view_compute_average},
	{"distribution",              NULL,                                    {KIND_function_total},   view_compute_distribution},
};
/* clang-format on */

view_compute *view_computed(const struct schema_kind *kind, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(computed_rows); i++) {
		const struct computed_row *row = &computed_rows[i];

		if (strcmp(row->name, name) == 0 &&
		    (!row->kinds[0] || view_row_is_of(row->kinds, kind->number)) &&
		    (!row->field || schema_field(kind, row->field)))
			return row->compute;
	}
	return NULL;
}
