/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An unwind table as bytes in one piece: how it is kept, and how it comes from the process that reads files. Whoever wrote them is not
 * believed: what is no table is none. */
#ifndef GPUPROBE_UNWIND_UNWIND_IMAGE_H
#define GPUPROBE_UNWIND_UNWIND_IMAGE_H

#include "elf/elf_unwind_rows.h"

u64 unwind_image_bytes(const struct elf_unwind_rows *rows);
/* ret_bytes: unwind_image_bytes() of them. */
void unwind_image_write(const struct elf_unwind_rows *rows, u8 *ret_bytes);
/* -EINVAL: it is no table; -ENOMEM. The caller frees the rows. */
int unwind_image_read(const u8 *bytes, u64 size_bytes, struct elf_unwind_rows *ret_rows);

#endif
