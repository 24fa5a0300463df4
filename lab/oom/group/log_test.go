package group

import "testing"

func TestParse(t *testing.T) {
	const head = "6,430,86895203931,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg="
	for _, c := range []struct {
		name, record string
		want         Victim
		ok           bool
	}{
		{"victim", head + "/redline-oom-1-1,task_memcg=/redline-oom-1-1,task=server,pid=30426,uid=0", Victim{30426, "server"}, true},
		{"name with commas", head + "/redline-oom-1-1,task_memcg=/redline-oom-1-1,task=a,pid=1,b,pid=30426,uid=0\n", Victim{30426, "a,pid=1,b"}, true},
		{"longer name of a group", head + "/redline-oom-1-12,task_memcg=/redline-oom-1-12,task=server,pid=30426,uid=0", Victim{}, false},
		{"of the machine", "6,1,2,-;oom-kill:constraint=CONSTRAINT_NONE,task=server,pid=7,uid=0", Victim{}, false},
		{"forged by a process", "12,1,2,-;echo oom-kill:,oom_memcg=/redline-oom-1-1,task=server,pid=7,uid=0", Victim{}, false},
		{"cut", head + "/redline-oom-1-1,task_memcg=/x,task=server", Victim{}, false},
		{"no number", head + "/redline-oom-1-1,task=server,pid=x,uid=0", Victim{Name: "server"}, false},
		{"empty", "", Victim{}, false},
	} {
		if got, ok := parse(c.record, "/redline-oom-1-1"); ok != c.ok || got != c.want {
			t.Errorf("%s: %+v, %t", c.name, got, ok)
		}
	}
}
