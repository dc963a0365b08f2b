package main

func inner() {
	panic("boom-42")
}

func outer() {
	inner()
}

func main() {
	outer()
}
