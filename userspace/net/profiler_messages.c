/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/profiler_messages.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "profiler_service.pb-c.h"

#define LEVELS	     3
#define SETTINGS_MAX 64
#define VARINT_MAX   10
#define WIRE_BYTES   2 /* how a field with a length is marked */
#define TAG(field)   ((field) << 3 | WIRE_BYTES)

static int not_such(const char *name, struct err *err)
{
	return err_set(err, -EINVAL, "InvalidArgument: the request is no %s", name);
}

/* ---- ProfileRequest ---- */

static int add_setting(struct profile_request *request, const char *key, const char *value)
{
	char **setting = &request->settings[request->setting_count];

	if (asprintf(setting, "%s=%s", key, value) < 0) {
		*setting = NULL;
		return -ENOMEM;
	}
	request->setting_count++;
	return 0;
}

static int add_levels(struct profile_request *request, const Tensorflow__ProfileOptions *options)
{
	bool defaults = !options || !options->version;
	bool of_gpu = defaults ||
		      options->device_type == TENSORFLOW__PROFILE_OPTIONS__DEVICE_TYPE__GPU ||
		      options->device_type == TENSORFLOW__PROFILE_OPTIONS__DEVICE_TYPE__UNSPECIFIED;
	const struct {
		const char *key;
		u32 level;
	} levels[LEVELS] = {
		{"host_tracer_level", defaults ? 2 : options->host_tracer_level},
		{"device_tracer_level", defaults ? 1
					: of_gpu ? options->device_tracer_level
						 : 0},
		{"python_tracer_level", defaults ? 0 : options->python_tracer_level},
	};
	char number[16];
	int result = 0;

	for (size_t i = 0; i < LEVELS && !result; i++) {
		snprintf(number, sizeof(number), "%u", levels[i].level);
		result = add_setting(request, levels[i].key, number);
	}
	return result;
}

static int add_advanced(struct profile_request *request,
			const Tensorflow__ProfileOptions__AdvancedConfigurationEntry *entry)
{
	const Tensorflow__ProfileOptions__AdvancedConfigValue *value = entry->value;
	char number[32] = "";
	const char *text = number;

	if (value && value->value_case ==
			     TENSORFLOW__PROFILE_OPTIONS__ADVANCED_CONFIG_VALUE__VALUE_STRING_VALUE)
		text = value->string_value;
	else if (value &&
		 value->value_case ==
			 TENSORFLOW__PROFILE_OPTIONS__ADVANCED_CONFIG_VALUE__VALUE_BOOL_VALUE)
		text = value->bool_value ? "true" : "false";
	else if (value &&
		 value->value_case ==
			 TENSORFLOW__PROFILE_OPTIONS__ADVANCED_CONFIG_VALUE__VALUE_INT64_VALUE)
		snprintf(number, sizeof(number), "%" PRId64, value->int64_value);
	return add_setting(request, entry->key, text);
}

static int convert(const Tensorflow__ProfileRequest *message, struct profile_request *request)
{
	const Tensorflow__ProfileOptions *options = message->opts;
	size_t advanced = options && options->version ? options->n_advanced_configuration : 0;
	int result;

	request->duration_ms = message->duration_ms;
	if (!request->duration_ms && options)
		request->duration_ms = options->duration_ms;
	request->start_unix_ns = options ? options->start_timestamp_ns : 0;
	request->session_id = strdup(message->session_id);
	request->settings = calloc(LEVELS + advanced, sizeof(*request->settings));
	if (!request->session_id || !request->settings)
		return -ENOMEM;
	result = add_levels(request, options);
	for (size_t i = 0; i < advanced && !result; i++)
		result = add_advanced(request, options->advanced_configuration[i]);
	return result;
}

int profile_request_read(const u8 *message, size_t bytes, struct profile_request *ret_request,
			 struct err *err)
{
	Tensorflow__ProfileRequest *unpacked =
		tensorflow__profile_request__unpack(NULL, bytes, message);
	struct profile_request request = {0};
	int result;

	if (!unpacked)
		return not_such("tensorflow.ProfileRequest", err);
	if (unpacked->opts && unpacked->opts->n_advanced_configuration > SETTINGS_MAX)
		result = err_set(err, -EINVAL,
				 "InvalidArgument: advanced_configuration has %zu keys, more than "
				 "%d",
				 unpacked->opts->n_advanced_configuration, SETTINGS_MAX);
	else
		result = convert(unpacked, &request);
	tensorflow__profile_request__free_unpacked(unpacked, NULL);
	if (result == -ENOMEM)
		err_errno(err, result, "can't keep the request");
	if (result)
		profile_request_free(&request);
	else
		*ret_request = request;
	return result;
}

void profile_request_free(struct profile_request *request)
{
	for (size_t i = 0; i < request->setting_count; i++)
		free(request->settings[i]);
	free(request->settings);
	free(request->session_id);
	memset(request, 0, sizeof(*request));
}

/* ---- the other requests ---- */

int terminate_request_read(const u8 *message, size_t bytes, char **ret_session_id, struct err *err)
{
	Tensorflow__TerminateRequest *unpacked =
		tensorflow__terminate_request__unpack(NULL, bytes, message);
	char *session_id;

	if (!unpacked)
		return not_such("tensorflow.TerminateRequest", err);
	session_id = strdup(unpacked->session_id);
	tensorflow__terminate_request__free_unpacked(unpacked, NULL);
	if (!session_id)
		return err_errno(err, -ENOMEM, "can't keep the request");
	*ret_session_id = session_id;
	return 0;
}

int monitor_request_read(const u8 *message, size_t bytes, bool *ret_timestamp, struct err *err)
{
	Tensorflow__MonitorRequest *unpacked =
		tensorflow__monitor_request__unpack(NULL, bytes, message);

	if (!unpacked)
		return not_such("tensorflow.MonitorRequest", err);
	*ret_timestamp = unpacked->timestamp;
	tensorflow__monitor_request__free_unpacked(unpacked, NULL);
	return 0;
}

/* ---- answers ---- */

static size_t varint_write(u64 value, u8 ret_bytes[VARINT_MAX])
{
	size_t count = 0;

	do {
		ret_bytes[count++] = (value & 0x7f) | (value > 0x7f ? 0x80 : 0);
		value >>= 7;
	} while (value);
	return count;
}

static void append_varint(struct text *text, u64 value)
{
	u8 bytes[VARINT_MAX];

	text_append_bytes(text, bytes, varint_write(value, bytes));
}

/* By hand: protobuf-c packs whole messages only, and this one's end can be gigabytes in a file. */
void profile_response_append_head(struct text *message, const char *name, u64 data_bytes)
{
	_cleanup_text_ struct text tool = {0};

	append_varint(&tool, TAG(1));
	append_varint(&tool, strlen(name));
	text_append(&tool, name);
	append_varint(&tool, TAG(2));
	append_varint(&tool, data_bytes);
	append_varint(message, TAG(6));
	append_varint(message, tool.length + data_bytes);
	text_append_bytes(message, text_string(&tool), tool.length);
	message->failed |= tool.failed;
}

static void append_packed(struct text *text, const ProtobufCMessage *message)
{
	size_t bytes = protobuf_c_message_get_packed_size(message);
	_cleanup_free_ u8 *packed = malloc(bytes ?: 1);

	if (!packed) {
		text->failed = true;
		return;
	}
	protobuf_c_message_pack(message, packed);
	text_append_bytes(text, packed, bytes);
}

void profile_response_append_empty(struct text *message)
{
	Tensorflow__ProfileResponse response = TENSORFLOW__PROFILE_RESPONSE__INIT;

	response.empty_trace = true;
	append_packed(message, &response.base);
}

void monitor_response_append(struct text *message, const char *data)
{
	Tensorflow__MonitorResponse response = TENSORFLOW__MONITOR_RESPONSE__INIT;

	response.data = (char *)data;
	append_packed(message, &response.base);
}
