package main

var answer int = "forty-two"

func main() {
	println(answer)
}
