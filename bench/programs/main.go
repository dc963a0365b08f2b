package main

import "fmt"

func main() {
	fmt.Println("run 0")
}
