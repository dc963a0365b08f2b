package main

import (
	"fmt"
	"log"
	"os/exec"
)

func main() {
	output, err := exec.Command("sh", "-c", "/bin/echo child $((6*7))").Output()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("got: %s", output)
}
