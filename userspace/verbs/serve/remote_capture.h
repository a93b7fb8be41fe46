/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One capture that somebody asked for through serve: it waits for its time, records, exports, and its result is a file.
 *
 * Recording and exporting are processes of their own, of this same program: a recording takes signals, threads and a
 * guardian for itself, Ctrl-C is the way to end one that is tested most, nothing of a target can stay open in the server
 * when it is over, and one that dies leaves the server alone. They are two because only the second may be cut short
 * without a word, and only the first has hold of the targets. If the server is killed they end as by Ctrl-C.
 *
 * Its files lie in a folder of its own (verbs/serve/remote_files.h), which goes with the capture.
 */
#ifndef GPUPROBE_VERBS_SERVE_REMOTE_CAPTURE_H
#define GPUPROBE_VERBS_SERVE_REMOTE_CAPTURE_H

#include <poll.h>

#include "net/profiler_messages.h"
#include "options/options.h"
#include "verbs/serve/remote_files.h"

#define REMOTE_CAPTURE_FDS 2

struct remote_capture;

/* options: of serve, must outlive it. The request is read, not kept. -EINVAL: it asks for what there is not; nothing has
 * been started then. */
int remote_capture_start(const struct options *options, const struct profile_request *request,
			 struct remote_capture **ret_capture, struct err *err);
/* What to wait for: descriptors (-1 where there is none), and for at most how many ms (-1: any time). */
int remote_capture_poll(const struct remote_capture *capture,
			struct pollfd ret_fds[REMOTE_CAPTURE_FDS]);
/* Does what can be done without waiting. True when it is over. */
bool remote_capture_go_on(struct remote_capture *capture);
/* Ends the recording now and keeps what it has. Too late for that: does nothing. */
void remote_capture_end(struct remote_capture *capture);
/* Nobody wants the result any more: lets go of the targets. It is over when that is done. */
void remote_capture_cancel(struct remote_capture *capture);
/* What it is doing, in words: "waits for its time". */
const char *remote_capture_phase(const struct remote_capture *capture);

/* Of one that is over: an XSpace for each process. -ENODATA: ended before anything was recorded; -ECANCELED; else why
 * not. */
int remote_capture_result(struct remote_capture *capture, struct remote_files *ret_files,
			  struct err *err);
/* Of one that is over. Removes its files. NULL allowed; returns NULL. */
struct remote_capture *remote_capture_free(struct remote_capture *capture);

#endif
