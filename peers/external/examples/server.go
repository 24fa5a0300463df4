// Command examples is the server of go.yaml: net/http, and nothing else.
package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
)

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /plaintext", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, "text/plain", []byte("Hello, World!"))
	})
	mux.HandleFunc("GET /json", func(w http.ResponseWriter, _ *http.Request) {
		text, _ := json.Marshal(map[string]string{"message": "Hello, World!"}) // strings can always be encoded
		answer(w, "application/json", text)
	})
	mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer(w, "application/octet-stream", body)
	})
	mux.HandleFunc("GET /bytes", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.URL.Query().Get("size"))
		if err != nil || n < 1 || n > len(pattern) {
			http.Error(w, "size is not a number of 1 to 10 MiB", http.StatusBadRequest)
			return
		}
		answer(w, "application/octet-stream", pattern[:n])
	})
	mux.HandleFunc("POST /order", order)
	log.Fatal(http.ListenAndServe(os.Args[1], mux))
}

var pattern = bytes.Repeat([]byte("0123456789abcdef"), 10<<16)

func answer(w http.ResponseWriter, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body)
}

// order adds up the items of an order.
func order(w http.ResponseWriter, r *http.Request) {
	var o struct {
		Items []struct{ Quantity, Price int }
	}
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var receipt struct {
		Items int `json:"items"`
		Total int `json:"total"`
	}
	receipt.Items = len(o.Items)
	for _, i := range o.Items {
		receipt.Total += i.Quantity * i.Price
	}
	text, _ := json.Marshal(receipt) // numbers can always be encoded
	answer(w, "application/json", text)
}
