/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of an event besides its name and times, as debug annotations: the args of a Chrome trace, by the same names. */
#ifndef GPUPROBE_EXPORTERS_PERFETTO_PERFETTO_ARGS_H
#define GPUPROBE_EXPORTERS_PERFETTO_PERFETTO_ARGS_H

#include "exporters/chrome/chrome_args.h"
#include "exporters/perfetto/perfetto_packets.h"

/* Appends them to the event in packets->body. */
void perfetto_args_append(struct perfetto_packets *packets, const struct chrome_args *args,
			  const struct view_event *event);

/* One of them: field is that of an event or of an annotation; the name, and a value that is a text, are there as long as the view. */
void perfetto_args_append_value(struct perfetto_packets *packets, u32 field, const char *name, const struct view_value *value);

#endif
