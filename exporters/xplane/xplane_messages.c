/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/xplane/xplane_messages.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "exporters/xplane/xplane_plane.h"

#define GPU_TIMES_OF \
	"GPU times of " /* the key of the attribute that says why they are missing, in front of the place */

/* Of these whole parts of the recording are missing, of others single events. */
static const u32 failures[] = {
	VALUE_loss_reason_block_damaged,    VALUE_loss_reason_recording_cut,
	VALUE_loss_reason_write_failed,	    VALUE_loss_reason_agent_cut,
	VALUE_loss_reason_counters_damaged, VALUE_loss_reason_gpu_times_missing,
};

static bool is_failure(u32 reason)
{
	for (size_t i = 0; i < ARRAY_SIZE(failures); i++)
		if (failures[i] == reason)
			return true;
	return false;
}

int xplane_messages_add(struct xplane_message_list *list, const char *format, ...)
{
	struct text scratch _cleanup_text_ = {0};
	char *own = NULL, *message;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vasprintf(&own, format, arguments);
	va_end(arguments);
	if (length < 0)
		return -ENOMEM;
	length = asprintf(&message, "gpuprobe: %s", text_utf8(own, &scratch));
	free(own);
	if (length < 0 || array_reserve(&list->strings, &list->capacity, list->count + 1) < 0) {
		free(length < 0 ? NULL : message);
		return -ENOMEM;
	}
	list->strings[list->count++] = message;
	return 0;
}

/* Is this why the GPU times of the place are missing? */
static bool tells_of(const struct view_attribute *attribute, const char *place)
{
	size_t length = strlen(GPU_TIMES_OF);

	return *place && strcmp(attribute->group, "failure") == 0 &&
	       strncmp(attribute->key, GPU_TIMES_OF, length) == 0 &&
	       strcmp(attribute->key + length, place) == 0;
}

/* NULL: it is not known. */
static const char *why(const struct view_survey *survey, const struct view_loss *loss)
{
	if (loss->reason != VALUE_loss_reason_gpu_times_missing)
		return NULL;
	for (size_t i = 0; i < survey->attribute_count; i++)
		if (tells_of(&survey->attributes[i], loss->place))
			return survey->attributes[i].value;
	return NULL;
}

static bool is_in_ledger(const struct view_survey *survey, const struct view_attribute *attribute)
{
	for (size_t i = 0; i < survey->loss_count; i++)
		if (survey->losses[i].reason == VALUE_loss_reason_gpu_times_missing &&
		    tells_of(attribute, survey->losses[i].place))
			return true;
	return false;
}

static int add_losses(struct xplane_messages *messages, const struct view_survey *survey)
{
	int result = 0;

	for (size_t i = 0; i < survey->loss_count && result == 0; i++) {
		const struct view_loss *loss = &survey->losses[i];
		const char *reason = why(survey, loss);
		struct text place _cleanup_text_ = {0};

		text_append(&place, loss->place);
		view_loss_append_moment(survey, loss, &place);
		result = xplane_messages_add(
			is_failure(loss->reason) ? &messages->errors : &messages->warnings,
			"%llu %s%s%s%s%s%s", (unsigned long long)loss->count, loss->meaning,
			place.length ? " (" : "", text_string(&place), place.length ? ")" : "",
			reason ? ": " : "", reason ? reason : "");
	}
	return result;
}

int xplane_messages_make(struct xplane_messages *messages, const struct view_survey *survey)
{
	int result = add_losses(messages, survey);

	for (size_t i = 0; i < survey->attribute_count && result == 0; i++) {
		const struct view_attribute *attribute = &survey->attributes[i];
		bool failure = strcmp(attribute->group, "failure") == 0;

		if ((failure && !is_in_ledger(survey, attribute)) ||
		    strcmp(attribute->group, "remark") == 0)
			result = xplane_messages_add(failure ? &messages->errors
							     : &messages->warnings,
						     "%s: %s", attribute->key, attribute->value);
	}
	return result;
}

static void free_list(struct xplane_message_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->strings[i]);
	free(list->strings);
	*list = (struct xplane_message_list){0};
}

void xplane_messages_free(struct xplane_messages *messages)
{
	free_list(&messages->errors);
	free_list(&messages->warnings);
}
