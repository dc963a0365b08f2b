package main

import (
	"fmt"
	"os"
)

//go:generate touch generated.txt

func main() {
	if _, err := os.Stat("generated.txt"); err == nil {
		fmt.Println("generated")
		return
	}
	fmt.Println("not generated")
}
