//go:build !twin

package main

import (
	"encoding/json"
	"fmt"
)

// message is what a device sends.
type message struct {
	Device   string    `json:"device"`
	Readings []reading `json:"readings"`
}

// reading has data that depends on its kind.
type reading struct {
	Kind string          `json:"kind"`
	At   int64           `json:"at"`
	Data json.RawMessage `json:"data"`
}

type climate struct {
	Celsius  float64 `json:"celsius"`
	Humidity float64 `json:"humidity"`
}

type battery struct {
	Volts float64 `json:"volts"`
}

type motion struct {
	Moved bool `json:"moved"`
}

// decode reads a message.
func decode(text []byte) (device string, s state, err error) {
	var m message
	if err := json.Unmarshal(text, &m); err != nil {
		return "", s, err
	}
	for i := range m.Readings {
		r := &m.Readings[i]
		switch r.Kind {
		case "climate":
			var c climate
			err = json.Unmarshal(r.Data, &c)
			s.celsius, s.humidity = c.Celsius, c.Humidity
		case "battery":
			var b battery
			err = json.Unmarshal(r.Data, &b)
			s.volts = b.Volts
		case "motion":
			var v motion
			err = json.Unmarshal(r.Data, &v)
			s.moved = v.Moved
		default:
			err = fmt.Errorf("unknown kind %q", r.Kind)
		}
		if err != nil {
			return "", s, err
		}
		s.latest = max(s.latest, r.At)
	}
	s.readings = len(m.Readings)
	return m.Device, s, nil
}
