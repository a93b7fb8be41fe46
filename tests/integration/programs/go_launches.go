// SPDX-License-Identifier: GPL-2.0-or-later

// A service in Go that launches kernels of the simulated CUDA by cgo: so many goroutines launch, each every few ms, until stdin ends; others
// compute, and make garbage, so that threads are preempted. It says how many were launched.
//
//	go_launches LAUNCHERS OTHERS
package main

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>

struct size { unsigned x, y, z; };
typedef int launch_function(const void *, struct size, struct size, void **, size_t, void *);

static const char kernel;
static launch_function *launch;
static int (*synchronize)(void);

static int prepare(void)
{
	void *library = dlopen("libcudart.so.13", RTLD_NOW);
	void (*make)(void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *);
	if (!library)
		return 1;
	make = dlsym(library, "__cudaRegisterFunction");
	launch = dlsym(library, "cudaLaunchKernel");
	synchronize = dlsym(library, "cudaDeviceSynchronize");
	if (make)
		make(NULL, (const char *)&kernel, (char *)"go_kernel", "go_kernel", -1, 0, 0, 0, 0, 0);
	return !launch || !synchronize;
}

static int run_kernel(void)
{
	struct size one = {1, 1, 1};

	return launch(&kernel, one, one, 0, 0, 0) || synchronize();
}
*/
import "C"

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

var launched, failed int64

//go:noinline
func launches() {
	if C.run_kernel() == 0 {
		atomic.AddInt64(&launched, 1)
	} else {
		atomic.AddInt64(&failed, 1)
	}
}

//go:noinline
func serves() {
	for {
		launches()
		time.Sleep(3 * time.Millisecond)
	}
}

var kept [100][]byte

func computes(seed int) {
	for i := seed; ; i++ {
		if i%1000 == 0 {
			kept[(i/1000)%100] = make([]byte, 1000+i%50000)
		}
	}
}

func main() {
	launchers, _ := strconv.Atoi(os.Args[1])
	others, _ := strconv.Atoi(os.Args[2])
	if C.prepare() != 0 {
		fmt.Println("no CUDA")
		os.Exit(1)
	}
	for i := 0; i < launchers; i++ {
		go serves()
	}
	for i := 0; i < others; i++ {
		go computes(i)
	}
	fmt.Println("ready")
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		fmt.Println(atomic.LoadInt64(&launched), atomic.LoadInt64(&failed))
	}
}
