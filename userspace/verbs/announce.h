/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What record says of a recording: before it begins, and when it has ended. By base/log.h. */
#ifndef GPUPROBE_VERBS_ANNOUNCE_H
#define GPUPROBE_VERBS_ANNOUNCE_H

#include "session/session.h"
#include "options/options.h"
#include "recording/attachment.h"

/* One line: how many functions match, and how they are probed. */
void announce_summary(const struct attachment *attachment);
/* The same, and what the user should know before it is too late. */
void announce_plan(const struct attachment *attachment, const struct options *options);
/* After plan_libraries_await(): where sizes of matrices stand in objects that may be others than gpuprobe knows. */
void announce_libraries(const struct plan *plan);
/* Before the window and at its end: the first target that has children that are not recorded. *told: was it said already? */
void announce_children(const struct attachment *attachment, const struct options *options, bool *told);
/* Inside the window: what it costs, and what can be done. */
/* As the window opens: what it is without. */
void announce_window(const struct session_status *status);
void announce_price(const struct session_status *status);
/* The same, of it and so many others, where a process changes its code. */
void announce_code_changed(const char *name, size_t others, u32 pid, const char *why, u64 elapsed_ns);
void announce_python_refused(const char *why);
void announce_sampled(const char *name, u32 per_second, u64 elapsed_ns, double percent);
void announce_switched_off(const char *name, bool is_plural, u64 elapsed_ns, double percent);
/* How much was recorded, what was lost and what it cost. */
void announce_result(const struct attachment *attachment, const struct session_result *result);

#endif
