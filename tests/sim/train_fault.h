/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sim-train --fault KIND [--seed N]: a loop that keeps its GPU busy, but for one fault, of tests/bench/explain. Periods, sizes and how large the fault is are
 * drawn by the seed. Ends at SIGTERM or SIGINT; one line of JSON when it runs, one at its end.
 */
#ifndef SIM_TRAIN_FAULT_H
#define SIM_TRAIN_FAULT_H

/* The exit status; -1: the arguments name no fault. Ends the process with a message where that is none. */
int train_fault_main(int argc, char **argv);

#endif
