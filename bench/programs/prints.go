package main

import "fmt"

func main() {
	fmt.Println("run 0")
	for i := 0; i < 20000; i++ {
		fmt.Println(i)
	}
}
