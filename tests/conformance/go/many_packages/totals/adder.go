// Package totals adds numbers.
package totals

// AddAll returns the sum of numbers.
func AddAll(numbers []int) int {
	sum := 0
	for _, n := range numbers {
		sum += n
	}
	return sum
}
