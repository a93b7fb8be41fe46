/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/xplane/xplane_details.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

/* clang-format off */
/* Strings that readers take apart by their labels, put together from values; what is absent is left out. */
static const struct detail_row {
	u16 kinds[VIEW_ROW_KINDS_MAX];
	const char *stat;
	const char *label;
	const char *key;
} detail_rows[] = {
	{{KIND_kernel},   "kernel_details", "regs:",            "registers_per_thread"},
	{{KIND_kernel},   "kernel_details", " static_shared:",  "static_shared_memory_bytes"},
	{{KIND_kernel},   "kernel_details", " dynamic_shared:", "dynamic_shared_memory_bytes"},
	{{KIND_kernel},   "kernel_details", " grid:",           "grid"},
	{{KIND_kernel},   "kernel_details", " block:",          "block"},
	{{KIND_kernel},   "kernel_details", " occ_pct:",        "occupancy"},
	/* Read up to the first line's end: the bytes go first, and what is always there with them next. */
	{{KIND_copy},     "memcpy_details", "num_bytes:",       "bytes"},
	{{KIND_copy},     "memcpy_details", "\nsize:",          "bytes"},
	{{KIND_copy},     "memcpy_details", " kind_src:",       "from"},
	{{KIND_copy},     "memcpy_details", " kind_dst:",       "to"},
	{{KIND_copy},     "memcpy_details", " dest:",           "destination_device_number"},
	{{KIND_copy},     "memcpy_details", " async:",          "async"},
	{{KIND_set},      "Memset_details", "kind:",            "memory"},
	{{KIND_set},      "Memset_details", " num_bytes:",      "bytes"},
	{{KIND_set},      "Memset_details", " async:",          "async"},
	{{VIEW_GPU_WORK}, "context_id",     "$$",               "context_number"},
};
/* clang-format on */

/* What readers say of a kernel must not be empty, or it is none to them. */
#define DETAILS_UNKNOWN "unknown"
#define DETAILS_KERNEL	"kernel_details"

#define PARTS_MAX  8   /* of one string */
#define MADE_COUNT 512 /* a power of two */

/* One stat of a kind: rows of the table that stand behind one another. */
struct xplane_detail {
	const char *stat;
	const struct detail_row *rows;
	const struct view_key *keys[PARTS_MAX];
	size_t part_count;
	struct text text; /* of the event at hand, where the file does not have the string */
};

/* What values became. */
struct xplane_detail_made {
	const struct xplane_detail *detail; /* NULL: nothing yet */
	const struct xplane_plane *plane;
	struct view_value values[PARTS_MAX];
	s64 reference;
};

/* ---- finding ---- */

/* How many of the rows belong to it. */
static int find_detail(struct xplane_details *details, const struct schema_kind *kind,
		       const struct detail_row *rows, size_t row_count, struct err *err)
{
	struct xplane_detail *detail = &details->details[details->count];

	*detail = (struct xplane_detail){.stat = rows->stat, .rows = rows};
	while (detail->part_count < row_count &&
	       strcmp(rows[detail->part_count].stat, rows->stat) == 0 &&
	       view_row_is_of(rows[detail->part_count].kinds, kind->number)) {
		int result;

		if (detail->part_count == PARTS_MAX)
			return err_set(err, -EINVAL, "xplane: '%s' of %s has more than %d parts",
				       rows->stat, kind->tag, PARTS_MAX);
		result = view_key(details->view, "xplane", kind, rows[detail->part_count].key,
				  &detail->keys[detail->part_count], err);
		if (result < 0)
			return result;
		detail->part_count++;
	}
	details->count++;
	return detail->part_count;
}

static int find_kind(struct xplane_details *details, const struct schema_kind *kind,
		     struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(detail_rows);) {
		int parts = 1;

		if (view_row_is_of(detail_rows[i].kinds, kind->number))
			parts = find_detail(details, kind, &detail_rows[i],
					    ARRAY_SIZE(detail_rows) - i, err);
		if (parts < 0)
			return parts;
		i += parts;
	}
	return 0;
}

int xplane_details_find(struct xplane_details *details, const struct view *view, struct err *err)
{
	size_t kind_count;
	const struct schema_kind *kinds = schema_kinds(&kind_count);
	int result = 0;

	details->view = view;
	details->details =
		calloc(ARRAY_SIZE(detail_rows) * VIEW_ROW_KINDS_MAX, sizeof(*details->details));
	details->kinds = calloc(kind_count, sizeof(*details->kinds));
	details->made = calloc(MADE_COUNT, sizeof(*details->made));
	if (!details->details || !details->kinds || !details->made)
		return err_errno(err, -ENOMEM, "xplane: can't look up the details");
	for (size_t i = 0; i < kind_count && result == 0; i++) {
		details->kinds[i].first = details->count;
		result = find_kind(details, &kinds[i], err);
		details->kinds[i].count = details->count - details->kinds[i].first;
	}
	return result;
}

void xplane_details_free(struct xplane_details *details)
{
	for (size_t i = 0; i < details->count; i++)
		text_free(&details->details[i].text);
	free(details->details);
	free(details->kinds);
	free(details->made);
	*details = (struct xplane_details){0};
}

/* ---- values ---- */

void xplane_append_value(struct text *text, const struct view_value *value)
{
	switch (value->type) {
	case VALUE_U64:
		json_append_u64(text, value->number);
		break;
	case VALUE_S64:
		text_appendf(text, "%lld", (long long)value->number);
		break;
	case VALUE_HEX:
		text_appendf(text, "0x%llx", (unsigned long long)value->number);
		break;
	case VALUE_DECIMAL:
		text_appendf(text, "%g", value->decimal);
		break;
	case VALUE_STRING:
		text_append(text, value->string);
		break;
	case VALUE_ARRAY:
		for (unsigned i = 0; i < value->count; i++) {
			text_append(text, i ? "," : "");
			json_append_u64(text, value->numbers[i]);
		}
		break;
	case VALUE_ABSENT:
		break;
	}
}

static u64 mix(u64 hash, u64 word)
{
	return (hash ^ word) * 0x9e3779b97f4a7c15ULL;
}

static u64 value_hash(u64 hash, const struct view_value *value)
{
	u64 bits;

	memcpy(&bits, &value->decimal, sizeof(bits));
	hash = mix(hash, value->number ^ bits ^ (uintptr_t)value->string);
	for (unsigned i = 0; i < value->count; i++)
		hash = mix(hash, value->numbers[i]);
	return hash;
}

/* Strings by their address: what a view gave stays there. */
static bool is_same_value(const struct view_value *a, const struct view_value *b)
{
	return a->type == b->type && a->number == b->number && a->decimal == b->decimal &&
	       a->string == b->string && a->count == b->count &&
	       memcmp(a->numbers, b->numbers, a->count * sizeof(*a->numbers)) == 0;
}

static bool is_same(const struct xplane_detail_made *made, const struct xplane_detail *detail,
		    const struct xplane_plane *plane, const struct view_value *values)
{
	if (made->detail != detail || made->plane != plane)
		return false;
	for (size_t i = 0; i < detail->part_count; i++)
		if (!is_same_value(&made->values[i], &values[i]))
			return false;
	return true;
}

/* ---- strings ---- */

static int make(struct xplane_detail *detail, const struct view_value *values)
{
	struct text *text = &detail->text;

	text_clear(text);
	for (size_t i = 0; i < detail->part_count; i++) {
		const char *label = detail->rows[i].label;

		if (values[i].type == VALUE_ABSENT)
			continue;
		text_append(text, label + (!text->length && (*label == ' ' || *label == '\n')));
		xplane_append_value(text, &values[i]);
	}
	if (!text->length && strcmp(detail->stat, DETAILS_KERNEL) == 0)
		text_append(text, DETAILS_UNKNOWN);
	return text->failed ? -ENOMEM : 0;
}

/* ret_reference 0: the string is in the detail's text, where it may be empty. */
static int refer(struct xplane_details *details, struct xplane_detail *detail,
		 struct xplane_plane *plane, const struct view_value *values, s64 *ret_reference)
{
	u64 hash = (uintptr_t)detail;
	struct xplane_detail_made *made;

	for (size_t i = 0; i < detail->part_count; i++)
		hash = value_hash(hash, &values[i]);
	made = &details->made[hash >> 32 & (MADE_COUNT - 1)];
	if (is_same(made, detail, plane, values)) {
		*ret_reference = made->reference;
		return 0;
	}
	*ret_reference = 0;
	if (make(detail, values) < 0)
		return -ENOMEM;
	if (!detail->text.length || plane->stat_names.count >= XPLANE_REFERENCES_MAX)
		return 0;
	/* The name's number comes first. */
	if (xplane_plane_constant(plane, detail->stat))
		*ret_reference = xplane_plane_stat(plane, text_string(&detail->text));
	if (!*ret_reference)
		return -ENOMEM;
	made->detail = detail;
	made->plane = plane;
	made->reference = *ret_reference;
	memcpy(made->values, values, detail->part_count * sizeof(*values));
	return 0;
}

static int add_detail(struct xplane_details *details, struct xplane_detail *detail,
		      const struct view_event *event, struct xplane_plane *plane,
		      struct xplane_event *ret_event)
{
	struct view_value values[PARTS_MAX];
	xplane_stat *stat;
	s64 id, reference;

	for (size_t i = 0; i < detail->part_count; i++)
		values[i] = view_value(details->view, detail->keys[i], event);
	if (refer(details, detail, plane, values, &reference) < 0)
		return -ENOMEM;
	if (!reference && !detail->text.length)
		return 0;
	id = xplane_plane_constant(plane, detail->stat);
	if (!id)
		return -ENOMEM;
	stat = xplane_event_stat(ret_event, id);
	if (stat && reference) {
		stat->value_case = TENSORFLOW__PROFILER__XSTAT__VALUE_REF_VALUE;
		stat->ref_value = reference;
	} else if (stat) {
		stat->value_case = TENSORFLOW__PROFILER__XSTAT__VALUE_STR_VALUE;
		stat->str_value = detail->text.data;
	}
	return 0;
}

int xplane_details_add(struct xplane_details *details, const struct view_event *event,
		       struct xplane_plane *plane, struct xplane_event *ret_event)
{
	size_t kind_count, place = event->kind - schema_kinds(&kind_count);
	struct xplane_detail *first = &details->details[details->kinds[place].first];
	int result = 0;

	for (size_t i = 0; i < details->kinds[place].count && result == 0; i++)
		result = add_detail(details, &first[i], event, plane, ret_event);
	return result;
}
