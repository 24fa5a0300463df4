package mercure

import (
	"reflect"
	"testing"

	"github.com/redline-go/redline/push/topic"
	"github.com/yosida95/uritemplate/v3"
)

// FuzzSelector wants the hub's index to find whatever a selector matches.
func FuzzSelector(f *testing.F) {
	for _, s := range []string{"*", "a", "a/{b}", "{+a}", "a//{b}/c", "é/{b}", "%41/{b}", "a/*/{b}", "**/{x}", "{/a*}", "a{?b,c}", "{", "{/a,b}", "{/a,b*}/x", "{;a,b,c}", "{a*,b}", "{#a}{.b,c}", "{&a*}", "{a}{a}{+b}", "{a:3}", "a}", "{+a}/{b}", Path + "{/a*}", "/.well{+a}", Path + "/subscriptions/x/{b}"} {
		for _, t := range []string{"a/b", "a", "*", "a/*/c", "/x/y", "a//b/c", "%C3%A9/1", "é/1", "a?b=1", "/x", "/x/y/z", ";a=1;b", ";a;b;c;d", "a,b=c", "#a/b.c.d", "&a=1&b", "%4", "%41b", ".", Path + "/subscriptions/x/y"} {
			f.Add(s, t)
		}
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		s, err := newSelector(text)
		if err != nil || checkTopic(name) != nil {
			return
		}
		if s.template != nil {
			want := uritemplate.MustNew(text).Regexp().MatchString(name)
			if got := s.template.match(name); got != want {
				t.Errorf("%q on %q: %v", text, name, got)
			}
		}
		for _, private := range []bool{false, true} {
			at := hubTopic(name, private)
			if err := topic.CheckName(at); err != nil {
				t.Fatalf("%q has the topic %q: %v", name, at, err)
			}
			found := false
			for _, p := range s.filters(private) {
				if err := topic.CheckPattern(p); err != nil {
					t.Fatalf("%q has the pattern %q: %v", text, p, err)
				}
				if topic.Match(p, hubTopic(name, !private)) {
					t.Errorf("%q of %q finds what is not for it: %q", p, text, name)
				}
				found = found || topic.Match(p, at)
			}
			if s.match(name) && !found {
				t.Errorf("%q matches %q, which none of %q finds", text, name, s.filters(private))
			}
		}
	})
}

func FuzzDecode(f *testing.F) {
	u := Update{Topics: []string{"a", "b", "c"}, Data: "x\ny", ID: "1", Type: "t", Private: true}
	for at := range u.Topics {
		f.Add(u.encode(at))
	}
	f.Add(name(7, 2, "1"))
	f.Add([]byte("\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = new(bodies).read(b)
	})
}

func TestDecode(t *testing.T) {
	u := Update{Topics: []string{"a", "b", "c"}, Data: "x", ID: "1", Private: true}
	for at, want := range []copied{
		{true, "1", nil, "a", []string{"b", "c"}, nil},
		{true, "1", []string{"a"}, "b", []string{"c"}, nil},
		{true, "1", []string{"a", "b"}, "c", nil, nil},
	} {
		got, err := decode(u.encode(at))
		if len(got.before) == 0 {
			got.before = nil
		}
		want.text = []byte("id: 1\ndata: x\n\n")
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
}
