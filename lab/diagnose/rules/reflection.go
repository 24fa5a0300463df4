package rules

import "fmt"

var (
	// reflecting matches what looks at types at run time, to turn values into bytes or back.
	reflecting = in("encoding/json/...", "encoding/xml", "encoding/gob", "gopkg.in/yaml", "gopkg.in/yaml.v2", "gopkg.in/yaml.v3", "go.yaml.in/yaml/...", "github.com/json-iterator/go", "github.com/mitchellh/mapstructure", "github.com/BurntSushi/toml")

	// untyped matches maps and interfaces, which are the dearest.
	untyped = called("encoding/json.mapEncoder.*", "encoding/json.interfaceEncoder", "encoding/json.(*decodeState).objectInterface", "encoding/json.(*decodeState).arrayInterface", "encoding/json.(*decodeState).valueInterface", "encoding/json.Indent", "encoding/json.appendIndent", "encoding/json.MarshalIndent")

	// decoding matches the way from bytes to values.
	decoding = called("encoding/json.Unmarshal*", "encoding/json.(*Decoder).*", "encoding/json.(*decodeState).*", "encoding/json.checkValid", "encoding/json.(*scanner).*", "encoding/json/v2.Unmarshal*", "encoding/json/jsontext.(*Decoder).*", "encoding/json/jsontext.(*decoderState).*",
		"encoding/xml.Unmarshal", "encoding/xml.(*Decoder).*", "encoding/gob.(*Decoder).*", "encoding/gob.(*decoderState).*", "gopkg.in/yaml.v2.Unmarshal", "gopkg.in/yaml.v3.Unmarshal", "gopkg.in/yaml.v3.(*Decoder).*", "gopkg.in/yaml.v3.(*decoder).*", "go.yaml.in/yaml/*.Unmarshal",
		"github.com/json-iterator/go.Unmarshal", "github.com/json-iterator/go.(*Iterator).*", "github.com/json-iterator/go.(*Decoder).*", "github.com/mitchellh/mapstructure.*", "github.com/BurntSushi/toml.Unmarshal", "github.com/BurntSushi/toml.Decode*")
)

// The ways of a server that mostly goes one of them.
const (
	mostlyDecodes = 0.75
	mostlyEncodes = 0.25
	// bodyless is the size of a request, in bytes, in which there is no body to speak of.
	bodyless = 512
)

func jsonReflection(v *view) *finding {
	back := ratio(v.load.OnCPU.With(reflecting).With(decoding).Total, v.load.OnCPU.With(reflecting).Total)
	way := "Encoding and decoding"
	advice := []string{
		"Use code that is generated for the types, or a faster library with the same API.",
		"Encode structs instead of maps and interfaces; leave out fields that nobody reads; do not indent.",
		"Cache answers that are the same for many requests as bytes.",
	}
	switch {
	case back >= mostlyDecodes:
		way = "Decoding"
		advice[1] = "Decode into structs with the fields that are used, instead of maps and interfaces; json.RawMessage skips what is passed on."
		advice[2] = "Decode what does not change once, and keep the value."
	case back <= mostlyEncodes:
		way = "Encoding"
	}
	// What is decoded is in the process already: no client and no other server sent it.
	constant := back > mostlyEncodes && known(v.load.Request) < bodyless && len(v.peers()) == 0 && v.load.Kernel != nil
	if constant {
		advice = append([]string{"Decode once, at the start or when it changes: requests have no body, and the server asks nobody, so it decodes a constant, a file or what it has encoded itself."}, advice...)
	}
	f := work{
		match: reflecting, but: in("compress/...", "net/...", "crypto/...", "log/...", "os", "internal/poll", "github.com/klauspost/compress/...", "github.com/andybalholm/brotli"), base: 0.10, least: 0.18, saved: 0.7,
		title:  way + " by reflection takes %s of the CPU time",
		does:   "encoding/json, or another package that looks at types at run time, takes %s of the CPU time (healthy: up to 10 %%).",
		advice: advice,
	}.find(v)
	if f == nil {
		return nil
	}
	f.Evidence = append(f.Evidence, fmt.Sprintf("Decoding is %s of that.", percent(back)))
	if share := v.cpu(untyped); share > 0.02 {
		f.Evidence = append(f.Evidence, fmt.Sprintf("Maps, interfaces and indenting are %s of the CPU time.", percent(share)))
	}
	if constant {
		f.Evidence = append(f.Evidence, fmt.Sprintf("A request has %s, and no other server is asked.", bytesOf(v.load.Request)))
	}
	return f
}
