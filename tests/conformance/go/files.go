package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
)

func upper(r rune) rune {
	if 'a' <= r && r <= 'z' {
		return r - 'a' + 'A'
	}
	return r
}

func main() {
	text, err := os.ReadFile("input.txt")
	if err != nil {
		log.Fatal(err)
	}
	result := filepath.Join("out", "result.txt")
	if err := os.MkdirAll(filepath.Dir(result), 0o755); err != nil {
		log.Fatal(err)
	}
	changed := strings.Map(upper, string(text))
	if err := os.WriteFile(result, []byte(changed), 0o644); err != nil {
		log.Fatal(err)
	}
	fmt.Println("ok")
}
