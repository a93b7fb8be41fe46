/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an SQLite export of Nsight Systems says beside the events: the machine, GPUs, processes, threads, the ledger. */
#ifndef GPUPROBE_EXPORTERS_NSYS_NSYS_FACTS_H
#define GPUPROBE_EXPORTERS_NSYS_NSYS_FACTS_H

#include "exporters/nsys/database.h"
#include "exporters/nsys/nsys_values.h"

/* Never the environment of a target, which an export by nsys itself has. values: of all events, whose strings it writes too. */
int nsys_facts_write(struct database *database, struct nsys_values *values, struct err *err);

#endif
