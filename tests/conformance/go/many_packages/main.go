package main

import (
	"fmt"

	"example.org/sum/totals"
)

func main() {
	fmt.Println("sum:", totals.AddAll(numbers))
}
