/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a trace of Perfetto says of the recording itself: its clocks, and on a track of its own what is known of it and what it lost. */
#ifndef GPUPROBE_EXPORTERS_PERFETTO_PERFETTO_METADATA_H
#define GPUPROBE_EXPORTERS_PERFETTO_PERFETTO_METADATA_H

#include "exporters/perfetto/perfetto_packets.h"
#include "view/view.h"

/* CLOCK_MONOTONIC, in which all times are, beside the others that readers know. */
int perfetto_write_clocks(struct perfetto_packets *packets, const struct view_survey *survey, struct err *err);
/* The track, an event "recording" on it, and spans over what is missing. */
int perfetto_write_recording(struct perfetto_packets *packets, u64 track, const struct view *view, struct err *err);

#endif
