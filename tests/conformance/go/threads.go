package main

import (
	"fmt"
	"runtime"
	"sync"
)

func main() {
	var (
		counter int
		mutex   sync.Mutex
		threads sync.WaitGroup
	)
	for i := 0; i < 4; i++ {
		threads.Add(1)
		go func() {
			defer threads.Done()
			runtime.LockOSThread()
			for n := 0; n < 1000; n++ {
				mutex.Lock()
				counter++
				mutex.Unlock()
			}
		}()
	}
	threads.Wait()
	fmt.Println(counter)
}
