/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A database of Nsight Systems (an SQLite export, of schema 3.0 of 2022 or later, by nsys or by gpuprobe) -> a capture.
 * The files are foreign: tables and columns that an older or newer schema has not may be missing, rows come in any order,
 * and nothing in a cell is believed.
 */
#ifndef GPUPROBE_IMPORT_NSYS_H
#define GPUPROBE_IMPORT_NSYS_H

#include "base/err.h"

/* Reads the database that fd is open for, which is never written to, and writes a capture into a new unlinked temporary
 * file, whose fd is returned. Errors name table, column and row. -EINTR: the stop flag is set. */
int import_nsys(int fd, int *ret_capture_fd, struct err *err);

#endif
