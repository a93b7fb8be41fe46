/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Another user of CUPTI in sim-train: tests/sim/profilers. */
#ifndef SIM_TRAIN_PROFILE_H
#define SIM_TRAIN_PROFILE_H

#include <stdio.h>

/* LIBRARY,LIBCUPTI: maps both. Ends the process with a message where that can't be done. */
void train_profile_open(const char *paths);
/* The same, with a line of JSON. */
void train_profile_load(FILE *answer, const char *paths);
/* Begins or ends a profile; one line of JSON. asked: kernels that were launched so far; slack: how many of them may not
 * yet have been when it began, since their launch was under way. At the end no device has work. */
void train_profile_begin(FILE *answer, unsigned long (*asked)(void));
void train_profile_end(FILE *answer, unsigned long asked, unsigned long slack);
/* When all threads go on. */
void train_profile_leave(void);

#endif
