/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include "base/text.h"
#include "options/options.h"
#include "options/options_table.h"

#define ARGUMENTS_MAX 16

/* Splits words at blanks: "" stands for an empty argument, ~ for a blank inside of one. */
static int parse(const char *line, struct options *options, struct err *err)
{
	char *argv[ARGUMENTS_MAX + 2] = {(char *)"gpuprobe"};
	char *copy = strdup(line), *rest = copy, *word;
	int argc = 1, result;

	while ((word = strsep(&rest, " ")) && argc <= ARGUMENTS_MAX) {
		if (!*word)
			continue;
		if (strcmp(word, "\"\"") == 0)
			word = word + 2;
		for (char *c = word; *c; c++)
			if (*c == '~')
				*c = ' ';
		argv[argc++] = word;
	}
	memset(err, 0, sizeof(*err));
	result = options_parse(argc, argv, options, err);
	free(copy);
	return result;
}

/* The line is refused, and the message holds all of the words (separated by |). */
static void check_refused(const char *line, const char *expected)
{
	struct options options;
	struct err err;
	char *words = strdup(expected), *rest = words, *word;

	if (parse(line, &options, &err) != -22)
		UNIT_FAIL("\"%s\" was not refused", line);
	while ((word = strsep(&rest, "|")))
		if (!strstr(err.message, word))
			UNIT_FAIL("\"%s\": \"%s\" lacks \"%s\"", line, err.message, word);
	if (strchr(err.message, '\n'))
		UNIT_FAIL("\"%s\": more than one line", line);
	CHECK(!options.arguments.items && !options.pids.items && !options.command);
	free(words);
	options_free(&options);
}

#define PARSED(line)            \
	struct options options; \
	struct err err;         \
	CHECK_OK(parse(line, &options, &err), err)

TEST(record_is_the_default_verb)
{
	PARSED("-p 12 -d 2.5 -F a*:b -F !c -o x.json -qo y.gpr");
	CHECK_U64(options.verb, VERB_RECORD);
	CHECK(!options.verb_given);
	CHECK_U64(options.pids.count, 1);
	CHECK_U64(options.pids.items[0], 12);
	CHECK_U64(options.duration_ns, 2500000000);
	CHECK_U64(options.functions.count, 2);
	CHECK_STRING(options.functions.items[1], "!c");
	CHECK_U64(options.outputs.count, 2);
	CHECK_STRING(options.outputs.items[1], "y.gpr");
	CHECK(options.quiet && !options.verbose);
	CHECK(options.given.duration_ns && options.given.quiet && !options.given.rows);
	CHECK_U64(options.rows, 20);
	CHECK_U64(options.buffer_mb, 8);
	options_free(&options);
}

TEST(verb_may_stand_behind_options)
{
	PARSED("-v --rows 5 stats capture.gpr -r functions --report=ledger");
	CHECK_U64(options.verb, VERB_STATS);
	CHECK_U64(options.rows, 5);
	CHECK_U64(options.arguments.count, 1);
	CHECK_STRING(options.arguments.items[0], "capture.gpr");
	CHECK_U64(options.report.count, 2);
	options_free(&options);
}

TEST(value_of_an_option_is_no_verb)
{
	PARSED("-o export -p 3 -F stats");
	CHECK_U64(options.verb, VERB_RECORD);
	CHECK_STRING(options.outputs.items[0], "export");
	CHECK_STRING(options.functions.items[0], "stats");
	options_free(&options);
}

TEST(argument_may_be_named_like_a_verb)
{
	PARSED("stats export");
	CHECK_U64(options.verb, VERB_STATS);
	CHECK_STRING(options.arguments.items[0], "export");
	options_free(&options);
}

TEST(pids_are_kept_once_in_order)
{
	PARSED("-p 5,3 --pid=5 --pid 4194304 -p1");
	CHECK_U64(options.pids.count, 4);
	CHECK_U64(options.pids.items[0], 5);
	CHECK_U64(options.pids.items[1], 3);
	CHECK_U64(options.pids.items[2], 4194304);
	CHECK_U64(options.pids.items[3], 1);
	options_free(&options);
}

TEST(command_stands_behind_dashes)
{
	PARSED("-d 1 -- ls -p stats -- x");
	CHECK_U64(options.verb, VERB_RECORD);
	CHECK_U64(options.pids.count, 0);
	CHECK_STRING(options.command[0], "ls");
	CHECK_STRING(options.command[1], "-p");
	CHECK_STRING(options.command[2], "stats");
	CHECK_STRING(options.command[3], "--");
	CHECK_STRING(options.command[4], "x");
	CHECK(!options.command[5]);
	options_free(&options);
}

TEST(dashes_end_the_options_of_other_verbs)
{
	PARSED("stats -- -strange.gpr");
	CHECK_STRING(options.arguments.items[0], "-strange.gpr");
	CHECK(!options.command);
	options_free(&options);
}

TEST(one_dash_is_a_word)
{
	PARSED("export - -o - -f json");
	CHECK_STRING(options.arguments.items[0], "-");
	CHECK_STRING(options.outputs.items[0], "-");
	CHECK_STRING(options.format, "json");
	options_free(&options);
}

TEST(last_value_holds)
{
	PARSED("export a -o b -f json -f ndjson");
	CHECK_STRING(options.format, "ndjson");
	options_free(&options);
}

TEST(seconds_are_exact)
{
	static const struct {
		const char *line;
		u64 ns;
	} rows[] = {
		{"-p 1 -d 0.01", 10000000},
		{"-p 1 -d .5", 500000000},
		{"-p 1 -d 86400", 86400ULL * NS_PER_SECOND},
		{"-p 1 -d 0.1", 100000000},
		{"-p 1 -d 1.0000000019", 1000000001},
		{"-p 1 -d 007", 7 * NS_PER_SECOND},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		PARSED(rows[i].line);
		CHECK_U64(options.duration_ns, rows[i].ns);
		options_free(&options);
	}
}

TEST(help_asks_for_nothing_else)
{
	static const char *const lines[] = {"--help",		"-h",	     "stats --help",
					    "export -h",	"--version", "check -p 3 -h",
					    "stats -p 3 --help"};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		PARSED(lines[i]);
		CHECK(options.help || options.version);
		options_free(&options);
	}
}

TEST(bad_numbers_are_refused)
{
	check_refused("-p 1 --rows 1x", "--rows|1x|0 to 1000000");
	check_refused("-p 1 --rows -1", "--rows|-1|0 to 1000000");
	check_refused("-p 1 --rows +1", "--rows|+1");
	check_refused("-p 1 --rows ~1", "--rows| 1");
	check_refused("-p 1 --rows 0x10", "--rows|0x10");
	check_refused("-p 1 --rows 1.5", "--rows|1.5");
	check_refused("-p 1 --rows nan", "--rows|nan");
	check_refused("-p 1 --rows \"\"", "--rows|whole number");
	check_refused("-p 1 --rows 1000001", "--rows|1000001|out of range|0 to 1000000");
	check_refused("-p 1 --rows 18446744073709551616", "out of range|0 to 1000000");
	check_refused("-p 1 --rows 99999999999999999999999999999999", "out of range");
	check_refused("-p 1 --buffer-mb 0", "--buffer-mb|out of range|1 to 1024");
	check_refused("-p 1 --buffer-mb 3", "--buffer-mb|power of two");
	check_refused("-p 1 --max-functions 0", "--max-functions|1 to 100000");
}

TEST(bad_seconds_are_refused)
{
	check_refused("-p 1 -d 0", "-d|0|0.01 to 86400");
	check_refused("-p 1 -d 0.0099", "out of range");
	check_refused("-p 1 -d 86400.000000001", "out of range");
	check_refused("-p 1 -d -5", "-d|-5");
	check_refused("-p 1 --duration=-5", "--duration|-5");
	check_refused("-p 1 -d 5s", "5s|without unit");
	check_refused("-p 1 -d 1e3", "1e3");
	check_refused("-p 1 -d nan", "nan");
	check_refused("-p 1 -d inf", "inf");
	check_refused("-p 1 -d .", "number of seconds");
	check_refused("-p 1 -d 1.2.3", "1.2.3");
	check_refused("-p 1 -d 1,5", "1,5");
	check_refused("-p 1 -d \"\"", "number of seconds");
	check_refused("-p 1 -d 99999999999999999999999", "out of range");
	check_refused("-p 1 -d 18446744073.9", "out of range");
}

TEST(bad_pids_are_refused)
{
	check_refused("-p 0", "-p|0|1 to 4194304");
	check_refused("-p 4194305", "1 to 4194304");
	check_refused("-p 18446744073709551617", "1 to 4194304");
	check_refused("-p -1", "-p|-1");
	check_refused("-p 1,", "-p|1,");
	check_refused("-p ,1", ",1");
	check_refused("-p 1,,2", "1,,2");
	check_refused("-p 1x", "1x");
	check_refused("-p redis", "redis");
	check_refused("-p \"\"", "pidof found no process");
	check_refused("-p -d 5", "-p|-d|pidof found no process");
	check_refused("-p", "-p needs a value");
}

/* As $(pidof nginx) gives them, quoted or not. ~ stands for a blank inside of a word. */
TEST(several_pids_stand_apart_by_blanks)
{
	static const char *const spelled[] = {"-p 12 34 56 -d 5",  "-p 12~34~56",
					      "--pid=12 34 -p 56", "check -p 12 34 56",
					      "-p ~12~~34,~56~",   "-p12 34 56"};

	for (size_t i = 0; i < ARRAY_SIZE(spelled); i++) {
		PARSED(spelled[i]);
		CHECK_U64(options.pids.count, 3);
		for (size_t pid = 0; pid < options.pids.count; pid++)
			CHECK_U64(options.pids.items[pid], 12 + 22 * pid);
		options_free(&options);
	}
	check_refused("-p 12 x", "\"x\"|no verb");
	check_refused("-p 12 -d 5 34", "\"34\"");
	check_refused("-p 12 0", "0|1 to 4194304");
	check_refused("-p 12~~,~,3", "12");
}

TEST(unknown_options_name_the_nearest)
{
	check_refused("-p 1 --durtion 5", "--durtion|--duration");
	check_refused("-p 1 --durtion=5", "--durtion|--duration");
	check_refused("-p 1 --out x", "--out|--output");
	check_refused("-p 1 -pid 1", "-pid|--pid");
	check_refused("-pid=1", "--pid=1");
	check_refused("-p 1 -x", "unknown option -x|--help");
	check_refused("-p 1 -qx", "unknown option -x in -qx");
	check_refused("-p 1 --zzzz", "--zzzz|--help");
	check_refused("-p 1 ---", "---");
	check_refused("-p 1 --=5", "--=5");
	check_refused("-p 1 --quiet=1", "--quiet takes no value|1");
}

TEST(values_that_look_like_options_are_refused)
{
	check_refused("-p 1 -o -d 5", "-o|-d|--output=VALUE");
	check_refused("-p 1 -F --output", "-F|--output");
	check_refused("-p 1 -o", "-o needs a value|FILE");
	check_refused("-p 1 --output", "--output needs a value|FILE");
	check_refused("-p 1 -o \"\"", "-o|empty");
	check_refused("-p 1 --function=", "--function|empty");
	check_refused("stats x -f \"\"", "-f|empty");
}

TEST(choices_name_the_words)
{
	PARSED("-p 1 --attach single --returns=none");
	CHECK_U64(options.attach_mode, 2);
	CHECK_U64(options.returns_mode, 1);
	options_free(&options);
	check_refused("-p 1 --attach mult",
		      "--attach|mult|auto, multi or single|Did you mean multi");
	check_refused("-p 1 --attach AUTO", "auto, multi or single");
	check_refused("-p 1 --returns=", "auto, none, trampoline, stepped, emulated or cheap");
}

TEST(options_of_other_verbs_are_refused)
{
	check_refused("serve", "-p PID");
	check_refused("serve -p 3 -d 5", "--duration|serve|record");
	check_refused("stats x.gpr -p 3", "--pid|stats|record, check and serve");
	check_refused("-o x -p 1 check", "--output|check|record, export and stats");
	check_refused("export x -o y --rows 3", "--rows|export|record and stats");
	check_refused("-p 3 -r functions", "--report|record|stats");
	check_refused("completion bash -f csv", "--format|completion");
}

TEST(verbs_get_the_arguments_they_need)
{
	check_refused("", "-p PID|--help");
	check_refused("record -d 5", "-p PID");
	check_refused("check", "-p PID");
	check_refused("stats", "CAPTURE");
	check_refused("stats a b", "\"b\"|CAPTURE");
	check_refused("export a", "-o FILE");
	check_refused("export -o a", "CAPTURE");
	check_refused("completion", "bash or zsh");
	check_refused("help a b c", "\"c\"");
	check_refused("stat x.gpr", "stat|Did you mean stats");
	check_refused("recrod -p 3", "recrod|Did you mean record");
	check_refused("python3 x.py", "python3|behind --");
	check_refused("--", "no command");
	check_refused("-- \"\"", "no command");
	check_refused("-p 1 -- ls", "exclude each other");
	check_refused("-p 1 -qv", "exclude each other");
	check_refused("record -p 1 extra", "\"extra\"|nothing");
}

TEST(long_words_are_cut_in_messages)
{
	char line[4000] = "-p 1 --rows ";

	memset(line + strlen(line), '7', 3000);
	check_refused(line, "--rows|out of range");
	memcpy(line, "-p 1 --zzzz_", 12);
	check_refused(line, "unknown option|--help");
}

struct seen {
	struct text text;
	int stop_after;
};

static int see(void *data, const char *name, const char *value, bool given)
{
	struct seen *seen = data;

	text_appendf(&seen->text, "%s=%s%s ", name, value, given ? "!" : "");
	return seen->stop_after && --seen->stop_after == 0 ? 7 : 0;
}

TEST(each_option_as_text)
{
	struct seen seen = {.stop_after = 0};
	PARSED("-p 1,2 -d 0.25 -F a -F b --attach multi -o x.json");

	CHECK_U64(options_each(&options, see, &seen), 0);
	CHECK_STRING(
		text_string(&seen.text),
		"pid=1! pid=2! children=false duration=0.25! function=a! function=b! "
		"output=x.json! open=false rows=20 "
		"max-functions=4000 buffer-mb=8 count=false max-overhead=0 attach=multi! "
		"returns=auto stacks=none no-code-cache=false no-blocking=false "
		"blocking-min-us=10 cpu-hz=99 no-python=false alloc=auto no-inject=false "
		"agent-buffer-mb=16 gpu-records=work host-tracer-level=2 device-tracer-level=1 "
		"python-tracer-level=0 quiet=false verbose=false ");
	text_clear(&seen.text);
	seen.stop_after = 2;
	CHECK_U64(options_each(&options, see, &seen), 7);
	CHECK_STRING(text_string(&seen.text), "pid=1! pid=2! ");
	text_free(&seen.text);
	options_free(&options);
}

static char *printed_help(enum options_verb verb)
{
	char *data = NULL;
	size_t size;
	FILE *file = open_memstream(&data, &size);

	options_print_help(file, verb);
	fclose(file);
	return data;
}

TEST(help_holds_every_option_within_100_columns)
{
	for (const struct verb_row *verb = verb_rows; verb->name; verb++) {
		char *help = printed_help(verb->verb), *rest = help, *line;
		char spelled[64];

		for (const struct option_row *row = option_rows; row->member; row++) {
			snprintf(spelled, sizeof(spelled), "--%s", row->long_name);
			if (row->verbs & verb->verb && !strstr(help, spelled))
				UNIT_FAIL("help of %s lacks %s", verb->name, spelled);
		}
		CHECK(strstr(help, "Examples:\n") && strstr(help, "Usage:\n"));
		while ((line = strsep(&rest, "\n")))
			if (strlen(line) > 100 || (*line && line[strlen(line) - 1] == ' '))
				UNIT_FAIL("help of %s: \"%s\"", verb->name, line);
		free(help);
	}
}

TEST(examples_of_the_help_are_valid)
{
	for (const struct usage_row *row = usage_rows; row->text; row++) {
		const char *start = strstr(row->text, "gpuprobe ");
		struct text line = {0};
		struct options options;
		struct err err;
		bool quoted = false;

		if (!row->meaning)
			continue;
		for (const char *c = start + 9; *c && !(strchr("|>", *c) && !quoted); c++)
			if (*c == '\'')
				quoted = !quoted;
			else
				text_append_char(&line, *c);
		CHECK_OK(parse(text_string(&line), &options, &err), err);
		CHECK_U64(options.verb, row->verb);
		text_free(&line);
		options_free(&options);
	}
}

TEST(rows_of_choices_and_words_name_options)
{
	for (const struct choice_row *choice = choice_rows; choice->member; choice++) {
		bool found = false;

		for (const struct option_row *row = option_rows; row->member; row++)
			found |= row->type == OPTION_CHOICE &&
				 strcmp(row->member, choice->member) == 0;
		if (!found)
			UNIT_FAIL("CHOICE row for unknown member %s", choice->member);
	}
	for (const struct words_row *words = words_rows; words->member; words++) {
		bool found = strcmp(words->member, "arguments") == 0;

		for (const struct option_row *row = option_rows; row->member; row++)
			found |= strcmp(row->member, words->member) == 0;
		if (!found)
			UNIT_FAIL("WORDS row for unknown member %s", words->member);
	}
}

TEST(option_names_are_used_once)
{
	for (const struct option_row *a = option_rows; a->member; a++)
		for (const struct option_row *b = a + 1; b->member; b++) {
			CHECK(strcmp(a->long_name, b->long_name) != 0);
			CHECK(!a->short_name || a->short_name != b->short_name);
		}
}

TEST(completion_holds_every_word)
{
	static const char *const shells[] = {"bash", "zsh"};

	for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
		char *data = NULL;
		size_t size;
		FILE *file = open_memstream(&data, &size);
		struct err err = {0};

		CHECK_OK(options_print_completion(file, shells[i], &err), err);
		fclose(file);
		for (const struct option_row *row = option_rows; row->member; row++)
			CHECK(strstr(data, row->long_name));
		for (const struct choice_row *row = choice_rows; row->member; row++)
			CHECK(strstr(data, row->word));
		free(data);
	}
}

TEST(completion_of_an_unknown_shell_is_refused)
{
	struct err err = {0};

	CHECK_U64(options_print_completion(stderr, "fish", &err), (unsigned long long)-22);
	CHECK(strstr(err.message, "fish") && strstr(err.message, "bash and zsh"));
}

/* What serve hands on to a recording: what was given and is an option of both. */
TEST(words_of_another_verb)
{
	static const char *const expected[] = {"before",
					       "--pid=12",
					       "--pid=13",
					       "--children",
					       "--function=a b",
					       "--returns=none",
					       "--option=host_tracer_level=3",
					       "--verbose"};
	struct options_list words = {0};
	PARSED("serve -p 12,13 --children -F a~b --port 0 --listen 127.0.0.1 --returns none -v "
	       "--option host_tracer_level=3");

	CHECK_OK(options_list_add(&words, "before", &err), err);
	CHECK_OK(options_words(&options, VERB_RECORD, &words, &err), err);
	CHECK_U64(words.count, ARRAY_SIZE(expected));
	for (size_t i = 0; i < words.count && i < ARRAY_SIZE(expected); i++)
		CHECK_STRING(words.items[i], expected[i]);
	options_list_free(&words);
	options_free(&options);
}

/* `make docs` writes it. */
TEST(the_page_of_options_is_up_to_date)
{
	FILE *page = fopen("docs/options.md", "r"), *file;
	char *data = NULL, *markdown = NULL;
	size_t size;

	if (!page)
		SKIP("docs/options.md is not in this folder");
	CHECK(getdelim(&data, &size, '\0', page) > 0);
	fclose(page);
	file = open_memstream(&markdown, &size);
	options_print_markdown(file);
	fclose(file);
	CHECK_STRING(data, markdown);
	free(markdown);
	free(data);
}

static char *printed_manual(enum options_verb verb)
{
	char *data = NULL;
	size_t size;
	FILE *file = open_memstream(&data, &size);

	options_print_man(file, verb, "1.2-3-gabc");
	fclose(file);
	return data;
}

TEST(manual_pages_hold_every_option_of_their_verb_and_no_other)
{
	for (const struct verb_row *verb = verb_rows; verb->name; verb++) {
		char *page = printed_manual(verb->verb);

		for (const struct option_row *row = option_rows; row->member; row++) {
			char tag[64], *to = tag;

			to += sprintf(to, "\\-\\-");
			for (const char *from = row->long_name; *from; from++)
				to += sprintf(to, *from == '-' ? "\\-" : "%c", *from);
			strcpy(to, row->type == OPTION_FLAG ? "\\fR\n" : "=");
			CHECK_U64(strstr(page, tag) != NULL, (row->verbs & verb->verb) != 0);
		}
		free(page);
	}
}

/* Words that begin with a dot, a quote or a backslash are words, no requests. */
TEST(manual_pages_have_no_requests_but_our_own)
{
	static const char *const ours[] = {".\\\" ", ".TH ", ".SH ", ".TP", ".PP",
					   ".RS",    ".RE",  ".BR ", ".br"};
	char *page = printed_manual(VERB_RECORD), *rest = page, *line;
	size_t requests = 0;

	CHECK(strstr(
		page,
		".TH GPUPROBE\\-RECORD 1 \"\" \"gpuprobe 1.2\\-3\\-gabc\" \"gpuprobe manual\"\n"));
	while ((line = strsep(&rest, "\n"))) {
		bool known = *line != '.';

		CHECK(*line != '\'');
		for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
			known = known || !strncmp(line, ours[i], strlen(ours[i]));
		if (!known)
			CHECK_STRING(line, "a macro of ours");
		requests += *line == '.';
	}
	CHECK(requests > 50);
	free(page);
}

UNIT_MAIN()
