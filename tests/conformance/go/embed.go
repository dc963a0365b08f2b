package main

import (
	"embed"
	"fmt"
	"log"
)

//go:embed data.txt
var text string

//go:embed *.txt
var files embed.FS

func main() {
	fmt.Print(text)
	content, err := files.ReadFile("data.txt")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("bytes:", len(content))
}
