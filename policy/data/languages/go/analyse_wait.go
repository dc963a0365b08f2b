package main

import (
	"encoding/binary"
	"io"
	"os"
	"strconv"
	"strings"
)

// Says that it waits and then learns what to look at (sandbox/jail/job_frame.h). `end`
// is to be written after everything else, with the exit code and a line feed,
// unless it is empty.
func awaitJob() (names []string, end string, err error) {
	if _, err := os.Stdout.WriteString("sandglass: waiting\n"); err != nil {
		return nil, "", err
	}
	size := binary.BigEndian.Uint32(readFromInput(4))
	words := strings.Split(string(readFromInput(size)), "\x00")
	if words[0] != "" {
		end = "\x00sandglass: over " + words[0] + " "
	}
	count, err := strconv.Atoi(words[1])
	if err != nil {
		return nil, end, err
	}
	return words[2 : 2+count], end, nil
}

func readFromInput(size uint32) []byte {
	bytes := make([]byte, size)
	if _, err := io.ReadFull(os.Stdin, bytes); err != nil {
		os.Exit(0) // The jail is nobody's any more.
	}
	return bytes
}

// What runs once while it waits, so that it is in memory when the program comes.
const sample = `// Package main is a sample.
package main

import (
	"fmt"
	o "os"
	. "strings"
)

type box[T any] struct{ values map[string][]T }

func (b *box[T]) add(name string, given ...T) (err error) {
	defer func() { err = o.Remove(name + "x") }()
	switch n := len(given); {
	case n > 1 && b.values != nil:
		b.values[name] = append(b.values[name], given...)
	default:
		go fmt.Println(ToUpper(name), 1.5, 'c', "text")
	}
	return
}

func main() {
	b := &box[int]{values: map[string][]int{}}
again:
	for {
		select {
		case <-make(chan int):
			break again
		}
	}
	for i, v := range b.values {
		if file, err := o.OpenFile(i, o.O_RDWR|o.O_CREATE, 0o600); err == nil {
			_ = file.Close()
		} else if f := func() int { return len(v) }; f() == 0 {
			o.Exit(1)
		}
	}
}
`
