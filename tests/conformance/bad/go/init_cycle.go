package main

import "fmt"

var a = b + 1
var b = f()

func f() int {
	return a
}

func main() {
	fmt.Println(a, b)
}
