/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For what work of a stream waited behind what was launched before it there: cudaStreamWaitEvent. */
#ifndef GPUPROBE_WHY_WHY_STREAMS_H
#define GPUPROBE_WHY_WHY_STREAMS_H

#include "base/map.h"
#include "view/view.h"

#define WHY_STREAM_WORKS 8 /* of a stream, which runs ahead of who waits for it */

/* Zero-initialise it. */
struct why_streams {
	struct map places; /* (stream, 0) -> place in streams */
	struct why_stream {
		struct why_stream_wait {
			u64 asked_ns; /* when it was put into the stream */
			u32 event;    /* ~0: not known */
			u32 stream;   /* in which that was recorded, */
			u64 recorded; /* and by which call: view_unique_correlation(). 0: not known */
		} *waits;
		size_t count, capacity;
		struct why_stream_work {
			u64 launched; /* by which call, the same way */
			const char *name;
			const struct view_row *row;
		} works[WHY_STREAM_WORKS]; /* the last ones; number n, from 0, at n % WHY_STREAM_WORKS */
		size_t work_count;
	} *streams;
	size_t count, capacity;
};

/* A sync event: those by which a stream waits. 0 or -ENOMEM. */
int why_streams_add(struct why_streams *streams, const struct view *view, const struct view_event *event);
/* Work of a stream, in time order. 0 or -ENOMEM. */
int why_streams_add_work(struct why_streams *streams, const struct view *view, const struct view_event *event);
/* What the stream waited for: the last work in front of what recorded the event, in the stream of that. Valid until the next work is added; NULL: not
 * known. */
const struct why_stream_work *why_streams_awaited(const struct why_streams *streams, const struct why_stream_wait *wait);
/* The last one that stands in front of work of that stream, and behind the work before it; forgets them. false: there is none. */
bool why_streams_take(struct why_streams *streams, u32 stream, u64 launched_ns, struct why_stream_wait *ret_wait);
void why_streams_free(struct why_streams *streams);

#endif
