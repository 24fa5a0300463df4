package stdlib

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/redline-go/redline/peers/internal/subject"
)

// Sized answers GET /bytes.
func Sized(w http.ResponseWriter, r *http.Request) {
	body, err := subject.Bytes(r.URL.Query().Get("size"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body)
}

// Order answers POST /order. The caller limits the body.
func Order(w http.ResponseWriter, r *http.Request) {
	var o subject.Order
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
		bodyError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(o.Receipt())
}
