package main

import "fmt"

func main() {
	fmt.Println("sum:", addAll(numbers))
}
