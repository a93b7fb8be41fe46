/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Uprobes of the whole machine of which the kernel tells where they are: BPF links (6.8; single ones 6.6) and uprobe_events. It does not
 * tell of those of perf events without a link, of a kernel module, or that were left behind by a tracer that was killed.
 */
#ifndef GPUPROBE_PROBE_KNOWN_UPROBES_H
#define GPUPROBE_PROBE_KNOWN_UPROBES_H

#include "base/types.h"

struct known_uprobes;

/* As they are now. NULL: out of memory; where one is not told of, it is not among them. Takes a ms for some thousand. */
struct known_uprobes *known_uprobes_read(void);
/* Is one at that offset of a file of this name? Paths of other mount namespaces can't be compared. */
bool known_uprobes_has(const struct known_uprobes *known, const char *file_name, u64 file_offset);
struct known_uprobes *known_uprobes_free(struct known_uprobes *known); /* NULL allowed; returns NULL */

#endif
