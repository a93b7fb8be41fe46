# SPDX-License-Identifier: GPL-2.0-or-later
# The simulated CUDA driver, runtime and CUPTI (tests/sim/README.md). Included by the Makefile.
SIM := $(B)/sim
# CUDA 13 headers: the toolkit, or what `scripts/deps.sh sim` put into build/sim/headers.
SIM_INCLUDE := $(patsubst %/cupti.h,%,$(firstword $(wildcard $(CUDA_HOME)/include/cupti.h \
	/usr/local/cuda/include/cupti.h $(SIM)/headers/nvidia/cu13/include/cupti.h)))
SIM_CFLAGS := -std=gnu11 -Wall -Wextra -Werror -Wno-unused-parameter -Wno-deprecated-declarations -Wmissing-prototypes -Wshadow -D_GNU_SOURCE -isystem $(SIM_INCLUDE) -fPIC -g -O2
# Functions of the APIs begin as those of the real libcudart do: push %rbp.
SIM_ENTRIES := -fno-omit-frame-pointer -fno-shrink-wrap -fno-schedule-insns2
SIM_DRIVER  := $(wildcard tests/sim/driver/*.c)
SIM_RUNTIME := $(wildcard tests/sim/runtime/*.c)
SIM_CUPTI   := $(wildcard tests/sim/cupti/*.c)
SIM_VERSIONS := 11.8 12.0 12.2 12.3 12.4 12.5 12.6 12.8 12.9 13.0 13.1 13.2 13.3 13.4 13.5
SIM_PROFILERS := $(addprefix $(SIM)/profilers/,libtorch_cpu.so xla_cuda_plugin.so libproton.so cupti.cpython-311-x86_64-linux-gnu.so)
SIM_TESTS := $(patsubst tests/sim/test/%.c,$(SIM)/test/%,$(wildcard tests/sim/test/test_*.c))

# 11.8 has its minor in the name of the library, the others have not.
sim_soname = libcupti.so.$(if $(filter 11.%,$(1)),$(1),$(basename $(1)))
sim_cupti  = $(SIM)/cupti-$(1)/$(call sim_soname,$(1))

.PHONY: sim
sim: ## build the simulated CUDA of the tests (build/sim)
ifeq ($(SIM_INCLUDE),)
sim:
	@echo "sim: skipped, no CUDA 13 headers: install the toolkit, or run scripts/deps.sh sim" >&2
else
sim: $(SIM)/libcuda.so.1 $(SIM)/libnvidia-ml.so.1 $(SIM)/libcudart.so.13 $(foreach v,$(SIM_VERSIONS),$(call sim_cupti,$(v))) $(SIM)/sim-train $(SIM)/sim-matmul $(SIM)/other-cublaslt/libcublasLt.so.13 $(SIM)/hostile-cublaslt/libcublasLt.so.13 $(SIM_PROFILERS) $(SIM_TESTS) $(SIM)/site-packages
endif

$(SIM)/driver/driver_api.h: $(SIM_DRIVER) tests/sim/generate_api.py
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)python3 tests/sim/generate_api.py driver $(SIM_INCLUDE) $(SIM_DRIVER) --header $@ --source $(SIM)/driver/driver_api.c

$(SIM)/runtime/runtime_api.h: $(SIM_RUNTIME) tests/sim/generate_api.py
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)python3 tests/sim/generate_api.py runtime $(SIM_INCLUDE) $(SIM_RUNTIME) --header $@ --source $(SIM)/runtime/runtime_api.c

# The real headers declare what is generated, so that a wrong signature is an error.
$(SIM)/driver/driver_api.o: $(SIM)/driver/driver_api.h tests/sim/driver/generated.h
	$(call say,CC,$@)
	$(Q)$(CCACHE) $(CC) $(SIM_CFLAGS) $(SIM_ENTRIES) -Wno-missing-prototypes -D__CUDA_API_VERSION_INTERNAL -Itests/sim/driver -I$(SIM)/driver -c -o $@ $(SIM)/driver/driver_api.c

$(SIM)/runtime/runtime_api.o: $(SIM)/runtime/runtime_api.h tests/sim/runtime/generated.h
	$(call say,CC,$@)
	$(Q)$(CCACHE) $(CC) $(SIM_CFLAGS) $(SIM_ENTRIES) -Wno-missing-prototypes -Itests/sim/runtime -I$(SIM)/runtime -c -o $@ $(SIM)/runtime/runtime_api.c

$(SIM)/driver/%.o: tests/sim/driver/%.c $(SIM)/driver/driver_api.h
	$(call say,CC,$<)
	$(Q)$(CCACHE) $(CC) $(SIM_CFLAGS) -D__CUDA_API_VERSION_INTERNAL -I$(SIM)/driver -MMD -MP -c -o $@ $<

$(SIM)/runtime/%.o: tests/sim/runtime/%.c $(SIM)/runtime/runtime_api.h
	$(call say,CC,$<)
	$(Q)$(CCACHE) $(CC) $(SIM_CFLAGS) -I$(SIM)/runtime -MMD -MP -c -o $@ $<

$(SIM)/cupti/%.o: tests/sim/cupti/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CCACHE) $(CC) $(SIM_CFLAGS) -MMD -MP -c -o $@ $<

$(SIM)/cupti/names.o: tests/sim/generate_names.py
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)python3 tests/sim/generate_names.py $(SIM_INCLUDE) >$(SIM)/cupti/names.c
	$(Q)$(CCACHE) $(CC) $(SIM_CFLAGS) -Itests/sim/cupti -c -o $@ $(SIM)/cupti/names.c

$(SIM)/libcuda.so.1: $(SIM_DRIVER:tests/sim/driver/%.c=$(SIM)/driver/%.o) $(SIM)/driver/driver_api.o tests/sim/driver/exports.map
	$(call say,LINK,$@)
	$(Q)$(CC) -shared -g -o $@ $(filter %.o,$^) -Wl,-soname,libcuda.so.1 -Wl,--version-script=tests/sim/driver/exports.map -lpthread -ldl

$(SIM)/libcudart.so.13: $(SIM_RUNTIME:tests/sim/runtime/%.c=$(SIM)/runtime/%.o) $(SIM)/runtime/runtime_api.o $(SIM)/libcuda.so.1 tests/sim/runtime/exports.map
	$(call say,LINK,$@)
	$(Q)$(CC) -shared -g -o $@ $(filter %.o,$^) -Wl,-soname,libcudart.so.13 -Wl,--version-script=tests/sim/runtime/exports.map -L$(SIM) -l:libcuda.so.1 -lpthread -ldl

# One set of objects; a version is a number, a list of exported functions and a soname.
define sim_cupti_rule
$(call sim_cupti,$(1)): $$(SIM_CUPTI:tests/sim/cupti/%.c=$$(SIM)/cupti/%.o) $$(SIM)/cupti/names.o tests/sim/cupti/exports.def tests/sim/generate_map.py
	@mkdir -p $$(@D)
	$$(call say,LINK,$$@)
	$$(Q)python3 tests/sim/generate_map.py $(1) tests/sim/cupti/exports.def >$$(@D)/exports.map
	$$(Q)echo 'extern const char sim_cupti_release[]; const char sim_cupti_release[] = "$(1)";' | $$(CC) -fPIC -c -x c -o $$(@D)/release.o -
	$$(Q)$$(CC) -shared -g -o $$@ $$(filter %.o,$$^) $$(@D)/release.o -Wl,-soname,$(call sim_soname,$(1)) -Wl,--version-script=$$(@D)/exports.map -lpthread -ldl
endef
$(foreach v,$(SIM_VERSIONS),$(eval $(call sim_cupti_rule,$(v))))

# Where pip's wheels of CUDA 13 put their libraries, with and without CUPTI: for sim_train.py.
$(SIM)/site-packages: $(SIM)/libcudart.so.13 $(call sim_cupti,13.0)
	$(call say,COPY,$@)
	$(Q)rm -rf $@ $@-without-cupti
	$(Q)mkdir -p $@/nvidia/cu13/lib $@-without-cupti/nvidia/cu13/lib
	$(Q)cp $^ $@/nvidia/cu13/lib
	$(Q)cp $< $@-without-cupti/nvidia/cu13/lib

$(SIM)/libnvidia-ml.so.1: tests/sim/nvml/nvml.c
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(filter-out -isystem $(SIM_INCLUDE),$(SIM_CFLAGS)) -shared -o $@ $< -Wl,-soname,libnvidia-ml.so.1

$(SIM)/sim-train: tests/sim/train.c tests/sim/train_fault.c tests/sim/train_fault.h tests/sim/train_profile.c tests/sim/train_profile.h tests/sim/profilers/profiler.h $(SIM)/libcudart.so.13 $(SIM)/libcuda.so.1
	$(call say,LINK,$@)
	$(Q)$(CC) $(filter-out -fPIC,$(SIM_CFLAGS)) -o $@ $(filter %.c,$^) -L$(SIM) -l:libcudart.so.13 -l:libcuda.so.1 -Wl,-rpath,'$$ORIGIN' -lpthread

# Other users of CUPTI, under the names of the libraries that they live in.
$(SIM)/profilers/libtorch_cpu.so: SIM_PROFILER := KINETO
$(SIM)/profilers/xla_cuda_plugin.so: SIM_PROFILER := XLA
$(SIM)/profilers/libproton.so: SIM_PROFILER := PROTON
$(SIM)/profilers/%.so: tests/sim/profilers/profiler.c tests/sim/profilers/profiler.h
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(SIM_CFLAGS) -DSIM_PROFILER=$(SIM_PROFILER) -shared -o $@ $< -Wl,-soname,$(@F) -lpthread -ldl

$(SIM)/profilers/cupti.cpython-311-x86_64-linux-gnu.so: tests/sim/profilers/sharing.c tests/sim/profilers/profiler.h
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(SIM_CFLAGS) -shared -o $@ $< -Wl,-soname,$(@F) -lpthread -ldl

# Its functions call each other as those of other libraries do, through the PLT, and none is left by a jump.
$(SIM)/libcublas.so.13: tests/sim/cublas/cublas.c tests/sim/cublas/cublas.h $(SIM)/libcudart.so.13
	$(call say,LINK,$@)
	$(Q)$(CC) $(SIM_CFLAGS) -fsemantic-interposition -fno-optimize-sibling-calls -shared -o $@ $< -Wl,-soname,libcublas.so.13 -L$(SIM) -l:libcudart.so.13

# It finds CUDA's runtime in the program: loaded alone it gives objects, as the real one does.
$(SIM)/libcublasLt.so.13: tests/sim/cublas/cublaslt.c tests/sim/cublas/cublaslt.h tests/sim/cublas/cublas.h
	$(call say,LINK,$@)
	$(Q)$(CC) $(SIM_CFLAGS) -fno-optimize-sibling-calls -shared -o $@ $< -Wl,-soname,libcublasLt.so.13

# The same with rows and columns in each other's place.
$(SIM)/other-cublaslt/libcublasLt.so.13: tests/sim/cublas/cublaslt.c tests/sim/cublas/cublaslt.h tests/sim/cublas/cublas.h
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SIM_CFLAGS) -DROWS=16 -DCOLUMNS=8 -fno-optimize-sibling-calls -shared -o $@ $< -Wl,-soname,libcublasLt.so.13

# That does what it can to whoever loads it.
$(SIM)/hostile-cublaslt/libcublasLt.so.13: tests/sim/cublas/hostile.c tests/sim/cublas/cublaslt.c tests/sim/cublas/cublaslt.h tests/sim/cublas/cublas.h
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SIM_CFLAGS) -fno-optimize-sibling-calls -shared -o $@ $(filter %.c,$^) -Wl,-soname,libcublasLt.so.13

$(SIM)/sim-matmul: tests/sim/matmul.c tests/sim/cublas/cublas.h tests/sim/cublas/cublaslt.h $(SIM)/libcublas.so.13 $(SIM)/libcublasLt.so.13 $(SIM)/libcudart.so.13
	$(call say,LINK,$@)
	$(Q)$(CC) $(filter-out -fPIC,$(SIM_CFLAGS)) -o $@ $< -Wl,--no-as-needed -L$(SIM) -l:libcublas.so.13 -l:libcublasLt.so.13 -l:libcudart.so.13 -l:libcuda.so.1 -Wl,-rpath,'$$ORIGIN'

# In the process of test_real there must be no libcuda.
$(SIM)/test/test_cupti $(SIM)/test/test_families $(SIM)/test/test_nvtx: tests/sim/test/load.c tests/sim/test/load.h
$(SIM)/test/test_cupti $(SIM)/test/test_families $(SIM)/test/test_nvtx: SIM_TEST_LIBS := -L$(SIM) -l:libcuda.so.1

$(SIM)/test/%: tests/sim/test/%.c tests/sim/test/client.c tests/sim/test/client.h tests/sim/cupti/layouts.def $(SIM)/libcuda.so.1
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(filter-out -fPIC,$(SIM_CFLAGS)) -o $@ $(filter %.c,$^) $(SIM_TEST_LIBS) -Wl,-rpath,'$$ORIGIN/..' -lpthread -ldl

-include $(wildcard $(SIM)/driver/*.d $(SIM)/runtime/*.d $(SIM)/cupti/*.d)
