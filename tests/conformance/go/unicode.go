package main

import (
	"fmt"
	"unicode/utf8"
)

func main() {
	text := "Grüße, 世界 🌍"
	fmt.Println(text)
	fmt.Println(utf8.RuneCountInString(text))
}
