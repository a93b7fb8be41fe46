/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the rules of `nsys analyze` look for: calls and copies that keep a program waiting. Only for report_trace.c. */
#ifndef GPUPROBE_REPORTS_REPORT_RULES_H
#define GPUPROBE_REPORTS_REPORT_RULES_H

#include "view/view.h"

typedef bool report_rule(const struct view *view, const struct view_event *event);

/* Copies by an asynchronous call that waits nevertheless, since pages of the host are not pinned. */
report_rule report_rule_memcpy_async;
/* Copies by a synchronous call, but for small ones to a GPU, which need not wait, and those within a GPU. */
report_rule report_rule_memcpy_sync;
/* Sets of pinned or managed memory by a synchronous call. */
report_rule report_rule_memset_sync;
/* Calls that wait for all work of a GPU or stream. */
report_rule report_rule_api_sync;

#endif
