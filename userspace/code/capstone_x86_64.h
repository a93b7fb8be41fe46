/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Capstone, with the decoder of this processor only. */
#ifndef GPUPROBE_CODE_CAPSTONE_X86_64_H
#define GPUPROBE_CODE_CAPSTONE_X86_64_H

#include <capstone/capstone.h>

cs_err capstone_open_x86_64(csh *ret_handle);

#endif
