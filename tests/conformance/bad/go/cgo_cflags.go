package main

/*
#cgo CFLAGS: -fplugin=/workspace/plugin.so -B/workspace
static int answer(void) { return 42; }
*/
import "C"

import "fmt"

func main() {
	fmt.Println(C.answer())
}
