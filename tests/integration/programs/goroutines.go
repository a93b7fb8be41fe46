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
