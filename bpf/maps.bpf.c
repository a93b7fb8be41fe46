/* SPDX-License-Identifier: GPL-2.0-or-later */
#define MAPS_DEFINE
#include "maps.h"
#include "off_cpu.h"
#include "unwind_maps.h"
#include "python_maps.h"

const volatile unsigned int ring_count = 1;
const volatile unsigned long long ring_wakeup_bytes = 1 << 19;
const volatile bool follow_children = false;
const volatile bool has_probes = false;
const volatile bool counts_calls = false;
const volatile bool keeps_accounts = false;
const volatile bool reads_matmuls = false;
const volatile bool takes_call_stacks = false;
const volatile bool takes_usdt_stacks = false;
const volatile bool takes_launch_stacks = false;
volatile unsigned int launch_samples_per_second = 0;
volatile unsigned int launch_stacks_over = 0;
volatile unsigned int launch_one_in = 0;
volatile unsigned long long launch_hits = 0, launch_samples = 0, launch_since_ns = 0;
const volatile bool walks_by_tables = false;
const volatile bool reads_python = false;
const volatile unsigned int device_number = ~0U;
volatile unsigned int device_name = 0;
const volatile unsigned long long sample_period_ns = 0;
volatile unsigned int samples_over = 0;
volatile unsigned long long thread_times_end_ns = 0;
volatile unsigned int thread_times_over = 0;
const volatile unsigned long long off_cpu_min_ns = 0;
volatile unsigned long long off_cpu_until_ns = 0;
volatile unsigned int window_open = 0;
volatile unsigned int any_switched_off = 0;
volatile unsigned int letting_go = 0;
volatile unsigned int agents_are_about = 0;
volatile unsigned int code_mapped = 0;

char LICENSE[] SEC("license") = "GPL";
