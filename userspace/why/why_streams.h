/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For what work of a stream waited behind what was launched before it there: cudaStreamWaitEvent. */
#ifndef GPUPROBE_WHY_WHY_STREAMS_H
#define GPUPROBE_WHY_WHY_STREAMS_H

#include "base/map.h"
#include "view/view.h"

/* Zero-initialise it. */
struct why_streams {
	struct map places; /* (stream, 0) -> place in streams */
	struct why_stream {
		struct why_stream_wait {
			u64 asked_ns; /* when it was put into the stream */
			u32 event;    /* ~0: not known */
		} *waits;
		size_t count, capacity;
	} *streams;
	size_t count, capacity;
};

/* A sync event: those by which a stream waits. 0 or -ENOMEM. */
int why_streams_add(struct why_streams *streams, const struct view_event *event);
/* The last one that stands in front of work of that stream, and behind the work before it; forgets them. false: there is none. */
bool why_streams_take(struct why_streams *streams, u32 stream, u64 launched_ns, struct why_stream_wait *ret_wait);
void why_streams_free(struct why_streams *streams);

#endif
