/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * makecontext and swapcontext under other names, found at run time: a program that imports them gets no durations
 * at all, so what happens on fibers' stacks is tested with programs of which that cannot be seen beforehand.
 */
#ifndef HIDDEN_CONTEXTS_H
#define HIDDEN_CONTEXTS_H

#include <dlfcn.h>
#include <ucontext.h>

#define switch_context \
	(*(int (*)(ucontext_t *, const ucontext_t *))dlsym(RTLD_DEFAULT, "swapcontext"))
#define make_context \
	(*(void (*)(ucontext_t *, void (*)(void), int, ...))dlsym(RTLD_DEFAULT, "makecontext"))

#endif
