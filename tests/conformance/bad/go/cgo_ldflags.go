package main

/*
#cgo LDFLAGS: -Wl,-T/workspace/script.ld -Wl,@/etc/passwd
static int answer(void) { return 42; }
*/
import "C"

import "fmt"

func main() {
	fmt.Println(C.answer())
}
