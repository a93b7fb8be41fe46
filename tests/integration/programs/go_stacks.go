// SPDX-License-Identifier: GPL-2.0-or-later

// Goroutines that wait in system calls and in C, each below functions of which it prints where they are called from (runtime.Callers):
// "NAME: address/line/file ..., innermost first", then "ready". With an argument it makes garbage besides, in as many goroutines.
package main

/*
#include <time.h>

static void nap(void)
{
	struct timespec for_ms = {0, 2000000};

	nanosleep(&for_ms, 0);
}

void go_called(int depth);

static __attribute__((noinline)) void c_in_between(int depth)
{
	char room[depth * 100 + 1];

	__asm__ volatile("" : : "r"(room) : "memory");
	go_called(depth);
	__asm__ volatile("" : : "r"(room) : "memory");
}
*/
import "C"

import (
	"fmt"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

var print_lock sync.Mutex
var waiting sync.WaitGroup

// Who called the function that calls this one, of this program, and how it goes on to the goroutine's first function.
func tell(name string) {
	addresses := make([]uintptr, 500)
	var line strings.Builder
	for _, address := range addresses[:runtime.Callers(3, addresses)] {
		function := runtime.FuncForPC(address - 1)
		if strings.HasPrefix(function.Name(), "main.") {
			file, number := function.FileLine(address - 1)
			fmt.Fprintf(&line, " %#x/%d/%s", address, number, path.Base(file))
		}
	}
	print_lock.Lock()
	fmt.Println(name + ":" + line.String())
	print_lock.Unlock()
	waiting.Done()
}

//go:noinline
func sleeps(name string) {
	tell(name)
	for {
		in_call()
	}
}

//go:noinline
func in_call() {
	for_ms := syscall.Timespec{Nsec: 2000000}
	syscall.Nanosleep(&for_ms, nil)
}

//go:noinline
func sleeps_in_c(name string) {
	tell(name)
	for {
		C.nap()
	}
}

// A stack that grows, and so is moved, on the way.
//
//go:noinline
func deep(depth int, wait func(string), name string) int {
	var local [100]byte

	local[depth%100] = 1
	if depth == 0 {
		wait(name)
		return int(local[0])
	}
	return deep(depth-1, wait, name) + int(local[depth%100])
}

//go:noinline
func large(wait func(string), name string) int {
	var local [70000]byte

	local[len(name)] = 1
	wait(name)
	return int(local[len(name)])
}

//go:noinline
func defers(wait func(string), name string) (value int) {
	defer func() {
		recover()
		wait(name)
		value++
	}()
	panic(name)
}

type waiter interface{ wait(name string) int }
type inside struct{ function func(string) }

//go:noinline
func (inner inside) wait(name string) int {
	inner.function(name)
	return len(name)
}

//go:noinline
func by_interface(inner waiter, name string) int { return inner.wait(name) + 1 }

//export go_called
func go_called(depth C.int) {
	if depth > 20 {
		C.c_in_between(depth / 2)
	} else if depth%2 == 0 {
		sleeps("called back")
	} else {
		sleeps_in_c("called back, in c")
	}
}

//go:noinline
func calls_back(depth int) int {
	C.c_in_between(C.int(depth))
	return depth
}

var kept [100][]byte

func makes_garbage(seed int) {
	for i := seed; ; i++ {
		kept[(i*31+seed)%100] = make([]byte, 100+i%5000)
	}
}

func start(run func()) {
	waiting.Add(1)
	go run()
}

func main() {
	start(func() { sleeps("plain") })
	start(func() { sleeps_in_c("in c") })
	start(func() { deep(30, sleeps, "deep") })
	start(func() { deep(30, sleeps_in_c, "deep, in c") })
	start(func() { large(sleeps_in_c, "large, in c") })
	start(func() { defers(sleeps, "deferred") })
	start(func() { defers(sleeps_in_c, "deferred, in c") })
	start(func() { by_interface(inside{sleeps_in_c}, "by an interface, in c") })
	start(func() { calls_back(10) })
	start(func() { calls_back(11) })
	start(func() { calls_back(42) })
	waiting.Wait()
	if len(os.Args) > 1 {
		count, _ := strconv.Atoi(os.Args[1])
		for i := 0; i < count; i++ {
			go makes_garbage(i)
		}
	}
	print_lock.Lock()
	fmt.Println("ready")
	print_lock.Unlock()
	select {}
}
