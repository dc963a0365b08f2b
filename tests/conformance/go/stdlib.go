package main

import (
	"bytes"
	"compress/gzip"
	"container/heap"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"math/big"
	"math/bits"
	"math/rand"
	"net/url"
	"path"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"text/template"
	"time"
	"unicode"
)

type city struct {
	Name       string `json:"name"`
	Population int    `json:"population,omitempty"`
}

type intHeap []int

func (h intHeap) Len() int           { return len(h) }
func (h intHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h intHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *intHeap) Push(x any)        { *h = append(*h, x.(int)) }

func (h *intHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

func mapped[T, U any](values []T, f func(T) U) []U {
	result := make([]U, 0, len(values))
	for _, value := range values {
		result = append(result, f(value))
	}
	return result
}

var errNotFound = errors.New("not found")

func find(name string) error {
	return fmt.Errorf("find %q: %w", name, errNotFound)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func collections() {
	cities := []city{{"Zürich", 443}, {"Bern", 137}, {"Aarau", 0}}
	sort.Slice(cities, func(i, j int) bool { return cities[i].Name < cities[j].Name })
	fmt.Println("sorted:", mapped(cities, func(c city) string { return c.Name }))
	text, err := json.Marshal(cities)
	check(err)
	fmt.Printf("json: %s\n", text)
	var parsed map[string]any
	check(json.Unmarshal([]byte(`{"a": [1, {"b": null}], "c": "\u00fc"}`), &parsed))
	fmt.Println("parsed:", parsed)

	counts := map[string]int{}
	for _, word := range strings.Fields("the fox and the dog and the cat") {
		counts[word]++
	}
	fmt.Println("counts:", counts)

	numbers := &intHeap{5, 1, 4}
	heap.Init(numbers)
	heap.Push(numbers, 2)
	fmt.Println("heap:", heap.Pop(numbers), heap.Pop(numbers))
	fmt.Printf("struct: %+v %T\n", cities[1], cities[1])
}

func texts() {
	address := regexp.MustCompile(`(\w+)@(\w+)\.org`)
	fmt.Println("regexp:", address.FindAllStringSubmatch("ann@one.org, bob@two.org", -1))
	fmt.Println("replace:", address.ReplaceAllString("ann@one.org", "$2/$1"))
	fmt.Println("strings:", strings.ToUpper("straße"), strings.Repeat("ab", 3))
	fmt.Println("quoted:", strconv.Quote("tab\tü\x00"), strconv.FormatInt(255, 2))
	fmt.Println("letters:", strings.IndexFunc("12ü", unicode.IsLetter), []rune("aü"))
	fmt.Printf("format: %06x|%-6s|%8.3f|%+d|%v\n", 255, "left", math.Pi, 5, []byte("a"))

	page := template.Must(template.New("page").Parse(
		"template: {{range $i, $x := .}}{{if $i}}, {{end}}{{$x}}{{end}}\n"))
	var out strings.Builder
	check(page.Execute(&out, []int{1, 2, 3}))
	fmt.Print(out.String())

	link, err := url.Parse("https://example.org/a/b?x=1&y=2#top")
	check(err)
	fmt.Println("url:", link.Query().Get("y"), path.Base(link.Path))
}

func times() {
	leapDay := time.Date(2024, time.February, 29, 12, 30, 0, 0, time.UTC)
	fmt.Println("date:", leapDay.Format("Monday 2 January 2006"), leapDay.YearDay())
	berlin, err := time.LoadLocation("Europe/Berlin")
	check(err)
	fmt.Println("zone:", leapDay.AddDate(0, 5, 0).In(berlin).Format(time.RFC3339))
	duration, err := time.ParseDuration("1h23m45s")
	check(err)
	fmt.Println("duration:", duration.Seconds())
}

func numbers() {
	fmt.Println("math:", math.Hypot(3, 4), math.Cbrt(27), bits.OnesCount(255))
	fmt.Println("big:", new(big.Int).Exp(big.NewInt(2), big.NewInt(200), nil))
	fmt.Println("rat:", new(big.Rat).Add(big.NewRat(1, 3), big.NewRat(1, 6)))
	generator := rand.New(rand.NewSource(42))
	fmt.Println("random:", generator.Intn(100), generator.Intn(100), generator.Perm(5))
}

func encodings() {
	fmt.Println("base64:", base64.StdEncoding.EncodeToString([]byte("Grüße")))
	fmt.Printf("sha256: %x\n", sha256.Sum256([]byte("sandglass")))
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, err := io.WriteString(writer, "round trip")
	check(err)
	check(writer.Close())
	reader, err := gzip.NewReader(&packed)
	check(err)
	text, err := io.ReadAll(reader)
	check(err)
	fmt.Printf("gzip: %s\n", text)
}

func failures() {
	err := find("it")
	fmt.Println("error:", err, errors.Is(err, errNotFound))
	func() {
		defer func() { fmt.Println("recovered:", recover()) }()
		var empty []int
		fmt.Println(empty[3])
	}()
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	<-ctx.Done()
	fmt.Println("context:", ctx.Err())
}

func main() {
	collections()
	texts()
	times()
	numbers()
	encodings()
	failures()
}
