package main

var numbers = []int{4, 8, 30}
