/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events as bytes of an XLine, packed without protobuf-c, whose tables cost more than all else in a capture of millions
 * of events. The same bytes as it packs.
 */
#ifndef GPUPROBE_EXPORTERS_XPLANE_XPLANE_PACK_H
#define GPUPROBE_EXPORTERS_XPLANE_XPLANE_PACK_H

#include "exporters/protobuf.h"
#include "xplane.pb-c.h"

#define XPLANE_STATS_MAX 40 /* of an event */

typedef Tensorflow__Profiler__XStat xplane_stat;

/* What the packing of an event needs to know before its first byte. */
struct xplane_event_sizes {
	size_t event_bytes;
	size_t stat_bytes[XPLANE_STATS_MAX];
	size_t string_bytes[XPLANE_STATS_MAX]; /* of stats with a string */
};

/* Bytes of the event with its tag and length in front; n_stats is XPLANE_STATS_MAX at most. No stat is of type bytes. */
size_t xplane_event_measure(const Tensorflow__Profiler__XEvent *event, struct xplane_event_sizes *ret_sizes);
/* That many bytes; the same event. */
void xplane_event_pack(const Tensorflow__Profiler__XEvent *event, const struct xplane_event_sizes *sizes, u8 *to);

#endif
