package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Println("leaving")
	os.Exit(7)
}
