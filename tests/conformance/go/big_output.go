package main

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for n := 0; n < 200_000; n++ {
		fmt.Fprintln(out, "line", n)
	}
}
