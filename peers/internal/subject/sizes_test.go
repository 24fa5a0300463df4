package subject

import (
	"fmt"
	"testing"
)

func TestBytes(t *testing.T) {
	for _, n := range []int{1, 1024, 17, MaxBytes, 16} {
		text, err := Bytes(fmt.Sprint(n))
		if err != nil || len(text) != n || cap(text) != n {
			t.Fatalf("%d bytes: %d, %v", n, len(text), err)
		}
		for i, c := range text {
			if c != pattern[i%len(pattern)] {
				t.Fatalf("byte %d of %d is %q", i, n, c)
			}
		}
	}
	for _, size := range []string{"", "0", "-1", "many", fmt.Sprint(MaxBytes + 1)} {
		if _, err := Bytes(size); err == nil {
			t.Errorf("size %q is taken", size)
		}
	}
}

func TestReceipt(t *testing.T) {
	o := Order{Items: []Item{{Quantity: 2, Price: 150}, {Quantity: 1, Price: 99}}}
	if got, want := o.Receipt(), (Receipt{Items: 2, Total: 399}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
