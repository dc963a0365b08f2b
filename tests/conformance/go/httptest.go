package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
)

func greet(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("name")
	if name == "" {
		http.Error(w, "who are you?", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintf(w, "hello, %s", name)
}

func main() {
	server := httptest.NewServer(http.HandlerFunc(greet))
	defer server.Close()

	for _, name := range []string{"gopher", "Jürgen & Co", ""} {
		response, err := server.Client().Get(
			server.URL + "/?name=" + url.QueryEscape(name))
		if err != nil {
			log.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			log.Fatal(err)
		}
		response.Body.Close()
		fmt.Printf("%s: %q\n", response.Status, body)
	}
}
