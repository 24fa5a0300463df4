package gomem

import "testing"

func TestFigures(t *testing.T) {
	for _, b := range builds {
		t.Run(b.name, func(t *testing.T) {
			x := start(t, build(t, "target", b.args, b.env))
			own := x.own()
			p, err := Open(x.pid)
			if err != nil {
				t.Fatal(err)
			}
			f, err := p.Read()
			t.Logf("%+v\n%+v\n%+v %+v\n%v %+v", own, f, f.States, err, p.missing, p.info)
		})
	}
}
