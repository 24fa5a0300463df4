package present

import (
	"encoding/json"
	"fmt"
	"os"
)

// Load reads a document that Encode wrote. Fields that it does not know are ignored.
func Load(path string) (*Document, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the run: %w", err)
	}
	// The head first: what is of another kind, or version, may differ in types.
	var head struct {
		Schema  string
		Version int
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("%s is no run: %w; write one with redline load --json %[1]s URL", path, err)
	}
	switch {
	case head.Schema != SchemaName:
		return nil, fmt.Errorf("%s is no run of redline load: its schema is %q, not %q", path, head.Schema, SchemaName)
	case head.Version != SchemaVersion:
		return nil, fmt.Errorf("%s has version %d of the schema, and this redline reads %d: use the redline that wrote it, or run again",
			path, head.Version, SchemaVersion)
	}
	d := new(Document)
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w; run again", path, err)
	}
	return d, nil
}
