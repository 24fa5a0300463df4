//go:build twin

package main

import (
	"fmt"

	"github.com/valyala/fastjson"
)

var parsers fastjson.ParserPool

// decode reads a message.
func decode(text []byte) (device string, s state, err error) {
	p := parsers.Get()
	defer parsers.Put(p)
	m, err := p.ParseBytes(text)
	if err != nil {
		return "", s, err
	}
	readings := m.GetArray("readings")
	for _, r := range readings {
		data := r.Get("data")
		switch kind := r.GetStringBytes("kind"); string(kind) {
		case "climate":
			s.celsius, s.humidity = data.GetFloat64("celsius"), data.GetFloat64("humidity")
		case "battery":
			s.volts = data.GetFloat64("volts")
		case "motion":
			s.moved = data.GetBool("moved")
		default:
			return "", s, fmt.Errorf("unknown kind %q", kind)
		}
		s.latest = max(s.latest, r.GetInt64("at"))
	}
	s.readings = len(readings)
	return string(m.GetStringBytes("device")), s, nil
}
