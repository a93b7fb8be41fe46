/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <errno.h>

#include "net/profiler_messages.h"
#include "profiler_service.pb-c.h"

/* A request as a client packs it. */
static int read_packed(const Tensorflow__ProfileRequest *request, struct profile_request *ret,
		       struct err *err)
{
	size_t bytes = tensorflow__profile_request__get_packed_size(request);
	u8 *packed = malloc(bytes ?: 1);
	int result;

	tensorflow__profile_request__pack(request, packed);
	result = profile_request_read(packed, bytes, ret, err);
	free(packed);
	return result;
}

static void check_settings(const struct profile_request *request, const char *expected)
{
	_cleanup_text_ struct text text = {0};

	for (size_t i = 0; i < request->setting_count; i++)
		text_appendf(&text, "%s%s", i ? " " : "", request->settings[i]);
	CHECK_STRING(text_string(&text), expected);
}

TEST(a_request_without_options_means_the_defaults)
{
	Tensorflow__ProfileRequest packed = TENSORFLOW__PROFILE_REQUEST__INIT;
	Tensorflow__ProfileOptions options = TENSORFLOW__PROFILE_OPTIONS__INIT;
	struct profile_request request;
	struct err err = {0};

	packed.duration_ms = 1500;
	packed.session_id = (char *)"2026_11_22";
	CHECK_OK(read_packed(&packed, &request, &err), err);
	CHECK_U64(request.duration_ms, 1500);
	CHECK_U64(request.start_unix_ns, 0);
	CHECK_STRING(request.session_id, "2026_11_22");
	check_settings(&request, "host_tracer_level=2 device_tracer_level=1 python_tracer_level=0");
	profile_request_free(&request);

	/* Of version 0: what stands in them holds nothing. */
	options.host_tracer_level = 1;
	packed.opts = &options;
	CHECK_OK(read_packed(&packed, &request, &err), err);
	check_settings(&request, "host_tracer_level=2 device_tracer_level=1 python_tracer_level=0");
	profile_request_free(&request);
}

TEST(options_of_a_request)
{
	Tensorflow__ProfileRequest packed = TENSORFLOW__PROFILE_REQUEST__INIT;
	Tensorflow__ProfileOptions options = TENSORFLOW__PROFILE_OPTIONS__INIT;
	Tensorflow__ProfileOptions__AdvancedConfigValue values[3];
	Tensorflow__ProfileOptions__AdvancedConfigurationEntry entries[4], *pointers[4];
	static const char *const keys[] = {"a", "b", "c", "d"};
	struct profile_request request;
	struct err err = {0};

	for (size_t i = 0; i < 4; i++) {
		tensorflow__profile_options__advanced_configuration_entry__init(&entries[i]);
		entries[i].key = (char *)keys[i];
		entries[i].value = i < 3 ? &values[i] : NULL;
		pointers[i] = &entries[i];
	}
	for (size_t i = 0; i < 3; i++)
		tensorflow__profile_options__advanced_config_value__init(&values[i]);
	values[0].value_case =
		TENSORFLOW__PROFILE_OPTIONS__ADVANCED_CONFIG_VALUE__VALUE_INT64_VALUE;
	values[0].int64_value = -7;
	values[1].value_case = TENSORFLOW__PROFILE_OPTIONS__ADVANCED_CONFIG_VALUE__VALUE_BOOL_VALUE;
	values[1].bool_value = 1;
	values[2].value_case =
		TENSORFLOW__PROFILE_OPTIONS__ADVANCED_CONFIG_VALUE__VALUE_STRING_VALUE;
	values[2].string_value = (char *)"x,y z";
	options.version = 1;
	options.host_tracer_level = 3;
	options.device_tracer_level = 1;
	options.python_tracer_level = 4000000000U;
	options.start_timestamp_ns = 12345;
	options.duration_ms = 77;
	options.n_advanced_configuration = 4;
	options.advanced_configuration = pointers;
	packed.opts = &options;
	CHECK_OK(read_packed(&packed, &request, &err), err);
	CHECK_U64(request.duration_ms, 77);
	CHECK_U64(request.start_unix_ns, 12345);
	check_settings(&request, "host_tracer_level=3 device_tracer_level=1 "
				 "python_tracer_level=4000000000 a=-7 b=true c=x,y z d=");
	profile_request_free(&request);

	options.n_advanced_configuration = 0;
	options.device_type = TENSORFLOW__PROFILE_OPTIONS__DEVICE_TYPE__CPU;
	CHECK_OK(read_packed(&packed, &request, &err), err);
	check_settings(&request, "host_tracer_level=3 device_tracer_level=0 "
				 "python_tracer_level=4000000000");
	profile_request_free(&request);
}

TEST(what_is_no_request)
{
	struct profile_request request;
	struct err err = {0};
	char *session_id;
	bool timestamp;

	CHECK_U64(-profile_request_read((const u8 *)"\xff\xff", 2, &request, &err), EINVAL);
	CHECK(strstr(err.message, "tensorflow.ProfileRequest"));
	CHECK_U64(-terminate_request_read((const u8 *)"\x0a\x05x", 3, &session_id, &err), EINVAL);
	CHECK_U64(-monitor_request_read((const u8 *)"\x08", 1, &timestamp, &err), EINVAL);
	CHECK_OK(terminate_request_read((const u8 *)"\x0a\x01x", 3, &session_id, &err), err);
	CHECK_STRING(session_id, "x");
	free(session_id);
	CHECK_OK(monitor_request_read((const u8 *)"\x18\x01", 2, &timestamp, &err), err);
	CHECK(timestamp);
}

TEST(more_settings_than_anybody_has)
{
	struct profile_request request;
	struct text options = {0}, packed = {0};
	struct err err = {0};

	text_append(&options, "\x28\x01");
	for (int i = 0; i < 65; i++)
		text_append(&options, "\x62\x03\x0a\x01k");
	text_append(&packed, "\x22");
	text_append_char(&packed, (char)(0x80 | (options.length & 0x7f)));
	text_append_char(&packed, (char)(options.length >> 7));
	text_append_bytes(&packed, options.data, options.length);
	CHECK_U64(-profile_request_read((const u8 *)packed.data, packed.length, &request, &err),
		  EINVAL);
	CHECK(strstr(err.message, "65 keys"));
	text_free(&options);
	text_free(&packed);
}

/* With the data behind it, it is what protobuf-c reads. */
static void check_head(size_t bytes)
{
	Tensorflow__ProfileResponse *response;
	_cleanup_text_ struct text message = {0};

	profile_response_append_head(&message, "xplane.pb", bytes);
	for (size_t i = 0; i < bytes; i++)
		text_append_char(&message, (char)i);
	response = tensorflow__profile_response__unpack(NULL, message.length, (u8 *)message.data);
	CHECK(response && response->n_tool_data == 1 && !response->empty_trace);
	if (!response)
		return;
	CHECK_STRING(response->tool_data[0]->name, "xplane.pb");
	CHECK_U64(response->tool_data[0]->data.len, bytes);
	for (size_t i = 0; i < bytes; i++)
		if (response->tool_data[0]->data.data[i] != (u8)i)
			UNIT_FAIL("byte %zu", i);
	tensorflow__profile_response__free_unpacked(response, NULL);
}

TEST(answers)
{
	_cleanup_text_ struct text empty = {0}, monitor = {0};

	check_head(0);
	check_head(1);
	check_head(113);
	check_head(114);
	check_head(127);
	check_head(128);
	check_head(20000);
	profile_response_append_empty(&empty);
	CHECK(empty.length == 2 && !memcmp(empty.data, "\x38\x01", 2));
	monitor_response_append(&monitor, "idle");
	CHECK_STRING(text_string(&monitor), "\x0a\x04idle");
}

UNIT_MAIN()
