/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The load that the tests of the simulated CUPTI put on the driver, and what they expect with. */
#ifndef SIM_TEST_LOAD_H
#define SIM_TEST_LOAD_H

#include <stdio.h>
#include <cuda.h>

#define LAUNCHES 300
#define COPIES	 40
#define SETS	 20
#define GRAPHS	 10
#define GRAPH_KERNELS 3
#define BYTES	 65536

extern unsigned failures;

#define EXPECT(condition)                                                        \
	do {                                                                     \
		if (!(condition)) {                                              \
			printf("# %s:%d: %s\n", __FILE__, __LINE__, #condition); \
			failures++;                                              \
		}                                                                \
	} while (0)
#define EXPECT_EQUAL(left, right)                                                                 \
	do {                                                                                      \
		unsigned long long left_value = (unsigned long long)(left),                       \
				   right_value = (unsigned long long)(right);                     \
		if (left_value != right_value) {                                                  \
			printf("# %s:%d: %s is %llu, not %s = %llu\n", __FILE__, __LINE__, #left, \
			       left_value, #right, right_value);                                  \
			failures++;                                                               \
		}                                                                                 \
	} while (0)

struct load {
	CUcontext context;
	CUstream streams[2];
	CUfunction function;
	CUdeviceptr memory;
	void *host;
	CUgraphExec graph;
};

/* A context, streams, memory and a graph of GRAPH_KERNELS nodes on device 0. */
void prepare(struct load *load);
/* LAUNCHES kernels, COPIES + 1 copies, SETS sets, GRAPHS launches of the graph, two synchronizations. */
void work(struct load *load);

struct test_case {
	const char *name;
	void (*run)(void);
	const char *knob, *value; /* in the environment of its process */
};

/* Runs each case in a process of its own; a line "ok NAME" or "not ok NAME" each. The program's exit status. */
int run_cases(const struct test_case *cases, size_t count);

#endif
