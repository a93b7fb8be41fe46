// SPDX-License-Identifier: GPL-2.0-or-later

// A service in Go that launches kernels of the simulated CUDA by cgo: so many goroutines launch, each every few ms, until stdin ends; others
// compute, and make garbage, so that threads are preempted. It says who calls what launches (runtime.Callers, innermost first, up to where the
// goroutine began), "ready", then how many were launched.
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
	"runtime"
	"strconv"
	"sync/atomic"
	"time"
)

var launched, failed int64
var told = make(chan []uintptr, 1)

//go:noinline
func launches() {
	addresses := make([]uintptr, 50)
	select {
	case told <- addresses[:runtime.Callers(2, addresses)]:
	default:
	}
	if C.run_kernel() == 0 {
		atomic.AddInt64(&launched, 1)
	} else {
		atomic.AddInt64(&failed, 1)
	}
}

// On a stack that grows at first, and so is moved.
//
//go:noinline
func descends(depth int) int {
	var local [1000]byte

	local[depth] = 1
	if depth == 0 {
		launches()
		return int(local[0])
	}
	return descends(depth-1) + int(local[depth])
}

//go:noinline
func serves() {
	for {
		descends(5)
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
	for _, address := range <-told {
		fmt.Printf("%#x ", address)
	}
	fmt.Println("\nready")
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		fmt.Println(atomic.LoadInt64(&launched), atomic.LoadInt64(&failed))
	}
}
