/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an injection uses of the target's own C library, and where it is in the target. glibc has pthread_create
 * and dlopen in libc.so.6 since 2.34, before that in libpthread and libdl.
 */
#ifndef GPUPROBE_INJECT_INJECT_LIBC_H
#define GPUPROBE_INJECT_INJECT_LIBC_H

#include "inject/inject.h"
#include "process/modules.h"

/* Fills the addresses and the names of the plan. modules: of this target alone. -EOPNOTSUPP with the reason:
 * no C library (static), another one than glibc, no pthread_create. */
int inject_libc_find(const struct module_list *modules, struct inject_plan *plan, struct err *err);

#endif
