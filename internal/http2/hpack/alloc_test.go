package hpack

import "testing"

func TestAllocations(t *testing.T) {
	var e Encoder
	e.Init()
	var d Decoder
	d.Init(defaultTable)
	var block, text []byte
	var fields []Field
	n := 0
	value := []byte("/items/0000000")
	round := func() {
		n++
		for i, k := len(value)-1, n; i > 6; i-- {
			value[i], k = '0'+byte(k%10), k/10
		}
		block = e.Begin(block[:0])
		block = e.Status(block, 201+n%20)
		for _, l := range responseLines {
			block = e.Field(block, l[0], l[1])
		}
		block = e.Bytes(block, "Location", value)
		block = e.Bytes(block, "Cache-Control", value) // enters the table every time, and so evicts
		var err error
		if text, fields, _, err = d.Decode(block, text[:0], fields[:0], 1<<14, 100); err != nil {
			t.Fatal(err)
		}
	}
	for range 1000 {
		round()
	}
	if got := testing.AllocsPerRun(1000, round); got != 0 {
		t.Errorf("%v allocations per block", got)
	}
}
