# SPDX-License-Identifier: GPL-2.0-or-later
"""What there is to test, and how: the one place that tests/run and tests/nightly ask. docs/testing.md explains it.

A test is found by its file (FAMILIES). It belongs to the class of its family and runs beside others, unless a row of
SPECIAL says otherwise. Classes: quick, check (has quick in it), and the shards of nightly, each a class of its own.
"""
import collections
import os

LONG_FUZZ_SECONDS = int(os.environ.get("LONG_FUZZ_SECONDS", 120))

KERNELS = ("6.1", "6.12", "6.19", "7")  # of tests/kernels/run
RELEASES = ("bookworm", "trixie")  # of Debian, for tests/package/run_releases

# sources: by a pattern they have a test each, NAME/STEM with the part that * stands for; else there is the one test NAME.
# command: STEM in it, or none. usual_seconds: on an idle machine, for the order. limit_seconds: then it is stopped.
# second_look: whether what fails in check runs again (second_look.py): "" never, "case" by cases, "whole" as a whole.
# knows_cases: its programs take names of cases, and --list.
Family = collections.namedtuple("Family", "name sources command where usual_seconds limit_seconds second_look knows_cases", defaults=("", False))
FAMILIES = [
	Family("lint", "scripts/lint.py", "scripts/lint.py --quick", "quick", 5, 600),
	Family("unit", "tests/unit/test_*.c", "build/unit/test_STEM", "quick", 1, 600),
	Family("golden", "tests/golden/run", "tests/golden/run", "quick", 3, 180),
	Family("captures", "tests/captures/*.gpr.gz", "tests/captures/run STEM", "check", 3, 180),
	Family("integration", "tests/integration/test_*", "tests/integration/test_STEM", "check", 10, 600, "case", True),
	Family("sim", "tests/sim/run", "tests/sim/run", "check", 20, 300, "whole"),
	Family("gpu-run", "tests/gpu/run", "tests/gpu/run --sim", "check", 5, 300, "whole"),
	Family("gpu-lab", "tests/gpu/lab", "tests/gpu/lab --sim", "check", 30, 900, "case"),
	# Replays what it has: the same each time. To search is for the night.
	Family("fuzz", "tests/fuzz/fuzz_*.c", "tests/fuzz/run 0 build/fuzz/fuzz_STEM", "check", 3, 120),
	Family("fuzz-long", "tests/fuzz/fuzz_*.c", f"tests/fuzz/run {LONG_FUZZ_SECONDS} build/fuzz/fuzz_STEM", "fuzz", LONG_FUZZ_SECONDS,
	       LONG_FUZZ_SECONDS + 60),
	Family("cycles-redis", "tests/bench/soak", "tests/bench/soak 60 redis", "cycles-redis", 60, 420),
	Family("cycles-gpu", "tests/bench/soak", "tests/bench/soak 60 gpu", "cycles-gpu", 60, 420),
	*(Family(f"kernel-{kernel}", "tests/kernels/run", f"tests/kernels/run -k {kernel}", f"kernel-{kernel}", 400, 1200) for kernel in KERNELS),
	*(Family(f"packages-{release}", "tests/package/run_releases", f"tests/package/run_releases {release}", f"packages-{release}", 300, 1200)
	  for release in RELEASES),
]

# What a test's file does not tell of it. name: `test`, or `test:case` of an integration test. where: its class. how: ""
# beside others, "split" each case beside others, "alone" at the end with nothing beside it. usual_seconds: of the whole
# test, 0: as its family has it.
Special = collections.namedtuple("Special", "name where how usual_seconds", defaults=("", 0))
SPECIAL = [
	# Begun early, since they take long.
	Special("unit/placement_programs", "quick", "", 15),
	Special("unit/placement", "quick", "", 10),
	Special("unit/store_damaged", "quick", "", 10),
	Special("unit/store", "quick", "", 10),
	Special("unit/elf", "quick", "", 4),
	Special("unit/displaced", "quick", "", 3),
	Special("captures/h100-real", "check", "", 30),
	Special("integration/children", "check", "split", 30),
	Special("integration/ends", "check", "", 20),
	Special("integration/gpu_command", "check", "", 15),
	Special("integration/gpu_ends", "check", "split", 60),
	Special("integration/gpu_failures", "check", "split", 50),
	Special("integration/gpu_given_up", "check", "split", 60),
	Special("integration/gpu_memory", "check", "split", 40),
	Special("integration/gpu_odd", "check", "split", 60),
	Special("integration/go", "check", "split", 60),
	Special("integration/go:waits_of_go_1_24", "languages", "", 20),
	Special("integration/go:samples_beside_the_collector_of_go_1_21", "languages", "", 20),
	Special("integration/gpu_go", "check", "split", 60),
	Special("integration/gpu_go:a_service_of_the_first_go_whose_runtime_has_frames", "languages", "", 20),
	Special("integration/gpu_go:forty_recordings_of_the_newest_go_under_load", "languages", "", 120),
	Special("integration/gpu_hostile", "check", "split", 25),
	Special("integration/gpu_options", "check", "split", 30),
	Special("integration/gpu_others", "check", "split", 90),
	Special("integration/gpu_others:a_cupti_that_never_tells_of_that_call_is_not", "check", "", 40),
	Special("integration/gpu_takeovers", "takeovers", "split", 400),
	Special("integration/gpu_takeovers:takeovers_at_random_moments", "check", "", 20),
	Special("integration/inject_frozen", "check", "split", 70),
	Special("integration/inject_given_up", "check", "split", 15),
	Special("integration/inject_waits", "check", "split", 30),
	Special("integration/kernel_sources", "check", "", 25),
	Special("integration/launch_stacks", "check", "", 60),
	Special("integration/many", "check", "split", 25),
	Special("integration/many:attached_and_detached_under_load", "check", "", 15),
	Special("integration/matmul", "check", "split", 25),
	Special("integration/nsys", "check", "split", 30),
	Special("integration/nsys:killed_while_it_writes", "check", "", 25),
	Special("integration/nvtx", "check", "split", 60),
	Special("integration/nvtx:attaching_and_detaching_under_load", "check", "", 30),
	Special("integration/perfetto", "check", "split", 10),
	Special("integration/placement", "check", "split", 20),
	Special("integration/python", "check", "split", 150),
	Special("integration/returns_exits", "check", "split", 80),
	Special("integration/returns_exits:the_truth_programs_in_every_mode", "check", "", 40),
	Special("integration/returns_programs", "check", "split", 25),
	Special("integration/safety", "check", "split", 25),
	Special("integration/samples", "check", "split", 25),
	Special("integration/serve", "check", "split", 40),
	Special("integration/targets", "check", "split", 25),
	Special("integration/usdt_arguments", "check", "", 20),
	Special("integration/walks", "check", "split", 40),
	Special("integration/walks_programs", "check", "split", 90),

	# What is judged by how much time something takes, or harmed by another tracer that leaves the same functions.
	Special("integration/children:more_probes_than_are_held_when_the_first_thread_ends", "check", "alone", 4),
	Special("integration/overhead", "check", "", 20),
	Special("integration/overhead:the_price_is_told_by_probe_and_over_time", "check", "alone", 5),
	Special("integration/overhead:the_dearest_probe_goes_and_the_others_stay", "check", "alone", 15),
	Special("integration/overhead:functions_that_share_a_link_come_back", "check", "alone", 5),
	Special("integration/overhead:counted_functions_are_switched_off_too", "check", "alone", 4),
	Special("integration/overhead:waits_are_held_to_five_percent", "check", "alone", 9),
	Special("integration/annotations:where_nobody_listens_it_costs_a_few_instructions", "check", "alone", 1),
	Special("integration/blocking:threads_that_want_one_cpu", "check", "alone", 2),

	# Every step, version and release is for the night; some of each are in check.
	Special("integration/inject_middle", "inject", "", 60),
	Special("integration/inject_middle:process_ends", "check", "", 2),
	Special("integration/inject_middle:other_program_is_started_at_some_calls", "check", "", 5),
	Special("integration/inject_middle:process_is_stopped_and_goes_on_at_some_calls", "check", "", 5),
	Special("integration/inject_old_glibc", "old-glibc", "", 30),
	Special("integration/gpu_versions", "versions", "", 20),
	Special("integration/gpu_versions:what_another_version_left_is_cleaned", "check", "", 20),
	Special("integration/agent", "check", "split", 30),
	Special("integration/agent:releases_between_are_recorded_exactly", "releases", "", 15),
	Special("integration/gpu_truth", "check", "split", 40),
	Special("integration/gpu_truth:everything_is_recorded_once_by_those_between", "releases", "", 20),

	# Languages and programs that have to be fetched or are large.
	Special("integration/returns_languages", "languages", "", 20),
	Special("integration/returns_languages:cxx_exceptions_through_python", "check", "", 4),
	Special("integration/real", "programs", "", 20),
	Special("integration/matmul:sizes_of_a_real_library", "programs", "", 30),
	Special("integration/real:redis_commands", "check", "", 4),
	Special("integration/usdt_real", "programs", "", 15),
	Special("integration/usdt_real:exceptions_by_libstdcxx", "check", "", 3),
	Special("integration/placement_programs", "programs", "", 15),
]

# name; what it is about; is it about the safety of targets; seconds after which it has failed: an idle machine needs a
# third of them.
Shard = collections.namedtuple("Shard", "name what safety limit_seconds")
SHARDS = [
	Shard("inject", "what a target does in the middle of an injection, at each of its steps", True, 300),
	Shard("languages", "targets in other languages: greenlets, Rust's panics, Go's stacks that move, C++ through Python", True, 300),
	Shard("old-glibc", "injection into programs of older systems, glibc 2.19 to 2.31", True, 300),
	Shard("versions", "two versions of gpuprobe and one target", True, 300),
	Shard("cycles-redis", "in and out of a loaded redis-server, 60 times", True, 420),
	Shard("cycles-gpu", "in and out of a service on the simulated CUDA, 60 times", True, 420),
	Shard("takeovers", "other users of CUPTI that come at 1,000 moments", True, 1500),
	Shard("releases", "every release of CUPTI that is simulated", False, 300),
	Shard("programs", "Redis, PostgreSQL, CPython, node: counted against what they count", False, 300),
	Shard("fuzz", f"every reader of foreign bytes, {LONG_FUZZ_SECONDS} s each", False, 8 * LONG_FUZZ_SECONDS + 120),
	*(Shard(f"kernel-{kernel}", f"Linux {kernel} under qemu", False, 1200) for kernel in KERNELS),
	*(Shard(f"packages-{release}", f"the packages in a bare Debian {release}: built, installed, used, removed", False, 1200)
	  for release in RELEASES),
]
