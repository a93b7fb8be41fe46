/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "process/process_title.h"
#include "unit.h"

static void check_title(const char *command_line, const char *expected)
{
	struct text text _cleanup_text_ = {0};
	bool has = process_title_append_of(command_line, &text);

	if (has != (expected != NULL) || (expected && strcmp(text_string(&text), expected) != 0))
		UNIT_FAIL("\"%s\": \"%s\"", command_line, has ? text_string(&text) : "none");
}

TEST(what_programs_call_themselves)
{
	check_title("postgres: checkpointer ", "postgres: checkpointer");
	check_title("nginx: master process /usr/sbin/nginx -g daemon on;",
		    "nginx: master process /usr/sbin/nginx -g daemon on;");
	check_title("redis-server *:6379      ", "redis-server *:6379");
	check_title("sshd: user@pts/0", "sshd: user@pts/0");
}

TEST(a_path_is_no_title)
{
	check_title("", NULL);
	check_title("   ", NULL);
	check_title("bash", NULL);
	check_title("-bash", NULL);
	check_title("/usr/sbin/nginx", NULL);
	check_title("/opt/My Program/run", NULL);
	check_title("./my program", NULL);
}

TEST(titles_are_cut_between_characters)
{
	struct text line _cleanup_text_ = {0}, expected _cleanup_text_ = {0};

	text_append(&line, "a ");
	for (int i = 0; i < PROCESS_TITLE_COLUMNS; i++)
		text_append(&line, "\xc3\xa4");
	text_append_bytes(&expected, line.data, 2 + 2 * (PROCESS_TITLE_COLUMNS - 2));
	text_append(&expected, "...");
	check_title(text_string(&line), text_string(&expected));
	check_title("a \xff z", "a ? z");
}

UNIT_MAIN()
