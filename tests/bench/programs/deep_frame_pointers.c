/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The same with frame pointers, by which bpf_get_stack() goes. */
#pragma GCC optimize("no-omit-frame-pointer")
#include "deep.c"
