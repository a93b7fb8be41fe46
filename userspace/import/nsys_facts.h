/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a database of Nsight Systems says of the recording as a whole, as facts. Only for import/nsys*.c. */
#ifndef GPUPROBE_IMPORT_NSYS_FACTS_H
#define GPUPROBE_IMPORT_NSYS_FACTS_H

#include "import/nsys_import.h"

/* Before any event: the names of domains and categories of NVTX. */
int nsys_facts_before(struct nsys_import *import, struct err *err);
/* Behind the last one: clock, window, what made it, names of processes and threads, the ledger. */
int nsys_facts_after(struct nsys_import *import, struct err *err);

#endif
