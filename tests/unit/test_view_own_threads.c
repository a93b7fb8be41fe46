/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is gpuprobe's own in a target is left out, and no more than that. */
#include "base/text.h"
#include "capture_fixture.h"
#include "view/view_parts.h"

#define OWN(tid, gone) \
	"{\"kind\":\"agent_thread\",\"pid\":1,\"tid\":" #tid ",\"role\":\"agent\"" gone "}\n"
#define API(name, tid, ts)                                                               \
	"{\"kind\":\"api\",\"pid\":1,\"tid\":" #tid ",\"name\":\"" name "\",\"ts\":" #ts \
	",\"dur\":5}\n"

static int name_span(void *data, const struct view_event *event, struct err *err)
{
	struct text *text = data;

	text_appendf(text, "%s ", event->name);
	return 0;
}

TEST(a_number_that_is_used_again_is_the_targets)
{
	struct fixture fixture _fixture_ = fixture_open(
		OWN(5, "") OWN(5, ",\"gone\":100") OWN(6, "") API("ours", 5, 50)
			API("theirs", 5, 100) API("lives", 6, 200) API("other", 7, 210));
	const struct view_sink sink = {.span = name_span};
	struct text text _cleanup_text_ = {0};
	struct err err = {0};

	CHECK_OK(view_run(fixture.view, &sink, &text, &err), err);
	CHECK_STRING(text_string(&text), "theirs other ");
}

UNIT_MAIN()
