/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is waited for, in words that do not change from connection to connection. */
#include "why/why_object.h"

#include <stdlib.h>

#include "unit.h"

static const struct {
	const char *object, *words;
} objects[] = {
	{"", ""},
	{"/data/part-17", "/data/part-17"},
	{"pipe <- loader (pid 17)", "pipe <- loader"},
	{"pipe <- loader (pid 17), loader (pid 18) and 3 more",
	 "pipe <- loader, loader and 3 more"},
	{"unix:/run/db (pid x) <-> db (pid 4)", "unix:/run/db (pid x) <-> db"},
	{"pipe <- odd (pid ", "pipe <- odd (pid "},
	{"pipe <- odd (pid 12", "pipe <- odd (pid 12"},
	{"tcp 10.0.0.1:41234 <-> 10.0.0.2:6379", "tcp 10.0.0.1 <-> 10.0.0.2:6379"},
	{"tcp [::1]:41234 <-> [::1]:80, eventfd", "tcp [::1] <-> [::1]:80, eventfd"},
	{"tcp 10.0.0.1:8000 <-> 10.0.0.2 (accepted)", "tcp 10.0.0.1:8000 <-> 10.0.0.2 (accepted)"},
	{"tcp [::1]:8000 <-> [::1] (accepted)", "tcp [::1]:8000 <-> [::1] (accepted)"},
	{"tcp 0.0.0.0:8000 (listening)", "tcp 0.0.0.0:8000 (listening)"},
	{"any of tcp 1.2.3.4:5 <-> 1.2.3.4:6, tcp 1.2.3.4:7 <-> 1.2.3.4 (accepted)",
	 "any of tcp 1.2.3.4 <-> 1.2.3.4:6, tcp 1.2.3.4:7 <-> 1.2.3.4 (accepted)"},
	{"tcp 1.2.3.4:5 <-> ", "tcp 1.2.3.4:5 <-> "},
	{"tcp 1.2.3.4:5 <-> :", "tcp 1.2.3.4:5 <-> :"},
};

TEST(numbers_that_change_are_left_out)
{
	for (size_t i = 0; i < sizeof(objects) / sizeof(*objects); i++) {
		struct text text = {0};

		text_append(&text, "");
		why_object_append(objects[i].object, &text);
		CHECK_STRING(text_string(&text), objects[i].words);
		free(text.data);
	}
}

UNIT_MAIN()
