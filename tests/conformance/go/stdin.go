package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"unicode/utf8"
)

func main() {
	count := 0
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fmt.Println(utf8.RuneCountInString(lines.Text()))
		count++
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("lines: %d\n", count)
}
