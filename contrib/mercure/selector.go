package mercure

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"regexp"
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
)

var (
	errTopic    = errors.New("a topic or selector has 1 to 2048 bytes of UTF-8 without control characters")
	errTemplate = errors.New("a URI template has at most 16 variables")
	errMany     = errors.New("too many topics: use at most 64 selectors, or a URI template")
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
	template *regexp.Regexp // nil: it is no template
}

func newSelector(text string) (s selector, err error) {
	s = selector{text: text, all: text == "*"}
	if err := checkTopic(text); err != nil || !strings.Contains(text, "{") {
		return s, err
	}
	t, err := uritemplate.New(text)
	if err != nil {
		return s, nil // a text like any other
	}
	// Matching takes time in proportion to the variables and the topic, which others choose.
	if strings.Count(text, "{")+strings.Count(text, ",") > maxVariables {
		return s, errTemplate
	}
	s.template = t.Regexp()
	return s, nil
}

func newSelectors(texts []string) ([]selector, error) {
	if len(texts) > maxSelectors {
		return nil, errMany
	}
	all := make([]selector, 0, len(texts))
	for _, text := range texts {
		s, err := newSelector(text)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func (s *selector) match(name string) bool {
	return s.all || s.text == name || s.template != nil && s.template.MatchString(name)
}

func matchAny(all []selector, names ...string) bool {
	return slices.ContainsFunc(all, func(s selector) bool { return slices.ContainsFunc(names, s.match) })
}

// Topics of the hub: "t/" and the topic of the update where that is a valid name, otherwise
// "h/" and its hash. Events of subscriptions share one topic: each subscriber has topics of its
// own, and anybody who connects often would push the history of others out of the hub.
const (
	plainPrefix        = "t/"
	hashPrefix         = "h/"
	subscriptionsTopic = "s"
)

// hubTopic returns the hub's topic for one of an update.
func hubTopic(name string) string {
	if strings.HasPrefix(name, subscriptionsPrefix) {
		return subscriptionsTopic
	}
	if t := plainPrefix + name; topic.CheckName(t) == nil {
		return t
	}
	sum := sha256.Sum256([]byte(name))
	return hashPrefix + hex.EncodeToString(sum[:])
}

// filters returns patterns of the hub that select at least what the selector matches. The
// hub's index finds candidates; match decides.
func (s *selector) filters() []string {
	switch {
	case s.all:
		return []string{"**"}
	case s.template == nil:
		return []string{hubTopic(s.text)}
	}
	own := hubTopic(s.text) // the template's text as a topic
	literal, _, _ := strings.Cut(s.text, "{")
	encoded := strings.ContainsFunc(literal, func(r rune) bool { return r == '%' || r >= utf8.RuneSelf })
	wide := plainPrefix + "**"
	if i := strings.LastIndexByte(literal, '/'); i >= 0 && !encoded {
		if p := plainPrefix + literal[:i] + "/**"; topic.CheckPattern(p) == nil {
			wide = p
		}
	}
	found := []string{own, wide, hashPrefix + "**"}
	if encoded || strings.HasPrefix(literal, subscriptionsPrefix) || strings.HasPrefix(subscriptionsPrefix, literal) {
		found = append(found, subscriptionsTopic)
	}
	return found
}
