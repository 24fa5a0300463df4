package suite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSubjectFiles checks the errors for invalid subject files.
func TestSubjectFiles(t *testing.T) {
	good := "name: mine\ncommand: [/bin/mine, --listen, '{host}:{port}', --dir, '{dir}', '--cpus={cpus}']\nurl: http://{addr}/v1\n"
	for _, c := range []struct{ text, want string }{
		{good, ""},
		{"", "file is empty: write at least name, command and url"},
		{"# nothing\n", "file is empty"},
		{strings.Replace(good, "{host}", "{adr}", 1), `"{adr}:{port}" has the unknown placeholder {adr}: write one of {addr}, {host}, {port}`},
		{strings.Replace(good, "http://{addr}", "http://{adr}", 1), "has the unknown placeholder {adr}"},
		{strings.Replace(good, "/bin/mine", "'/bin/{a: 1}'", 1), ""}, // braces that are no placeholder
		{strings.Replace(good, "name: mine", "name: Mine", 1), "use lower-case letters"},
		{"nam: mine\n", "nam"},
		{"name: mine\nurl: http://{addr}\n", "command is missing"},
		{"name: mine\ncommand: [x]\nurl: ftp://x\n", `url "ftp://x": want http://{addr}`},
	} {
		file := filepath.Join(t.TempDir(), "mine.yaml")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readSubject(file); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}
