/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose calls a link of uprobe_multi sees that names a process. In kernels before 6.6.35, 6.9.5 and 6.10 these are the calls of its first
 * thread alone (uprobe_prog_run() of Linux compared the thread, not its memory) [source]; distributions mend older ones.
 * So it is tried.
 */
#ifndef GPUPROBE_PROBE_MULTI_FILTER_H
#define GPUPROBE_PROBE_MULTI_FILTER_H

#include "base/types.h"

/* Are calls seen that a thread of ours makes which is not the first one? Tried by a link that names the process on a function of our own,
 * which nobody else may call meanwhile (arch_calibrate_stepped). Some tens of ms. False also where it can't be tried: single probes see all. */
bool multi_filter_sees_threads(u32 pid);

#endif
