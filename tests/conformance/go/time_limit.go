package main

import (
	"os/signal"
	"syscall"
)

func main() {
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM)
	for {
	}
}
