/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/pprof/pprof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "exporters/pprof/pprof_places.h"
#include "exporters/writer.h"

/* What is summed; a profile has those that its capture has something of. */
enum type {
	TYPE_SAMPLES,
	TYPE_CPU,
	TYPE_OFF_CPU,
	TYPE_WALL,
	TYPE_ALLOCATIONS,
	TYPE_ALLOCATED,
	TYPE_LIVE_ALLOCATIONS,
	TYPE_LIVE,
	TYPE_GPU,
	TYPE_LAUNCHES,
	TYPES
};

static const struct {
	const char *name, *unit; /* the words that readers know */
	u16 kinds[VIEW_ROW_KINDS_MAX];
} types[TYPES] = {
	[TYPE_SAMPLES] = {"samples", "count", {KIND_sample}},
	[TYPE_CPU] = {"cpu", "nanoseconds", {KIND_sample, KIND_thread_time}},
	[TYPE_OFF_CPU] = {"off_cpu", "nanoseconds", {KIND_off_cpu, KIND_thread_time}},
	[TYPE_WALL] = {"wall", "nanoseconds", {KIND_thread_time}},
	[TYPE_ALLOCATIONS] = {"alloc_objects", "count", {KIND_heap_stack}},
	[TYPE_ALLOCATED] = {"alloc_space", "bytes", {KIND_heap_stack}},
	[TYPE_LIVE_ALLOCATIONS] = {"inuse_objects", "count", {KIND_heap_stack}},
	[TYPE_LIVE] = {"inuse_space", "bytes", {KIND_heap_stack}},
	[TYPE_GPU] = {"gpu", "nanoseconds", {KIND_launch_stack}},
	[TYPE_LAUNCHES] = {"gpu_launches", "count", {KIND_launch_stack}},
};

/* A stack of a thread in one state. */
struct sum {
	size_t row;
	u64 *places; /* innermost first */
	size_t place_count, place_capacity;
	const char *state; /* NULL: none */
	s64 what;	   /* string: what it waited in; 0: nothing */
	s64 autograd;	   /* string: the node of PyTorch's autograd that launched it; 0: none */
	s64 values[TYPES];
};

struct pprof {
	struct writer writer;
	const struct view *view;
	const struct view_survey *survey;
	bool has[TYPES];
	struct pprof_places places;
	struct map known; /* (row and state, stack and what) -> place in sums */
	struct sum *sums;
	size_t count, capacity;
	u64 period_ns;
};

static int pprof_open(void *data, const struct view *view, const struct view_survey *survey,
		      struct err *err)
{
	struct pprof *pprof = data;

	pprof->view = view;
	pprof->survey = survey;
	for (enum type i = 0; i < TYPES; i++)
		pprof->has[i] = view_has_any(view, types[i].kinds);
	return pprof_places_init(&pprof->places, view)
		       ? err_errno(err, -ENOMEM, "can't write %s", pprof->writer.path)
		       : 0;
}

/* ---- sums ---- */

/* What a sum is of: a stack, or why there is none. */
struct key {
	size_t row;
	unsigned state; /* VIEW_WALL_*; VIEW_WALL_STATES: none */
	u32 stack;
	const char *why;  /* NULL: the stack */
	const char *what; /* it waited in; NULL: nothing */
	u32 pid;	  /* whose stack it is */
	const struct view_event
		*launch; /* a call that launched something, or work of a GPU; NULL: neither */
	s64 leaf;	 /* place: that itself, as if called there; 0: the stack ends in it */
};

/* What stands outside of all that it has. */
static int add_places(struct sum *sum, const u64 *more, size_t count)
{
	if (array_reserve(&sum->places, &sum->place_capacity, sum->place_count + count))
		return -ENOMEM;
	memcpy(sum->places + sum->place_count, more, count * sizeof(*more));
	sum->place_count += count;
	return 0;
}

static int add_place(struct sum *sum, s64 place)
{
	u64 id = (u64)place;

	return place < 0 ? -ENOMEM : add_places(sum, &id, 1);
}

/* pprof has no row for what is nowhere. */
static int add_stack(struct pprof *pprof, u32 pid, u32 stack, struct sum *sum)
{
	_cleanup_free_ u64 *places = NULL;
	size_t count;
	int result = pprof_places_of(&pprof->places, pid, stack, &places, &count);

	if (!result && !count)
		return add_place(sum, pprof_place_named(&pprof->places, VIEW_NO_STACK));
	return result ? result : add_places(sum, places, count);
}

/* A call that launched something, or what a GPU did, below its stack. */
static int add_launch(struct pprof *pprof, const struct key *key, struct sum *sum)
{
	struct view_launch_part parts[VIEW_LAUNCH_PARTS_MAX];
	struct view_launch_code code;
	size_t count = view_launch_parts(pprof->view, key->launch, parts, &code);
	int result = 0;

	for (size_t i = count; i > 0 && !result; i--) {
		const struct view_launch_part *part = &parts[i - 1];

		if (!part->name)
			result = add_stack(pprof, part->pid, part->stack, sum);
		else
			result = add_place(sum, part->is_event ? key->leaf
							       : pprof_place_named(&pprof->places,
										   part->name));
	}
	if (!result && *code.autograd_node) {
		sum->autograd = pprof_string(&pprof->places, code.autograd_node);
		result = sum->autograd < 0 ? -ENOMEM : 0;
	}
	return result;
}

static int fill_sum(struct pprof *pprof, const struct key *key, struct sum *sum)
{
	sum->row = key->row;
	sum->state = key->state < VIEW_WALL_STATES ? view_wall_word(key->state) : NULL;
	sum->what = key->what ? pprof_string(&pprof->places, key->what) : 0;
	if (sum->what < 0)
		return -ENOMEM;
	if (key->launch)
		return add_launch(pprof, key, sum);
	if (key->why)
		return add_place(sum, pprof_place_named(&pprof->places, key->why));
	return add_stack(pprof, key->pid, key->stack, sum);
}

/* NULL: no memory. The names are the view's, or constant. */
static struct sum *sum_of(struct pprof *pprof, const struct key *key)
{
	u64 who = (u64)key->row * (VIEW_WALL_STATES + 1) + key->state;
	u64 what =
		key->why ? (u64)(uintptr_t)key->why : key->stack ^ (u64)(uintptr_t)key->what << 32;

	if (key->leaf)
		what = (u64)key->leaf << 32 | key->stack;
	if (key->launch && key->launch->cause)
		who |= (u64)key->launch->cause->within.waiter_stack << 32;
	u64 *known;

	known = map_find(&pprof->known, who, what);
	if (known)
		return &pprof->sums[*known];
	if (array_reserve(&pprof->sums, &pprof->capacity, pprof->count + 1))
		return NULL;
	pprof->sums[pprof->count] = (struct sum){0};
	if (fill_sum(pprof, key, &pprof->sums[pprof->count])) {
		free(pprof->sums[pprof->count].places);
		return NULL;
	}
	if (map_set(&pprof->known, who, what, pprof->count)) {
		free(pprof->sums[pprof->count].places);
		return NULL;
	}
	return &pprof->sums[pprof->count++];
}

static int add_times(struct pprof *pprof, const struct view_event *event)
{
	struct view_wall_piece pieces[VIEW_WALL_PIECES_MAX];
	size_t count = view_wall_pieces(pprof->view, event, pieces);
	bool is_wait = event->kind->number == KIND_off_cpu;

	for (size_t i = 0; i < count; i++) {
		const struct key key = {event->row_index,
					pieces[i].state,
					event->record->stack,
					pieces[i].why,
					is_wait ? event->name : NULL,
					event->record->pid,
					NULL,
					0};
		bool runs = pieces[i].state == VIEW_WALL_RUNNING;
		struct sum *sum;

		/* Readers draw no time below 0. */
		if (pieces[i].state == VIEW_WALL_BEYOND)
			continue;
		sum = sum_of(pprof, &key);
		if (!sum)
			return -ENOMEM;
		sum->values[TYPE_WALL] += (s64)pieces[i].ns;
		sum->values[runs ? TYPE_CPU : TYPE_OFF_CPU] += (s64)pieces[i].ns;
		sum->values[TYPE_SAMPLES] += event->kind->number == KIND_sample;
	}
	return 0;
}

static int add_heap(struct pprof *pprof, const struct view_event *event)
{
	const struct record_heap_stack *heap = (const struct record_heap_stack *)event->record;
	const struct key key = {.row = event->row_index,
				.state = VIEW_WALL_STATES,
				.stack = event->record->stack,
				.pid = event->record->pid};
	const struct {
		enum type type;
		u64 value;
	} values[] = {
		{TYPE_ALLOCATIONS, heap->calls},
		{TYPE_ALLOCATED, heap->bytes},
		{TYPE_LIVE_ALLOCATIONS, heap->live_calls},
		{TYPE_LIVE, heap->live_bytes},
	};
	struct sum *sum = sum_of(pprof, &key);

	if (!sum)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		if (values[i].value != ~0ULL)
			sum->values[values[i].type] += (s64)values[i].value;
	return 0;
}

/* By its name, and where that is written, if it was compiled while the program ran. */
static s64 work_place(struct pprof *pprof, const struct view_event *event)
{
	struct view_kernel_source source = {.file = ""};

	if (event->kind->number != KIND_kernel || !view_has_kernel_sources(pprof->view) ||
	    !view_kernel_source(pprof->view, event, &source))
		return pprof_place_named(&pprof->places, event->name);
	return pprof_place_written(&pprof->places, event->name, source.file, source.line);
}

/* Work of a GPU, or a call that launched some: what it is stands below the code that launched it. */
static int add_gpu(struct pprof *pprof, const struct view_event *event)
{
	bool is_call = event->kind->number == KIND_api;
	const struct view_cause *cause = event->cause;
	u32 stack = is_call ? event->stack.stack : cause ? cause->stack.stack : 0;
	struct key key = {.row = cause ? cause->row_index : event->row_index,
			  .state = VIEW_WALL_STATES,
			  .stack = stack,
			  .launch = event};
	struct sum *sum;

	if (is_call && (event->inner_call || !event->effect_count))
		return 0;
	/* The innermost function of a stack is the call. */
	if (!is_call || !stack)
		key.leaf = work_place(pprof, event);
	sum = key.leaf < 0 ? NULL : sum_of(pprof, &key);
	if (!sum)
		return -ENOMEM;
	if (is_call)
		sum->values[TYPE_LAUNCHES]++;
	else
		sum->values[TYPE_GPU] += (s64)event->dur;
	return 0;
}

static bool is_gpu(const struct pprof *pprof, const struct view_event *event)
{
	static const u16 work[VIEW_ROW_KINDS_MAX] = {VIEW_GPU_WORK};

	if (!pprof->has[TYPE_GPU])
		return false;
	return event->kind->number == KIND_api ||
	       (view_row_is_of(work, event->kind->number) && event->row->type == ROW_STREAM);
}

static int pprof_event(void *data, const struct view_event *event, struct err *err)
{
	struct pprof *pprof = data;
	int result = event->kind->number == KIND_heap_stack ? add_heap(pprof, event)
		     : is_gpu(pprof, event)		    ? add_gpu(pprof, event)
							    : add_times(pprof, event);

	if (event->kind->number == KIND_sample)
		pprof->period_ns = ((const struct record_sample *)event->record)->period_ns;
	return result ? err_errno(err, result, "can't write %s", pprof->writer.path) : 0;
}

/* ---- the message ---- */

/* All that the message needs besides the tables; in one piece each. */
struct message {
	Pprof__Profile profile;
	Pprof__ValueType type_values[TYPES], period, *type_pointers[TYPES];
	Pprof__Sample *samples, **sample_pointers;
	Pprof__Label *labels, **label_pointers;
	s64 *values;
	int64_t comments[1];
};

#define LABELS_MAX 6

static bool add_text_label(struct pprof *pprof, struct message *message, Pprof__Sample *sample,
			   const char *key, s64 string)
{
	size_t place = (size_t)(sample - message->samples) * LABELS_MAX + sample->n_label;
	Pprof__Label *label = &message->labels[place];

	pprof__label__init(label);
	label->key = pprof_string(&pprof->places, key);
	label->str = string;
	message->label_pointers[place] = label;
	sample->n_label++;
	return label->key >= 0 && string >= 0;
}

/* An empty text would read as the number 0. */
static bool add_name_label(struct pprof *pprof, struct message *message, Pprof__Sample *sample,
			   const char *key, const char *name)
{
	return !name[0] ||
	       add_text_label(pprof, message, sample, key, pprof_string(&pprof->places, name));
}

static bool add_number_label(struct pprof *pprof, struct message *message, Pprof__Sample *sample,
			     const char *key, u32 number)
{
	bool added = add_text_label(pprof, message, sample, key, 0);

	sample->label[sample->n_label - 1]->num = number;
	return added;
}

static int fill_labels(struct pprof *pprof, struct message *message, const struct sum *sum,
		       Pprof__Sample *sample)
{
	const struct view_row *row = &pprof->survey->rows[sum->row];
	struct pprof_places *places = &pprof->places;
	bool done;

	sample->label = &message->label_pointers[(size_t)(sample - message->samples) * LABELS_MAX];
	done = add_name_label(pprof, message, sample, "process", row->process_name) &&
	       add_number_label(pprof, message, sample, "pid", row->pid);
	if (done && row->type == ROW_THREAD)
		done = add_name_label(pprof, message, sample, "thread", row->name) &&
		       add_number_label(pprof, message, sample, "tid", row->tid);
	if (done && sum->state)
		done = add_text_label(pprof, message, sample, "state",
				      pprof_string(places, sum->state));
	if (done && sum->what)
		done = add_text_label(pprof, message, sample, "waited in", sum->what);
	/* What has this has no state. */
	if (done && sum->autograd)
		done = add_text_label(pprof, message, sample, "autograd", sum->autograd);
	return done ? 0 : -ENOMEM;
}

static int fill_samples(struct pprof *pprof, struct message *message, size_t type_count)
{
	size_t count = pprof->count + 1;

	message->samples = calloc(count, sizeof(*message->samples));
	message->sample_pointers = calloc(count, sizeof(*message->sample_pointers));
	message->labels = calloc(count * LABELS_MAX, sizeof(*message->labels));
	message->label_pointers = calloc(count * LABELS_MAX, sizeof(*message->label_pointers));
	message->values = calloc(count * TYPES, sizeof(*message->values));
	if (!message->samples || !message->sample_pointers || !message->labels ||
	    !message->label_pointers || !message->values)
		return -ENOMEM;
	for (size_t i = 0; i < pprof->count; i++) {
		Pprof__Sample *sample = message->sample_pointers[i] = &message->samples[i];
		s64 *values = &message->values[i * TYPES];

		pprof__sample__init(sample);
		sample->location_id = pprof->sums[i].places;
		sample->n_location_id = pprof->sums[i].place_count;
		sample->value = values;
		sample->n_value = type_count;
		for (enum type type = 0; type < TYPES; type++)
			if (pprof->has[type])
				*values++ = pprof->sums[i].values[type];
		if (fill_labels(pprof, message, &pprof->sums[i], sample))
			return -ENOMEM;
	}
	message->profile.sample = message->sample_pointers;
	message->profile.n_sample = pprof->count;
	return 0;
}

/* How many. -ENOMEM. */
static int fill_types(struct pprof *pprof, struct message *message)
{
	size_t count = 0;

	for (enum type type = 0; type < TYPES; type++) {
		Pprof__ValueType *value = &message->type_values[count];

		if (!pprof->has[type])
			continue;
		pprof__value_type__init(value);
		value->type = pprof_string(&pprof->places, types[type].name);
		value->unit = pprof_string(&pprof->places, types[type].unit);
		if (value->type < 0 || value->unit < 0)
			return -ENOMEM;
		/* What a reader shows first. */
		if (type == TYPE_CPU || !message->profile.default_sample_type)
			message->profile.default_sample_type = value->type;
		message->type_pointers[count++] = value;
	}
	message->profile.sample_type = message->type_pointers;
	message->profile.n_sample_type = count;
	return (int)count;
}

static int fill_period(struct pprof *pprof, struct message *message)
{
	pprof__value_type__init(&message->period);
	message->period.type = pprof_string(&pprof->places, "cpu");
	message->period.unit = pprof_string(&pprof->places, "nanoseconds");
	if (message->period.type < 0 || message->period.unit < 0)
		return -ENOMEM;
	if (!pprof->period_ns)
		return 0;
	message->profile.period_type = &message->period;
	message->profile.period = (s64)pprof->period_ns;
	return 0;
}

/* How many entries the ledger has, which readers show as a comment. */
static int fill_comment(struct pprof *pprof, struct message *message)
{
	_cleanup_text_ struct text text = {0};

	for (size_t i = 0; i < pprof->survey->loss_count; i++) {
		const struct view_loss *loss = &pprof->survey->losses[i];

		text_appendf(&text, "%s%" PRIu64 " %s (%s", i ? "; " : "ledger: ", loss->count,
			     loss->meaning, loss->place);
		view_loss_append_moment(pprof->survey, loss, &text);
		text_append_char(&text, ')');
	}
	if (!text.length)
		return 0;
	message->comments[0] = text.failed ? -1 : pprof_string(&pprof->places, text_string(&text));
	message->profile.comment = message->comments;
	message->profile.n_comment = 1;
	return message->comments[0] < 0 ? -ENOMEM : 0;
}

static void fill_tables(struct pprof *pprof, Pprof__Profile *profile)
{
	struct pprof_places *places = &pprof->places;

	profile->mapping = places->mappings;
	profile->n_mapping = places->mapping_count;
	profile->location = places->locations;
	profile->n_location = places->location_count;
	profile->function = places->functions;
	profile->n_function = places->function_count;
	profile->string_table = places->strings.strings;
	profile->n_string_table = places->strings.count;
	profile->time_nanos =
		(s64)(pprof->survey->window_start_ns + pprof->survey->realtime_offset_ns);
	profile->duration_nanos =
		(s64)(pprof->survey->window_end_ns - pprof->survey->window_start_ns);
}

static int write_message(struct pprof *pprof, const Pprof__Profile *profile, struct err *err)
{
	size_t size_bytes = pprof__profile__get_packed_size(profile);
	_cleanup_free_ u8 *bytes = malloc(size_bytes + 1);

	if (!bytes)
		return err_errno(err, -ENOMEM, "can't write %s", pprof->writer.path);
	pprof__profile__pack(profile, bytes);
	text_append_bytes(&pprof->writer.text, bytes, size_bytes);
	return writer_flush_now(&pprof->writer, err);
}

static int pprof_close(void *data, struct err *err)
{
	struct pprof *pprof = data;
	struct message message = {.profile = PPROF__PROFILE__INIT};
	int result = fill_types(pprof, &message);

	if (result >= 0)
		result = fill_samples(pprof, &message, (size_t)result);
	if (result >= 0)
		result = fill_period(pprof, &message);
	if (result >= 0)
		result = fill_comment(pprof, &message);
	if (result >= 0) {
		fill_tables(pprof, &message.profile);
		result = write_message(pprof, &message.profile, err);
	} else {
		err_errno(err, result, "can't write %s", pprof->writer.path);
	}
	free(message.samples);
	free(message.sample_pointers);
	free(message.labels);
	free(message.label_pointers);
	free(message.values);
	return result;
}

const struct view_sink pprof_sink = {
	.open = pprof_open,
	.span = pprof_event,
	.point = pprof_event,
	.total = pprof_event,
	.close = pprof_close,
};

int pprof_create(const char *path, bool gzip, void **ret_data, struct err *err)
{
	struct pprof *pprof _cleanup_free_ = calloc(1, sizeof(*pprof));
	int result;

	(void)gzip;
	if (!pprof)
		return err_set(err, -ENOMEM, "can't write %s: out of memory", path);
	result = writer_create(&pprof->writer, path, true, err);
	if (result < 0)
		return result;
	*ret_data = take_pointer(&pprof);
	return 0;
}

int pprof_finish(void *data, bool commit, u64 *ret_size_bytes, struct err *err)
{
	struct pprof *pprof = data;
	int result = writer_finish(&pprof->writer, commit, ret_size_bytes, err);

	for (size_t i = 0; i < pprof->count; i++)
		free(pprof->sums[i].places);
	free(pprof->sums);
	map_free(&pprof->known);
	pprof_places_free(&pprof->places);
	free(pprof);
	return result;
}
