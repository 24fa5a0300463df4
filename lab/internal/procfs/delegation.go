package procfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// A Delegation is that the control groups directly below a group get controllers which they do not
// have. It is for version 2: those of version 1 always have them.
type Delegation struct {
	Dir         string   `json:"dir"`         // of the group above them
	Controllers []string `json:"controllers"` // empty if they have all
	Beside      []string `json:"beside"`      // the groups that there were before
}

// PlanDelegation returns what has to change for the groups below dir to have the controllers.
func PlanDelegation(dir string, controllers ...string) (Delegation, error) {
	d := Delegation{Dir: dir}
	b, err := os.ReadFile(d.file())
	if err != nil {
		return d, fmt.Errorf("read the controllers of groups: %w", err)
	}
	on := strings.Fields(string(b))
	for _, c := range controllers {
		if !slices.Contains(on, c) {
			d.Controllers = append(d.Controllers, c)
		}
	}
	d.Beside, err = d.groups()
	return d, err
}

func (d Delegation) file() string { return filepath.Join(d.Dir, "cgroup.subtree_control") }

func (d Delegation) groups() (names []string, err error) {
	all, err := os.ReadDir(d.Dir)
	if err != nil {
		return nil, fmt.Errorf("list groups: %w", err)
	}
	for _, e := range all {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Make makes the change.
func (d Delegation) Make() error { return d.write("+") }

// Undo undoes it, unless there are groups now that rely on it, or may: new ones, and earlier ones that
// have a limit or pass the controller on. Without the controller their limits would be gone.
func (d Delegation) Undo() error {
	if len(d.Controllers) == 0 {
		return nil
	}
	now, err := d.groups()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	for _, name := range now {
		if !slices.Contains(d.Beside, name) || d.limits(name) {
			return nil
		}
	}
	if err := d.write("-"); !errors.Is(err, syscall.EBUSY) { // a group passes it on
		return err
	}
	return nil
}

// limits reports whether a group has a limit of one of the controllers.
func (d Delegation) limits(group string) bool {
	return slices.ContainsFunc(d.Controllers, func(controller string) bool {
		b, err := os.ReadFile(filepath.Join(d.Dir, group, controller+".max"))
		return err == nil && !strings.HasPrefix(string(b), "max")
	})
}

func (d Delegation) write(sign string) error {
	if len(d.Controllers) == 0 {
		return nil
	}
	words := make([]string, 0, len(d.Controllers))
	for _, c := range d.Controllers {
		words = append(words, sign+c)
	}
	// In one write, because the kernel does all of it or nothing.
	if err := os.WriteFile(d.file(), []byte(strings.Join(words, " ")), 0); err != nil {
		return fmt.Errorf("change the controllers of the groups below %s: %w", d.Dir, err)
	}
	return nil
}
