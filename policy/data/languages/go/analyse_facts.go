package main

import (
	"go/token"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// What an analyser tells: facts, as docs/analysers.md has them.

const (
	mostFacts     = 4096
	mostBytes     = 256 * 1024
	mostText      = 200
	lastLineBytes = 16
)

type told struct {
	kind, name, detail string
}

type fact struct {
	told
	file, line, column, count, number int
}

type facts struct {
	files *token.FileSet
	file  int // the one that facts are of from now on
	known map[told]*fact
}

// Without control characters, and cut at a character.
func clean(text string) string {
	if len(text) > mostText {
		end := mostText
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}

func (f *facts) tell(kind string, place token.Pos, name, detail string) {
	// Not as //line comments have it.
	at := f.files.PositionFor(place, false)
	f.tellAt(kind, at.Line, at.Column, name, detail)
}

func (f *facts) tellAt(kind string, line, column int, name, detail string) {
	key := told{kind, clean(name), clean(detail)}
	known := f.known[key]
	if known == nil {
		f.known[key] = &fact{key, f.file, line, column, 1, len(f.known)}
		return
	}
	known.count++
	if known.file == f.file && (line < known.line || line == known.line && column < known.column) {
		known.line, known.column = line, column
	}
}

func (f *facts) text() string {
	all := make([]*fact, 0, len(f.known))
	for _, one := range f.known {
		all = append(all, one)
	}
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i], all[j]
		switch {
		case a.file != b.file:
			return a.file < b.file
		case a.line != b.line:
			return a.line < b.line
		case a.column != b.column:
			return a.column < b.column
		}
		return a.number < b.number
	})
	var text strings.Builder
	text.WriteString("sandglass-facts 1\n")
	for i, one := range all {
		line := strings.Join([]string{
			one.kind, strconv.Itoa(one.file), strconv.Itoa(one.line), strconv.Itoa(one.column),
			strconv.Itoa(one.count), one.name, one.detail}, "\t") + "\n"
		if i == mostFacts || text.Len()+len(line) > mostBytes-lastLineBytes {
			return text.String() + "overflow\n"
		}
		text.WriteString(line)
	}
	return text.String() + "end\n"
}
