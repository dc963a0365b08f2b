package main

import (
	"fmt"
	"sync"
	"time"
)

func squares(numbers <-chan int, results chan<- int, workers *sync.WaitGroup) {
	defer workers.Done()
	for n := range numbers {
		results <- n * n
	}
}

func main() {
	numbers := make(chan int)
	results := make(chan int, 8)

	var workers sync.WaitGroup
	for i := 0; i < 100; i++ {
		workers.Add(1)
		go squares(numbers, results, &workers)
	}
	go func() {
		for n := 1; n <= 1000; n++ {
			numbers <- n
		}
		close(numbers)
		workers.Wait()
		close(results)
	}()

	sum := 0
	for square := range results {
		sum += square
	}
	fmt.Println("sum of squares:", sum)

	select {
	case n, open := <-results:
		fmt.Println("closed:", n, open)
	case <-time.After(5 * time.Second):
		fmt.Println("timed out")
	}

	var once sync.Once
	for i := 0; i < 3; i++ {
		once.Do(func() { fmt.Println("once") })
	}
}
