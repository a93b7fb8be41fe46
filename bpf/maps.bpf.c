/* SPDX-License-Identifier: GPL-2.0-or-later */
#define MAPS_DEFINE
#include "maps.h"

const volatile unsigned int ring_count = 1;
const volatile unsigned long long ring_wakeup_bytes = 1 << 19;
const volatile bool follow_children = false;
const volatile bool counts_calls = false;
const volatile bool keeps_accounts = false;
const volatile bool reads_matmuls = false;
const volatile unsigned int device_number = ~0U;
volatile unsigned int device_name = 0;
const volatile unsigned long long off_cpu_min_ns = 0;
volatile unsigned int window_open = 0;
volatile unsigned int any_switched_off = 0;
volatile unsigned int letting_go = 0;
volatile unsigned int agents_are_about = 0;
volatile unsigned int code_mapped = 0;

char LICENSE[] SEC("license") = "GPL";
