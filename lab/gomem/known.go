package gomem

import "fmt"

func knownLayout(im *image) (layout, error)           { return nil, fmt.Errorf("todo: %w", ErrLayout) }
func knownReasons(Info) []string                      { return nil }
func minor(v string) string                           { return v }
func (im *image) decodeSymbols(*memory, uint64) error { return ErrStripped }
