package main

import (
	_ "embed"
	"fmt"
)

//go:embed ../../etc/passwd
var passwd string

func main() {
	fmt.Print(passwd)
}
