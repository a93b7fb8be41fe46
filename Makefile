# Build of gpuprobe: one statically linked file. `make help` lists the targets.
CC      ?= gcc
CLANG   ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
B       := build

CFLAGS   ?= -O2 -g
WARNINGS := -Wall -Wextra -Werror -Wno-unused-parameter -Wmissing-prototypes -Wshadow
CPPFLAGS += -D_GNU_SOURCE -Iuserspace -I. -I$(B)/gen
BASE_CFLAGS := -std=gnu11 $(WARNINGS) $(CPPFLAGS)

SOURCES := $(filter-out userspace/main.c,$(wildcard userspace/*/*.c)) $(wildcard exporters/*.c)
OBJECTS := $(SOURCES:%.c=$(B)/obj/%.o)
BPF_SOURCES := $(wildcard bpf/*.bpf.c)
LIBS := -lbpf -ldw -lelf -lcapstone -ljansson -liberty -lz -llzma -lbz2

.PHONY: all
all: $(B)/gpuprobe

$(B)/gpuprobe: $(B)/obj/userspace/main.o $(B)/libgpuprobe.a
	$(CC) $(CFLAGS) -o $@ $^ -Wl,-Bstatic $(LIBS) -Wl,-Bdynamic -lpthread -ldl

$(B)/libgpuprobe.a: $(OBJECTS)
	rm -f $@ && ar rcs $@ $^

$(B)/obj/%.o: %.c | $(B)/gen/gpuprobe.skel.h
	@mkdir -p $(@D)
	$(CC) $(BASE_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/bpf/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h bpf/*.def)
	@mkdir -p $(@D)
	$(CLANG) -target bpf -g -O2 -Wall -Wextra -Werror -Wno-unused-parameter -D__TARGET_ARCH_x86 \
		-I/usr/include/x86_64-linux-gnu -c -o $@ $<

$(B)/bpf/gpuprobe.bpf.o: $(BPF_SOURCES:bpf/%.bpf.c=$(B)/bpf/%.bpf.o)
	$(BPFTOOL) gen object $@ $^

$(B)/gen/gpuprobe.skel.h: $(B)/bpf/gpuprobe.bpf.o
	@mkdir -p $(@D)
	$(BPFTOOL) gen skeleton $< name gpuprobe_bpf > $@

# ---- unit tests: sanitizers on, no root ------------------------------------------------------------
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined -O1 -g -fno-omit-frame-pointer
UNIT := $(patsubst tests/unit/test_%.c,$(B)/unit/test_%,$(wildcard tests/unit/test_*.c))
SAN_OBJECTS := $(SOURCES:%.c=$(B)/san/%.o)

$(B)/san/%.o: %.c | $(B)/gen/gpuprobe.skel.h
	@mkdir -p $(@D)
	$(CC) $(BASE_CFLAGS) $(SANITIZE) -MMD -MP -c -o $@ $<

$(B)/libgpuprobe-san.a: $(SAN_OBJECTS)
	rm -f $@ && ar rcs $@ $^

$(B)/unit/test_%: tests/unit/test_%.c $(B)/libgpuprobe-san.a
	@mkdir -p $(@D)
	$(CC) $(BASE_CFLAGS) $(SANITIZE) -Itests/unit -MMD -MP -o $@ $< $(B)/libgpuprobe-san.a $(LIBS) -lpthread -ldl

.PHONY: unit
unit: $(UNIT)

.PHONY: clean
clean:
	rm -rf $(B)

.DELETE_ON_ERROR:
.SECONDARY:
-include $(OBJECTS:.o=.d) $(SAN_OBJECTS:.o=.d) $(B)/obj/userspace/main.d $(UNIT:=.d)
