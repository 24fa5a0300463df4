package pushjwt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/golang-jwt/jwt/v5"
)

// nested is how deep the names that [Options] and Go's structs find are: those of the claims, and of
// the objects among them. What is below is the application's.
const nested = 2

// unique returns an error if the claims of a token that was parsed have a name twice (RFC 7519, 4).
// Structs take a name in any case, maps do not: "Sub" would be the user for one reader of the claims,
// and "sub" for another.
func (t *Tokens) unique(text string) error {
	text = text[strings.IndexByte(text, '.')+1:]
	claims, err := t.parser.DecodeSegment(text[:strings.IndexByte(text, '.')])
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(claims))
	d.UseNumber()
	return uniqueNames(d, nested)
}

// uniqueNames reads a value, and compares names so deep.
func uniqueNames(d *json.Decoder, deep int) error {
	open, err := d.Token()
	if err != nil {
		return err
	}
	object := open == json.Delim('{')
	if !object && open != json.Delim('[') {
		return nil
	}
	names := map[string]bool{}
	for d.More() {
		if object {
			name, err := d.Token()
			if err != nil {
				return err
			}
			folded := strings.Map(fold, name.(string)) // which the names of a well-formed object are
			if names[folded] && deep > 0 {
				return fmt.Errorf("%w: the claims have the name %q twice", jwt.ErrTokenMalformed, name)
			}
			names[folded] = true
		}
		if err := uniqueNames(d, deep-1); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// fold returns the least of the runes that encoding/json takes for the same in names: to it U+017F is an
// S, which strings.ToLower leaves as it is.
func fold(r rune) rune {
	for {
		next := unicode.SimpleFold(r)
		if next <= r {
			return next
		}
		r = next
	}
}
