// SPDX-License-Identifier: GPL-2.0-or-later

// Goroutines whose stacks grow, panics that are recovered, the garbage collector at work.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"sync"
)

//go:noinline
func deep(depth int) int {
	var local [128]byte

	local[depth%128] = 1
	if depth == 0 {
		return int(local[0])
	}
	return deep(depth-1) + int(local[depth%128])
}

// A frame so large that the stack is checked by two jumps.
//
//go:noinline
func large(depth int) int {
	var local [6000]byte

	local[depth%6000] = 1
	if depth == 0 {
		return int(local[0])
	}
	return large(depth-1) + int(local[depth%6000])
}

//go:noinline
func floats(depth int, a, b, c float64) float64 {
	var local [512]byte

	local[depth%512] = 1
	if depth == 0 {
		return a + b + c
	}
	return floats(depth-1, a, b, c) + float64(local[depth%512]) - 1
}

//go:noinline
func panics(value int) int {
	if value%2 == 1 {
		panic(value)
	}
	return value
}

//go:noinline
func recovers(value int) (caught int) {
	defer func() {
		if recover() != nil {
			caught = 1
		}
	}()
	panics(value)
	return 0
}

// Its stack is small again, and grows.
func in_new_goroutine(work func()) {
	done := make(chan bool)
	go func() {
		work()
		done <- true
	}()
	<-done
}

func main() {
	input := bufio.NewReader(os.Stdin)
	fmt.Println("ready")
	input.ReadString('\n')
	var group sync.WaitGroup
	sums := make([]int, 20)
	for i := range sums {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			sums[i] = deep(200)
			in_new_goroutine(func() { sums[i] += large(9) - 10 })
			in_new_goroutine(func() { sums[i] += int(floats(99, 1, 2, 3)) - 6 })
			for j := 0; j < 20; j++ {
				sums[i] += recovers(j)
			}
			runtime.GC()
		}(i)
	}
	group.Wait()
	failures := 0
	for _, sum := range sums {
		if sum != 201+10 {
			failures++
		}
	}
	fmt.Println("deep", 20*201)
	fmt.Println("large", 20*10)
	fmt.Println("floats", 20*100)
	fmt.Println("panics", 20*20)
	fmt.Println("recovers", 20*20)
	fmt.Println("failures", failures)
	fmt.Println("done")
	for {
		if _, err := input.ReadString('\n'); err != nil {
			return
		}
	}
}
