package main

import "bytes"

const step = 8 << 20

func main() {
	var blocks [][]byte
	for {
		blocks = append(blocks, bytes.Repeat([]byte("x"), step))
	}
}
