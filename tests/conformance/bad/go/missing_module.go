package main

import (
	"fmt"

	"example.com/no/such/module"
)

func main() {
	fmt.Println(module.Answer)
}
