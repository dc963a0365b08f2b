package main

import "fmt"

func init() {
	for {
	}
}

func main() {
	fmt.Println("never printed")
}
