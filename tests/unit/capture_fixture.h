/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Captures for tests: from text (one JSON object a line), in memory files. */
#ifndef GPUPROBE_TESTS_CAPTURE_FIXTURE_H
#define GPUPROBE_TESTS_CAPTURE_FIXTURE_H

#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "import/ndjson.h"
#include "unit.h"
#include "view/view.h"

struct fixture {
	int fd;
	struct capture_reader *reader;
	struct view *view;
	struct err err;
};

static inline int fixture_import(const char *text, size_t length, int *ret_fd, struct err *err)
{
	int fd _cleanup_close_ = memfd_create("text", MFD_CLOEXEC);

	CHECK(write(fd, text, length) == (ssize_t)length);
	lseek(fd, 0, SEEK_SET);
	return import_ndjson(fd, "in.ndjson", ret_fd, err);
}

/* Failures are failures of the test; reader and view are NULL then. */
static inline struct fixture fixture_open(const char *text)
{
	struct fixture fixture = {.fd = -1};

	CHECK_OK(fixture_import(text, strlen(text), &fixture.fd, &fixture.err), fixture.err);
	if (fixture.fd >= 0)
		CHECK_OK(capture_reader_open(fixture.fd, &fixture.reader, &fixture.err),
			 fixture.err);
	if (fixture.reader)
		CHECK_OK(view_open(fixture.reader, &fixture.view, &fixture.err), fixture.err);
	return fixture;
}

static inline void fixture_close(struct fixture *fixture)
{
	view_free(fixture->view);
	capture_reader_free(fixture->reader);
	if (fixture->fd >= 0)
		close(fixture->fd);
}

#define _fixture_ __attribute__((cleanup(fixture_close)))

/* The count of a reason in the ledger, over all places. */
static inline u64 loss_of(struct view *view, u32 reason)
{
	const struct view_survey *survey = view_survey(view);
	u64 count = 0;

	for (size_t i = 0; i < survey->loss_count; i++)
		if (survey->losses[i].reason == reason)
			count += survey->losses[i].count;
	return count;
}

#endif
