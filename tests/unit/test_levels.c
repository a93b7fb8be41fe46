/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Levels of the tracers, the options of JAX's ProfileOptions, and what they come to for the agent. */
#include "unit.h"

#include <stdlib.h>
#include <unistd.h>

#include "../gpu/cupti/api_calls.h"
#include "options/levels.h"
#include "options/options.h"
#include "recording/gpu_config.h"

#define API_KINDS (1ULL << 4 | 1ULL << 5)

static int parse(struct options *options, struct err *err, const char *const *words)
{
	char *argv[16] = {(char *)"gpuprobe", (char *)"-p", (char *)"1"};
	int argc = 3;

	while (*words)
		argv[argc++] = (char *)*words++;
	memset(err, 0, sizeof(*err));
	return options_parse(argc, argv, options, err);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct agent_cupti_config config_of(const char *const *words)
{
	struct agent_cupti_config config;
	struct options options;
	struct err err;

	CHECK_OK(parse(&options, &err, words), err);
	gpu_config_fill(&options, &config);
	options_free(&options);
	return config;
}

/* The message begins with `class`, and holds all of the words (separated by |). */
static void check_refused(const char *const *words, const char *class, const char *expected)
{
	char *copy = strdup(expected), *rest = copy, *word;
	struct options options;
	struct err err;

	if (parse(&options, &err, words) >= 0)
		UNIT_FAIL("\"%s\" was not refused", words[1]);
	if (strncmp(err.message, class, strlen(class)))
		UNIT_FAIL("\"%s\" does not begin with %s", err.message, class);
	while ((word = strsep(&rest, "|")))
		if (!strstr(err.message, word))
			UNIT_FAIL("\"%s\" lacks \"%s\"", err.message, word);
	free(copy);
	options_free(&options);
}

static void write_file(char *path, const char *text)
{
	int fd = mkstemp(strcpy(path, "/tmp/test_levels.XXXXXX"));

	CHECK(fd >= 0);
	CHECK_U64(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static int parse_file(const char *text, struct options *options, struct err *err,
		      const char *option)
{
	char path[64];
	int result;

	write_file(path, text);
	result = parse(options, err, WORDS("--options", path, "--option", option));
	unlink(path);
	return result;
}

/* That its file is refused, with a message that begins with InvalidArgument and holds `expected`. */
static void check_file_refused(const char *text, const char *expected)
{
	struct options options;
	struct err err;

	CHECK(parse_file(text, &options, &err, "gpu_max_annotation_strings=9") < 0);
	if (strncmp(err.message, "InvalidArgument: ", 17) || !strstr(err.message, expected))
		UNIT_FAIL("\"%s\" lacks \"%s\"", err.message, expected);
}

TEST(levels_switch_on_what_their_table_says)
{
	struct agent_cupti_config config = config_of(WORDS("-q"));

	CHECK_U64(config.kinds & API_KINDS, API_KINDS);
	CHECK(config.kinds >> 10 & 1);
	CHECK_U64(config.api_groups, API_GROUPS_DEFAULT);
	config = config_of(WORDS("--host-tracer-level", "1"));
	CHECK_U64(config.kinds & API_KINDS, 0);
	CHECK(config.kinds >> 10 & 1);
	config = config_of(WORDS("--option", "host_tracer_level=0"));
	CHECK_U64(config.kinds & API_KINDS, 0);
	config = config_of(WORDS("--host-tracer-level=3"));
	CHECK_U64(config.kinds & API_KINDS, API_KINDS);
	CHECK_U64(config.api_groups, API_GROUPS_EVERY);
	CHECK(config.api_groups & API_GROUP_BIT(OTHER) &&
	      !(config.api_groups & API_GROUP_BIT(PROFILER)));
}

TEST(records_of_the_gpu_that_are_asked_for)
{
	const u64 events = 1ULL << 36 | 1ULL << 50;
	struct agent_cupti_config config = config_of(WORDS("-q"));

	CHECK_U64(config.kinds & events, 0);
	config = config_of(WORDS("--gpu-records", "full"));
	CHECK_U64(config.kinds & events, events);
	CHECK_U64(config.api_groups, API_GROUPS_FULL);
	config = config_of(WORDS("--gpu-records", "full", "--host-tracer-level", "1"));
	CHECK_U64(config.kinds & (events | API_KINDS), events);
	config = config_of(WORDS("--gpu-records", "full", "--host-tracer-level", "3"));
	CHECK_U64(config.api_groups, API_GROUPS_EVERY);
	check_refused(WORDS("--gpu-records", "all"), "--gpu-records", "all|work|full");
}

TEST(libraries_beside_an_agent_belong_to_the_default_level)
{
	struct options options;
	struct err err;

	CHECK_OK(parse(&options, &err, WORDS("-q")), err);
	CHECK(levels_has(&options, LEVEL_library_functions));
	CHECK(!levels_has(&options, LEVEL_all_api_calls));
	options_free(&options);
	CHECK_OK(parse(&options, &err, WORDS("--host-tracer-level", "1")), err);
	CHECK(!levels_has(&options, LEVEL_library_functions));
	options_free(&options);
}

TEST(without_a_device_level_there_is_no_agent)
{
	struct options options;
	struct err err;

	CHECK_OK(parse(&options, &err, WORDS("--device-tracer-level", "0")), err);
	CHECK(!gpu_config_wants_agent(&options));
	CHECK(strstr(gpu_config_no_agent_reason(&options), "device_tracer_level"));
	options_free(&options);
	CHECK_OK(parse(&options, &err, WORDS("--no-inject")), err);
	CHECK(!gpu_config_wants_agent(&options));
	CHECK_STRING(gpu_config_no_agent_reason(&options), "--no-inject");
	options_free(&options);
	CHECK_OK(parse(&options, &err, WORDS("-q")), err);
	CHECK(gpu_config_wants_agent(&options));
	options_free(&options);
}

TEST(what_is_not_there_yet_is_not_claimed)
{
	struct text text = {0};
	struct options options;
	struct err err;

	CHECK_OK(parse(&options, &err, WORDS("--host-tracer-level", "3")), err);
	CHECK(levels_has(&options, LEVEL_nvtx) && levels_has(&options, LEVEL_usdt));
	CHECK(levels_has(&options, LEVEL_allocations));
	CHECK(levels_has(&options, LEVEL_library_functions));
	options_free(&options);
	levels_append_help(&text);
	CHECK(strstr(text_string(&text), "ranges and marks of NVTX\n"));
	CHECK(strstr(text_string(&text), "ranges, marks and counters of gpuprobe.h"));
	CHECK(strstr(text_string(&text), "every allocation of host memory, by probes"));
	CHECK(strstr(text_string(&text), "calls of Python functions (not yet"));
	text_free(&text);
}

static u64 alloc_mode(const char *const *words)
{
	struct options options;
	struct err err;
	u64 mode;

	CHECK_OK(parse(&options, &err, words), err);
	mode = levels_alloc_mode(&options);
	options_free(&options);
	return mode;
}

TEST(alloc_goes_by_the_level_unless_it_is_said)
{
	CHECK_U64(alloc_mode(WORDS("-F", "x")), CHOICE_alloc_mode_growth);
	CHECK_U64(alloc_mode(WORDS("--host-tracer-level", "1")), CHOICE_alloc_mode_off);
	CHECK_U64(alloc_mode(WORDS("--alloc", "off")), CHOICE_alloc_mode_off);
	CHECK_U64(alloc_mode(WORDS("--alloc", "heap")), CHOICE_alloc_mode_heap);
	CHECK_U64(alloc_mode(WORDS("--host-tracer-level", "3")), CHOICE_alloc_mode_events);
	CHECK_U64(alloc_mode(WORDS("--alloc", "growth", "--host-tracer-level", "0")),
		  CHOICE_alloc_mode_growth);
}

TEST(python_is_refused_by_name)
{
	check_refused(WORDS("--python-tracer-level", "1"), "Unimplemented: python_tracer_level 1",
		      "not recorded by this version");
	check_refused(WORDS("--option", "python_tracer_level=1"),
		      "Unimplemented: python_tracer_level 1", "0 is the highest");
}

TEST(jax_options_reach_the_agent)
{
	struct agent_cupti_config config = config_of(WORDS("-q"));

	CHECK_U64(config.callback_events_max, 0);
	CHECK_U64(config.activity_events_max, 0);
	CHECK_U64(config.texts_max, 65536);
	CHECK_U64(config.devices_max, 0);
	CHECK_U64(config.graph_whole, 0);
	config = config_of(WORDS("--option", "gpu_max_callback_api_events=7", "--option",
				 "gpu_max_activity_api_events=8", "--option",
				 "gpu_max_annotation_strings=9", "--option",
				 "gpu_num_chips_to_profile_per_task=2", "--option",
				 "gpu_enable_cupti_activity_graph_trace=true"));
	CHECK_U64(config.callback_events_max, 7);
	CHECK_U64(config.activity_events_max, 8);
	CHECK_U64(config.texts_max, 9);
	CHECK_U64(config.devices_max, 2);
	CHECK_U64(config.graph_whole, 1);
}

TEST(limits_of_none_and_of_all)
{
	struct agent_cupti_config config =
		config_of(WORDS("--option", "gpu_max_callback_api_events=0"));

	CHECK_U64(config.kinds & API_KINDS, 0);
	CHECK(config.kinds >> 10 & 1);
	config = config_of(WORDS("--option", "gpu_max_activity_api_events=0"));
	CHECK_U64(config.kinds, API_KINDS);
	config = config_of(WORDS("--option", "gpu_max_callback_api_events=-1"));
	CHECK_U64(config.kinds & API_KINDS, API_KINDS);
	CHECK_U64(config.callback_events_max, 0);
	config = config_of(WORDS("--option", "gpu_num_chips_to_profile_per_task=-3"));
	CHECK_U64(config.devices_max, 0);
	config = config_of(WORDS("--option", "gpu_num_chips_to_profile_per_task=99999999999"));
	CHECK_U64(config.devices_max, 0);
}

TEST(wrong_options_are_named_with_what_is_allowed)
{
	static const char invalid[] = "InvalidArgument: ";

	check_refused(WORDS("--option", "gpu_max_thing=1"), invalid,
		      "gpu_max_thing|no such option|gpu_max_callback_api_events|gpu_pm_sample_");
	check_refused(WORDS("--option", "host_tracer_leve=1"), invalid,
		      "Did you mean host_tracer_level? Allowed are");
	check_refused(WORDS("--option", "tpu_trace_mode=TRACE_COMPUTE"), invalid,
		      "tpu_trace_mode|TPU-only");
	check_refused(WORDS("--option", "gpu_max_callback_api_events=many"), invalid,
		      "gpu_max_callback_api_events=many|wrong type|an integer, -1 or more");
	check_refused(WORDS("--option", "gpu_max_callback_api_events="), invalid, "wrong type");
	check_refused(WORDS("--option", "gpu_max_callback_api_events=1.5"), invalid, "wrong type");
	check_refused(WORDS("--option", "gpu_max_callback_api_events=-2"), invalid,
		      "out of range|-1 or more");
	check_refused(WORDS("--option", "gpu_max_annotation_strings=99999999999999999999999"),
		      invalid, "out of range|1 to 1048576");
	check_refused(WORDS("--option", "gpu_enable_cupti_activity_graph_trace=yes"), invalid,
		      "wrong type|true or false");
	check_refused(WORDS("--option", "gpu_enable_nvtx_tracking=2"), invalid, "true or false");
	check_refused(WORDS("--option", "gpu_pm_sample_buffer_size_per_gpu_mb=63"), invalid,
		      "64 to 4096");
	check_refused(WORDS("--option", "host_tracer_level=4"), invalid,
		      "host_tracer_level|0 to 3");
	check_refused(WORDS("--option", "device_tracer_level=true"), invalid, "wrong type|0 to 1");
	check_refused(WORDS("--option", "gpu_max_callback_api_events"), invalid, "KEY=VALUE");
	check_refused(WORDS("--option", "=1"), invalid, "KEY=VALUE");
	check_refused(WORDS("--option", "host_tracer_level=1", "--host-tracer-level=2"), invalid,
		      "host_tracer_level|give one");
	check_refused(WORDS("--options", "/nowhere/options"), invalid, "/nowhere/options");
	check_refused(WORDS("--options", "/"), invalid, "directory");
}

TEST(what_can_not_act_is_refused_by_name)
{
	static const char class[] = "Unimplemented: ";

	check_refused(WORDS("--option", "gpu_dump_graph_node_mapping=true"), class,
		      "gpu_dump_graph_node_mapping");
	check_refused(WORDS("--option", "gpu_pm_sample_counters=sm__cycles"), class,
		      "gpu_pm_sample_counters=sm__cycles");
	check_refused(WORDS("--option", "gpu_pm_sample_interval_us=500"), class,
		      "gpu_pm_sample_interval_us");
	check_refused(WORDS("--option", "gpu_pm_sample_buffer_size_per_gpu_mb=64"), class,
		      "gpu_pm_sample_buffer_size_per_gpu_mb");
	/* Off is what they are. */
	config_of(WORDS("--option", "gpu_dump_graph_node_mapping=False", "--option",
			"gpu_pm_sample_counters="));
}

/* Does it record NVTX? */
static bool has_nvtx(const char *level, const char *option)
{
	struct options options;
	struct err err = {0};
	bool has;

	CHECK_OK(option ? parse(&options, &err,
				WORDS("--host-tracer-level", level, "--option", option))
			: parse(&options, &err, WORDS("--host-tracer-level", level)),
		 err);
	has = levels_has(&options, LEVEL_nvtx);
	options_free(&options);
	return has;
}

TEST(nvtx_goes_by_its_option_else_by_the_level)
{
	CHECK(!has_nvtx("0", NULL));
	CHECK(has_nvtx("1", NULL));
	CHECK(has_nvtx("2", NULL));
	CHECK(has_nvtx("0", "gpu_enable_nvtx_tracking=true"));
	CHECK(!has_nvtx("3", "gpu_enable_nvtx_tracking=false"));
}

TEST(a_file_of_lines)
{
	struct options options;
	struct err err;

	CHECK_OK(parse_file("# mine\n\n host_tracer_level = 3 # more\r\n"
			    "device_tracer_level=0\ngpu_enable_cupti_activity_graph_trace=true\n"
			    "gpu_pm_sample_counters=\n"
			    "gpu_max_callback_api_events=5\ngpu_max_callback_api_events=6\n"
			    "gpu_max_annotation_strings=1",
			    &options, &err, "gpu_max_annotation_strings=9"),
		 err);
	CHECK_U64(options.host_tracer_level, 3);
	CHECK_U64(options.device_tracer_level, 0);
	CHECK(options.profile.gpu_enable_cupti_activity_graph_trace);
	CHECK_U64(options.profile.gpu_max_callback_api_events, 6);
	/* The command line holds. */
	CHECK_U64(options.profile.gpu_max_annotation_strings, 9);
	options_free(&options);
}

TEST(a_flag_holds_against_a_file)
{
	struct options options;
	char path[64];
	struct err err;

	write_file(path, "host_tracer_level=3\n");
	CHECK_OK(parse(&options, &err, WORDS("--options", path, "--host-tracer-level", "0")), err);
	CHECK_U64(options.host_tracer_level, 0);
	unlink(path);
	options_free(&options);
}

TEST(wrong_files)
{
	check_file_refused("\nnonsense\n", ":2: \"nonsense\": KEY=VALUE");
	check_file_refused("gpu_thing=1", ":1): there is no such option");
	check_file_refused("host_tracer_level=x", ":1): wrong type");
	check_file_refused("gpu_enable_nvtx_tracking=2", ":1): wrong type");
	check_file_refused("tpu_trace_mode=1", "TPU-only");
	check_file_refused("{\"host_tracer_level\": 2}\n",
			   ":1: \"{\"host_tracer_level\": 2}\": KEY=VALUE");
}

static int collect(void *data, const char *name, const char *value, bool given)
{
	if (strncmp(name, "gpu_", 4) == 0 || strcmp(name, "host-tracer-level") == 0)
		text_appendf(data, "%s=%s;", name, value);
	return 0;
}

TEST(they_are_in_the_option_facts)
{
	struct text text = {0};
	struct options options;
	struct err err;

	CHECK_OK(parse(&options, &err,
		       WORDS("--option", "gpu_max_activity_api_events=8", "--option",
			     "gpu_enable_cupti_activity_graph_trace=1")),
		 err);
	CHECK(options_each(&options, collect, &text) == 0);
	CHECK_STRING(text_string(&text), "host-tracer-level=2;gpu_max_activity_api_events=8;"
					 "gpu_enable_cupti_activity_graph_trace=true;");
	text_free(&text);
	options_free(&options);
}

UNIT_MAIN()
