/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What both files of usdt_forms share. */
#ifndef USDT_FORMS_H
#define USDT_FORMS_H

#include "protocol.h"

void forms_other(void);

#endif
