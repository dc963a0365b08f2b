package main

import (
	"fmt"
	"log"
	"os"
	"os/exec"
)

func main() {
	child := exec.Command("sh", "-c", "sleep 600 & sleep 600")
	child.Stdout = os.Stdout
	if err := child.Start(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("parent done")
}
