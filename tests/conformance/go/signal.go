package main

import (
	"log"
	"syscall"
	"time"
)

func main() {
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
		log.Fatal(err)
	}
	// The runtime's own handler may still be at work in another thread.
	time.Sleep(10 * time.Second)
}
