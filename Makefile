# SPDX-License-Identifier: GPL-2.0-or-later
# Build of gpuprobe: one file that needs nothing but glibc. `make help` lists the targets, V=1 shows commands.
# Built for Debian 12, Debian 13, Ubuntu 24.04; scripts/deps.sh knows the packages.
B := build

ifeq ($(origin CC),default)
CC := gcc
endif
CLANG        ?= clang
# Compiles again only what it has not compiled yet, where it is installed; CCACHE= does without.
CCACHE       ?= $(if $(findstring ccache,$(CC)),,$(shell command -v ccache 2>/dev/null))
CFLAGS       ?= -O2 -g
# FORTIFY needs an optimizing compiler; some distributions' compilers define it themselves.
HARDENING    ?= -fPIE -fstack-protector-strong $(if $(filter -O0,$(CFLAGS)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
HARDENING_LD ?= -pie -Wl,-z,relro,-z,now,-z,noexecstack
PREFIX       ?= /usr/local
# What is installed has no symbols; STRIP= keeps them.
STRIP        ?= strip
ZSH_COMPLETIONS ?= $(PREFIX)/share/zsh/site-functions
FUZZ_SECONDS ?= 60
# Ubuntu's /usr/sbin/bpftool is a script that wants the tools of the running kernel: the program itself first.
BPFTOOL      ?= $(firstword $(wildcard /usr/lib/linux-tools/*/bpftool) $(wildcard /usr/sbin/bpftool) bpftool)

# Quiet: one short line a command.
ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-8s %s\n' '$(1)' '$(2)'
endif

# WITHOUT=serve leaves a verb out of the program, with all that only it needs.
WITHOUT      ?=
ifneq ($(filter-out serve,$(WITHOUT)),)
$(error WITHOUT=$(WITHOUT): what can be left out is serve)
endif
ifneq ($(filter serve,$(WITHOUT)),)
WITHOUT_SERVE := -DWITHOUT_SERVE
LEFT_OUT      := $(B)/obj/userspace/verbs/serve/% $(B)/obj/userspace/net/grpc_% $(B)/obj/userspace/net/profiler_% $(B)/obj/gen/profiler_service.pb-c.o
LEFT_OUT_LIBS := -lnghttp2
endif

WARNINGS    := -Wall -Wextra -Werror -Wno-unused-parameter -Wmissing-prototypes -Wshadow
DEFINES     := -D_GNU_SOURCE -Iuserspace -I. -I$(B)/gen -DAGENT_LIBRARY_FILE='"$(B)/agent.so"'
BASE_CFLAGS := -std=gnu11 $(WARNINGS) $(DEFINES) $(CPPFLAGS)
TOOL_CFLAGS := $(HARDENING) $(WITHOUT_SERVE) $(CFLAGS)
TOOL_LDFLAGS := $(CFLAGS) $(HARDENING_LD) $(LDFLAGS)

PROTOS      := $(wildcard exporters/*/*.proto userspace/net/*.proto)
PROTO_NAMES := $(basename $(notdir $(PROTOS)))
GENERATED   := $(B)/gen/gpuprobe.skel.h $(B)/gen/system_calls.inc $(PROTO_NAMES:%=$(B)/gen/%.pb-c.h)
SOURCES     := $(filter-out userspace/main.c,$(wildcard userspace/*/*.c userspace/*/*/*.c)) $(wildcard exporters/*.c exporters/*/*.c)
# Of messages: generated, as gen/NAME.pb-c.c.
PB_OBJECTS   = $(PROTO_NAMES:%=$(1)/gen/%.pb-c.o)
OBJECTS     := $(filter-out $(LEFT_OUT),$(SOURCES:%.c=$(B)/obj/%.o) $(call PB_OBJECTS,$(B)/obj))
# The file that defines the maps goes first: the linker of libbpf 1.4 loses their offsets otherwise.
BPF_SOURCES := $(wildcard bpf/maps.bpf.c) $(filter-out bpf/maps.bpf.c,$(wildcard bpf/*.bpf.c))
BPF_OBJECTS := $(BPF_SOURCES:bpf/%.bpf.c=$(B)/bpf/%.bpf.o)

# What archives need varies by distribution (elfutils 0.189 and later: zstd), so further ones are named where they
# are installed; the linker takes nothing from an archive that nobody needs.
have_archive = $(if $(filter /%,$(shell $(CC) -print-file-name=lib$(1).a 2>/dev/null)),-l$(1))
LIBS := -lbpf -ldw -lelf -lcapstone -ljansson -lprotobuf-c -lnghttp2 -lsqlite3 -liberty -lz -llzma -lbz2 $(call have_archive,zstd)
# Our own archive once more behind them: elf/elfutils_search.c is for archives that lack it (elfutils 0.192).
STATIC_LIBS = -static-libgcc -Wl,-Bstatic $(filter-out $(LEFT_OUT_LIBS),$(LIBS)) $(B)/libgpuprobe.a -Wl,-Bdynamic -lpthread -ldl -lm

.PHONY: all
all: $(B)/gpuprobe ## build build/gpuprobe (the default)

$(B)/gpuprobe: $(B)/obj/userspace/main.o $(B)/libgpuprobe.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(TOOL_LDFLAGS) -o $@ $^ $(STATIC_LIBS)

$(B)/libgpuprobe.a: $(OBJECTS)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

# $(call keep,COMMAND): what it prints becomes the target; the same as before leaves the target as old as it is.
keep = mkdir -p $(@D) && { $(1); } >$@.new && if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

# What --version says: asked in every build; a change compiles one file.
$(B)/gen/version.inc: FORCE
	@$(call keep,echo "\"$$(scripts/version.sh)\"")

# With what the tool is compiled and linked: another compiler or option, and all of it is made again.
$(B)/gen/flags: FORCE
	@$(call keep,printf '%s\n' '$(subst ','\'',$(CC) $(BASE_CFLAGS) $(TOOL_CFLAGS) $(TOOL_LDFLAGS))')

.PHONY: FORCE
FORCE:

$(B)/obj/userspace/base/version.o: $(B)/gen/version.inc
$(B)/obj/userspace/base/version.o: private TOOL_CFLAGS += -DVERSION_FILE='"version.inc"'

# The numbers of system calls, of the headers that are here.
$(B)/gen/system_calls.inc:
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)echo '#include <asm/unistd.h>' | $(CC) -E -dM - | sed -nE 's/^#define __NR_([a-z0-9_]+) ([0-9]+)$$/[\2] = "\1",/p' | sort -V > $@

vpath %.proto $(sort $(dir $(PROTOS)))
$(B)/gen/%.pb-c.c $(B)/gen/%.pb-c.h: %.proto
	@mkdir -p $(@D)
	$(call say,PROTO,$<)
	$(Q)protoc-c --proto_path=$(<D) --c_out=$(B)/gen $<

$(B)/obj/%.o: %.c $(B)/gen/flags | $(GENERATED)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CCACHE) $(CC) $(BASE_CFLAGS) $(TOOL_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/obj/%.o: $(B)/%.c $(B)/gen/flags | $(GENERATED)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CCACHE) $(CC) $(BASE_CFLAGS) $(TOOL_CFLAGS) -MMD -MP -c -o $@ $<

# ---- BPF: every source an object, all objects one skeleton -----------------------------------------
BPF_ARCH_x86_64  := x86
BPF_ARCH_aarch64 := arm64
BPF_CFLAGS := -target bpf -g -O2 -Wall -Wextra -Werror -Wno-unused-parameter \
	-D__TARGET_ARCH_$(BPF_ARCH_$(shell uname -m)) -I/usr/include/$(shell $(CC) -print-multiarch 2>/dev/null)

# What is changed and asked for in one step, from Linux 5.12 on.
$(B)/bpf/heap.bpf.o $(B)/bpf/sleepers.bpf.o: BPF_CFLAGS += -mcpu=v3

$(B)/bpf/%.bpf.o: bpf/%.bpf.c
	@mkdir -p $(@D)
	$(call say,BPF,$<)
	$(Q)$(CCACHE) $(CLANG) $(BPF_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/bpf/gpuprobe.bpf.o: $(BPF_OBJECTS)
	$(call say,BPFLINK,$@)
	$(Q)$(BPFTOOL) gen object $@ $^

$(B)/gen/gpuprobe.skel.h: $(B)/bpf/gpuprobe.bpf.o
	@mkdir -p $(@D)
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name gpuprobe_bpf > $@

# ---- the agent: a library for other people's processes, which needs nothing but what their libc has anyway -----
# It is linked against nothing: so it asks for no version of a symbol, and loads on glibc 2.17 as on the newest.
AGENT_C_FILES := gpu/agent.c $(wildcard $(addsuffix /*.c,gpu/base gpu/cupti gpu/nvtx gpu/resident gpu/stacks))
AGENT_SOURCES := $(AGENT_C_FILES) gpu/resident/resident_$(shell uname -m).S
AGENT_OBJECTS := $(patsubst %,$(B)/agent/%.o,$(basename $(AGENT_SOURCES)))
AGENT_CFLAGS  := -std=gnu11 $(WARNINGS) -D_GNU_SOURCE $(CPPFLAGS) -U_FORTIFY_SOURCE -O2 -g -fPIC -fvisibility=hidden -ffreestanding \
	-fno-stack-protector -fno-tree-loop-distribute-patterns -fno-asynchronous-unwind-tables
AGENT_LDFLAGS := -nostdlib -shared -Wl,-soname,gpuprobe-agent.so -Wl,-z,now,-z,noexecstack,--build-id -Wl,--strip-all

$(B)/agent/%.o: %.c
	@mkdir -p $(@D)
	$(call say,AGENT,$<)
	$(Q)$(CCACHE) $(CC) $(AGENT_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/agent/%.o: %.S
	@mkdir -p $(@D)
	$(call say,AGENT,$<)
	$(Q)$(CC) -MMD -MP -c -o $@ $<

$(B)/agent.so: $(AGENT_OBJECTS) scripts/check-agent.sh
	$(call say,LINK,$@)
	$(Q)$(CC) $(AGENT_LDFLAGS) -o $@ $(AGENT_OBJECTS)
	$(Q)scripts/check-agent.sh $@

# It travels inside gpuprobe.
$(foreach objects,obj san fuzz/obj,$(B)/$(objects)/userspace/inject/agent_library.o): $(B)/agent.so

# ---- what programs use of their own will to annotate themselves: gpuprobe.h, and a Python module with its probes inside ----
$(B)/annotate/gpuprobe_python.so: gpu/annotate/gpuprobe_python.c gpu/annotate/gpuprobe.h
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) -std=gnu11 $(WARNINGS) -O2 -fPIC -fvisibility=hidden -fno-asynchronous-unwind-tables -nostdlib -shared -Wl,--strip-all \
		-Wl,-z,noexecstack,-z,now,--build-id -Wl,-soname,gpuprobe_python.so -o $@ $<

$(B)/annotate/gpuprobe.py: gpu/annotate/gpuprobe.py $(B)/annotate/gpuprobe_python.so scripts/embed-library.py
	$(call say,GEN,$@)
	$(Q)python3 scripts/embed-library.py $^ > $@.new && mv $@.new $@

.PHONY: annotate
annotate: $(B)/annotate/gpuprobe.py ## build build/annotate/gpuprobe.py, for Python programs

# ---- tests: sanitizers on, no root -----------------------------------------------------------------
SANITIZE    := -fsanitize=address,undefined -fno-sanitize-recover=undefined -O1 -g -fno-omit-frame-pointer
UNIT        := $(patsubst tests/unit/test_%.c,$(B)/unit/test_%,$(wildcard tests/unit/test_*.c))
# Of the agent too, but for what replaces libc's functions.
SAN_SOURCES := $(SOURCES) $(filter-out gpu/base/freestanding.c,$(AGENT_C_FILES))
SAN_OBJECTS := $(SAN_SOURCES:%.c=$(B)/san/%.o) $(call PB_OBJECTS,$(B)/san) $(B)/agent/gpu/resident/resident_$(shell uname -m).o

$(B)/san/%.o: %.c | $(GENERATED)
	@mkdir -p $(@D)
	$(call say,SAN,$<)
	$(Q)$(CCACHE) $(CC) $(BASE_CFLAGS) $(SANITIZE) -MMD -MP -c -o $@ $<

$(B)/san/%.o: $(B)/%.c | $(GENERATED)
	@mkdir -p $(@D)
	$(call say,SAN,$<)
	$(Q)$(CCACHE) $(CC) $(BASE_CFLAGS) $(SANITIZE) -MMD -MP -c -o $@ $<

$(B)/libgpuprobe-san.a: $(SAN_OBJECTS)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

# CUPTI's headers, those that the simulated CUDA is built with: a test compares our table of offsets with them.
CUPTI_CFLAGS = $(addprefix -isystem ,$(SIM_INCLUDE))

$(B)/unit/test_%: tests/unit/test_%.c $(B)/libgpuprobe-san.a
	@mkdir -p $(@D)
	$(call say,UNIT,$<)
	$(Q)$(CC) $(BASE_CFLAGS) $(SANITIZE) -Itests/unit $(CUPTI_CFLAGS) -MMD -MP -o $@ $< $(B)/libgpuprobe-san.a $(LIBS) -lpthread -ldl -lm

.PHONY: unit
unit: $(UNIT) ## build the unit tests (build/unit/test_*)

# Programs that the benches record. Those of the integration tests are built by the tests, each in its own ways.
BENCH := $(patsubst tests/bench/programs/%.c,$(B)/bench/%,$(wildcard tests/bench/programs/*.c))

# Of the agent's own objects, as they are in the library.
$(B)/bench/agent_work: tests/bench/programs/agent_work.c $(AGENT_OBJECTS)
	@mkdir -p $(@D)
	$(call say,BENCH,$@)
	$(Q)$(CC) -std=gnu11 $(WARNINGS) -D_GNU_SOURCE -O2 -g -o $@ $^

$(B)/bench/%: tests/bench/programs/%.c
	@mkdir -p $(@D)
	$(call say,BENCH,$<)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unused-parameter -O2 -g -MMD -MP -o $@ $< -lpthread

.PHONY: bench-programs
bench-programs: $(BENCH)

# ---- fuzzing: the same sources by clang, one program a reader --------------------------------------
FUZZ          := $(patsubst tests/fuzz/fuzz_%.c,$(B)/fuzz/fuzz_%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_OBJECTS  := $(SAN_SOURCES:%.c=$(B)/fuzz/obj/%.o) $(call PB_OBJECTS,$(B)/fuzz/obj) $(B)/agent/gpu/resident/resident_$(shell uname -m).o
FUZZ_SANITIZE := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -O1 -g -w

$(B)/fuzz/obj/%.o: %.c | $(GENERATED)
	@mkdir -p $(@D)
	$(call say,FUZZ,$<)
	$(Q)$(CCACHE) $(CLANG) -std=gnu11 $(DEFINES) $(CPPFLAGS) $(FUZZ_SANITIZE) -MMD -MP -c -o $@ $<

$(B)/fuzz/obj/%.o: $(B)/%.c | $(GENERATED)
	@mkdir -p $(@D)
	$(call say,FUZZ,$<)
	$(Q)$(CCACHE) $(CLANG) -std=gnu11 $(DEFINES) $(CPPFLAGS) $(FUZZ_SANITIZE) -MMD -MP -c -o $@ $<

$(B)/fuzz/libgpuprobe-fuzz.a: $(FUZZ_OBJECTS)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

$(B)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(B)/fuzz/libgpuprobe-fuzz.a
	@mkdir -p $(@D)
	$(call say,FUZZ,$<)
	$(Q)$(CLANG) -std=gnu11 $(DEFINES) $(CPPFLAGS) $(FUZZ_SANITIZE) -fsanitize=fuzzer -MMD -MP -o $@ $< \
		$(B)/fuzz/libgpuprobe-fuzz.a $(LIBS) -lpthread -ldl -lm

.PHONY: fuzz-programs
fuzz-programs: $(FUZZ)

# ---- static analysis by the compiler: a file is looked at again when it, or what it includes, has changed -------------
# Every gcc finds other things: Debian 12's is the one that counts. What it does not understand is switched off:
#   malloc-leak               memory that a structure of the caller's keeps, through reallocarray or an out-parameter, is
#                             lost to it. LeakSanitizer looks for leaks in the unit tests.
#   mismatching-deallocation  it does not know reallocarray as a twin of realloc.
#   null-dereference, null-argument, use-of-uninitialized-value
#                             it does not know that err_set and err_errno return what they are given, and takes -errno for 0:
#                             so it sees successes that left nothing in the out-parameter.
ANALYZER_VERSION := 12
ANALYZER_CFLAGS  := -O2 -fanalyzer $(addprefix -Wno-analyzer-,malloc-leak mismatching-deallocation null-dereference \
	null-argument use-of-uninitialized-value)
ANALYZED := $(patsubst %.c,$(B)/analyze/%.ok,$(SOURCES) userspace/main.c $(AGENT_C_FILES))

$(B)/analyze/gpu/%.ok: SOURCE_CFLAGS = $(AGENT_CFLAGS)
$(B)/analyze/%.ok: SOURCE_CFLAGS = $(BASE_CFLAGS)
$(B)/analyze/%.ok: %.c | $(GENERATED)
	@mkdir -p $(@D)
	$(call say,ANALYZE,$<)
	$(Q)$(CC) $(SOURCE_CFLAGS) $(ANALYZER_CFLAGS) -MMD -MP -MF $(@:.ok=.d) -MT $@ -S -o /dev/null $<
	$(Q)touch $@

.PHONY: analyze
ifeq ($(shell $(CC) -dumpversion | cut -d. -f1),$(ANALYZER_VERSION))
analyze: $(ANALYZED) ## run gcc's static analysis (a part of lint)
else
analyze:
	@echo "not analyzed: that takes gcc $(ANALYZER_VERSION), here is $$($(CC) -dumpversion)"
endif

include tests/sim/sim.mk

# ---- what a user calls -----------------------------------------------------------------------------
# deps.sh may install the compiler, so what follows it runs in a make of its own.
JOBS := $(shell nproc 2>/dev/null || echo 2)
SUBMAKE := $(MAKE) --no-print-directory $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(JOBS))

.PHONY: deps
deps: ## install the packages that the build needs (WITH="demo test lint bench" for more)
	$(Q)scripts/deps.sh build $(WITH)

.PHONY: demo
demo: ## install what is missing, build, record a redis-server of its own and a GPU (root)
	$(Q)scripts/deps.sh build demo
	$(Q)scripts/deps.sh sim || echo "going on with what is here" >&2
	$(Q)$(SUBMAKE) all sim
	$(Q)scripts/demo.sh

.PHONY: quick
quick: ## build, run unit and golden tests and what of lint needs but Python: about a minute, nothing is installed
	$(Q)$(SUBMAKE) all unit
	$(Q)tests/run -c quick

.PHONY: check
check: ## install what is missing, build, run the tests: minutes (docs/testing.md)
	$(Q)scripts/deps.sh build test
	$(Q)scripts/deps.sh sim || echo "going on without the simulated CUDA" >&2
	$(Q)$(SUBMAKE) all annotate unit fuzz-programs bench-programs sim
	$(Q)tests/run -c check

# NIGHTLY: further arguments of tests/nightly.
SHARD ?= all
.PHONY: nightly
nightly: ## the tests that take long, in shards (SHARD=NAME, tests/nightly --list names them)
	$(Q)scripts/deps.sh build test
	$(Q)scripts/deps.sh sim || echo "going on without the simulated CUDA" >&2
	$(Q)scripts/deps.sh kernels || echo "going on without other kernels" >&2
	$(Q)$(SUBMAKE) all annotate fuzz-programs sim
	$(Q)tests/nightly $(NIGHTLY) $(SHARD)

# Not part of check: it needs packages of 110 MB and minutes. What cannot be had is a SKIP.
.PHONY: check-kernels
check-kernels: ## boot Debian's kernels 6.1, 6.12, 6.19, 7 under qemu, run build/gpuprobe in each
	$(Q)scripts/deps.sh build
	$(Q)scripts/deps.sh kernels || echo "going on with what is here" >&2
	$(Q)$(SUBMAKE) all
	$(Q)tests/kernels/run

.PHONY: check-gpu
check-gpu: ## on a machine with a GPU: record CUDA, PyTorch, JAX, compare with CUPTI's own numbers (root)
	$(Q)scripts/deps.sh build
	$(Q)$(SUBMAKE) all
	$(Q)tests/gpu/run

.PHONY: lab
lab: ## on a machine with a GPU: what only a card can tell, in less than eight minutes (root)
	$(Q)scripts/deps.sh build
	$(Q)$(SUBMAKE) all
	$(Q)tests/gpu/lab

.PHONY: lint
lint: ## include direction, file and function length, format, cppcheck, gcc -fanalyzer
	$(Q)scripts/deps.sh build lint
	$(Q)$(SUBMAKE) $(GENERATED) analyze
	$(Q)scripts/lint.py

.PHONY: docs
docs: $(B)/gpuprobe ## write docs/options.md, and the table of records into build/docs
	$(Q)$(B)/gpuprobe help markdown >$(B)/options.md && cat $(B)/options.md >docs/options.md
	$(Q)mkdir -p $(B)/docs && $(B)/gpuprobe help records >$(B)/docs/records.md

# A page for the program and one for each verb of options.def.
VERB_NAMES := $(filter-out $(WITHOUT),$(shell sed -nE 's/^VERB.[A-Z]+, "([a-z]+)".*/\1/p' userspace/options/options.def))
MAN_PAGES  := $(B)/man/gpuprobe.1 $(VERB_NAMES:%=$(B)/man/gpuprobe-%.1)

$(B)/man/gpuprobe.1: $(B)/gpuprobe
	@mkdir -p $(@D)
	$(call say,MAN,$@)
	$(Q)$< help man >$@

$(B)/man/gpuprobe-%.1: $(B)/gpuprobe
	@mkdir -p $(@D)
	$(call say,MAN,$@)
	$(Q)$< help man $* >$@

.PHONY: man
man: $(MAN_PAGES) ## build the manual pages: build/man

.PHONY: conformance
conformance: $(B)/gpuprobe $(B)/annotate/gpuprobe.py ## judge our traces by the real Perfetto, PyTorch's reader, XProf (node, pip; CAPTURES="a.gpr ...")
	$(Q)tests/conformance/run $(CAPTURES)

.PHONY: bench
bench: ## measure the cost of recording and the speed of export (root)
	$(Q)scripts/deps.sh build demo bench
	$(Q)$(SUBMAKE) all bench-programs $(B)/unit/test_unwind_oracle
	$(Q)tests/bench/run

.PHONY: fuzz
fuzz: ## fuzz every reader of foreign bytes, FUZZ_SECONDS=60 each
	$(Q)scripts/deps.sh build test
	$(Q)$(SUBMAKE) fuzz-programs
	$(Q)tests/fuzz/run $(FUZZ_SECONDS)

# What has to go along with a program that these libraries are linked into.
$(B)/third-party-notices.txt: docs/third-party.md scripts/third-party-notices.sh
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)CC="$(CC)" scripts/third-party-notices.sh >$@

.PHONY: install
install: $(B)/gpuprobe $(B)/annotate/gpuprobe.py $(B)/third-party-notices.txt $(MAN_PAGES) ## install program, manual pages, completion, gpuprobe.h and gpuprobe.py below $(DESTDIR)$(PREFIX)
	$(call say,INSTALL,$(DESTDIR)$(PREFIX)/bin/gpuprobe)
	$(Q)install -D -m 0755 $(if $(STRIP),-s --strip-program=$(STRIP)) $(B)/gpuprobe $(DESTDIR)$(PREFIX)/bin/gpuprobe
	$(Q)$(B)/gpuprobe completion bash > $(B)/gen/completion.bash
	$(Q)$(B)/gpuprobe completion zsh > $(B)/gen/completion.zsh
	$(Q)install -D -m 0644 $(B)/gen/completion.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/gpuprobe
	$(Q)install -D -m 0644 $(B)/gen/completion.zsh $(DESTDIR)$(ZSH_COMPLETIONS)/_gpuprobe
	$(Q)install -d $(DESTDIR)$(PREFIX)/share/man/man1
	$(Q)install -m 0644 $(MAN_PAGES) $(DESTDIR)$(PREFIX)/share/man/man1
	$(Q)install -d $(DESTDIR)$(PREFIX)/share/doc/gpuprobe
	$(Q)install -m 0644 LICENSE LICENSES/MIT.txt docs/third-party.md $(B)/third-party-notices.txt $(DESTDIR)$(PREFIX)/share/doc/gpuprobe
	$(Q)install -D -m 0644 gpu/annotate/gpuprobe.h $(DESTDIR)$(PREFIX)/include/gpuprobe.h
	$(Q)install -D -m 0644 $(B)/annotate/gpuprobe.py $(DESTDIR)$(PREFIX)/share/gpuprobe/python/gpuprobe.py

include scripts/package.mk

.PHONY: clean
clean: ## remove build/
	$(Q)rm -rf $(B)

.PHONY: help
help: ## this list
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

.DELETE_ON_ERROR:
.SECONDARY:
-include $(OBJECTS:.o=.d) $(SAN_OBJECTS:.o=.d) $(FUZZ_OBJECTS:.o=.d) $(BPF_OBJECTS:.o=.d) $(AGENT_OBJECTS:.o=.d) \
	$(ANALYZED:.ok=.d) $(B)/obj/userspace/main.d $(UNIT:=.d) $(BENCH:=.d) $(FUZZ:=.d)
