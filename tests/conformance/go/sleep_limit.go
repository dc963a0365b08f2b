package main

import "time"

func main() {
	time.Sleep(600 * time.Second)
}
