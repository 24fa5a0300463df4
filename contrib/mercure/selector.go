package mercure

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/redline-go/redline/push/topic"
	"github.com/yosida95/uritemplate/v3"
)

// Limits of topics and selectors.
const (
	maxTopicBytes = 2048
	maxSelectors  = 64  // of a subscriber, and of each list of a token
	maxTopics     = 100 // of an update
	maxVariables  = 16  // of a template
	maxTemplates  = 64  // variables of all templates of a subscriber, and of each list of a token
)

var (
	errTopic    = errors.New("a topic or selector has 1 to 2048 bytes of UTF-8 without control characters")
	errTemplate = errors.New("a URI template has at most 16 variables")
	errMany     = errors.New("too many topics: use at most 64 selectors, or a URI template")
	errHeavy    = errors.New("the URI templates together have at most 64 variables")
)

func checkTopic(s string) error {
	control := func(r rune) bool { return r < ' ' || 0x7f <= r && r < 0xa0 }
	if s == "" || len(s) > maxTopicBytes || !utf8.ValidString(s) || strings.IndexFunc(s, control) >= 0 {
		return errTopic
	}
	return nil
}

// A selector is an expression that matches topics (Topic Selectors): "*" matches all, another
// one itself and what it expands to if it is a URI template (RFC 6570).
type selector struct {
	text     string
	all      bool
	template *template // nil: it is none
}

func newSelector(text string) (s selector, err error) {
	s = selector{text: text, all: text == "*"}
	if err := checkTopic(text); err != nil || !strings.Contains(text, "{") {
		return s, err
	}
	if _, err := uritemplate.New(text); err != nil {
		return s, nil // a text like any other
	}
	if variables(text) > maxVariables {
		return s, errTemplate
	}
	s.template = newTemplate(text)
	return s, nil
}

// variables returns how many variables a template has, or more.
func variables(text string) int { return strings.Count(text, "{") + strings.Count(text, ",") }

func newSelectors(texts []string) ([]selector, error) {
	if len(texts) > maxSelectors {
		return nil, errMany
	}
	heavy := 0
	all := make([]selector, 0, len(texts))
	for _, text := range texts {
		s, err := newSelector(text)
		if err != nil {
			return nil, err
		}
		if s.template != nil {
			heavy += variables(text)
		}
		if heavy > maxTemplates {
			return nil, errHeavy
		}
		all = append(all, s)
	}
	return all, nil
}

func (s *selector) match(name string) bool {
	return s.all || s.text == name || s.template != nil && s.template.match(name)
}

func matchAny(all []selector, names ...string) bool {
	return slices.ContainsFunc(all, func(s selector) bool { return slices.ContainsFunc(names, s.match) })
}

// Topics of the hub: "t/" and the topic of the update where that is a valid name, otherwise
// "h/" and its hash. Private updates have topics of their own, which begin with "p": what a
// subscriber must not get neither fills its queue nor costs it time. Events of subscriptions share
// one topic: each subscriber has topics of its own, and anybody who connects often would push the
// history of others out of the hub.
const (
	plainPrefix        = "t/"
	hashPrefix         = "h/"
	privatePrefix      = "p"
	subscriptionsTopic = "s"
)

// space returns what the topics of the hub begin with.
func space(private bool) string {
	if private {
		return privatePrefix
	}
	return ""
}

// hubTopic returns the hub's topic for one of an update.
func hubTopic(name string, private bool) string {
	if private && strings.HasPrefix(name, subscriptionsPrefix) {
		return subscriptionsTopic
	}
	if t := space(private) + plainPrefix + name; topic.CheckName(t) == nil {
		return t
	}
	sum := sha256.Sum256([]byte(name))
	return space(private) + hashPrefix + hex.EncodeToString(sum[:])
}

// filters returns patterns of the hub that select at least what the selector matches, of public or
// of private updates. The hub's index finds candidates; match decides.
func (s *selector) filters(private bool) (found []string) {
	plain, hashed := space(private)+plainPrefix, space(private)+hashPrefix+"**"
	literal, _, _ := strings.Cut(s.text, "{")
	encoded := strings.ContainsFunc(literal, func(r rune) bool { return r == '%' || r >= utf8.RuneSelf })
	switch {
	case s.all:
		found = []string{plain + "**", hashed}
	case s.template == nil:
		return []string{hubTopic(s.text, private)}
	default:
		wide := plain + "**"
		if i := strings.LastIndexByte(literal, '/'); i >= 0 && !encoded {
			if p := plain + literal[:i] + "/**"; topic.CheckPattern(p) == nil {
				wide = p
			}
		}
		found = []string{hubTopic(s.text, private), wide, hashed} // the template's text is a topic too
	}
	if private && (s.all || encoded || strings.HasPrefix(literal, subscriptionsPrefix) || strings.HasPrefix(subscriptionsPrefix, literal)) {
		found = append(found, subscriptionsTopic)
	}
	return found
}
