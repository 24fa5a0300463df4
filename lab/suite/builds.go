package suite

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/redline-go/redline/lab/suite/toolchain"
)

// build is a subject with a toolchain.
type build struct {
	of   string
	with *toolchain.Toolchain
}

// findBuild returns a build of a subject, under its own name.
func (c *Catalogue) findBuild(name string, b build) (*Subject, error) {
	s, err := c.find(b.of)
	if err != nil {
		return nil, err
	}
	own := *s
	own.Name, own.of, own.with = name, b.of, b.with
	return &own, nil
}

// builtByGo reports whether a toolchain can be chosen for the subject: the command go builds it.
// The floor is built once: its cost is the reference of the others.
func (s *Subject) builtByGo() bool {
	if s.control {
		return s.Name != floorName
	}
	return len(s.Build) > 0 && filepath.Base(s.Build[0]) == "go"
}

// UseToolchains replaces each of cfg's subjects that the command go builds by one for each
// toolchain: nethttp becomes nethttp@1.25.3 and nethttp@1.26.1. The baseline is a build of the
// first subject with the first toolchain, unless cfg names a subject, a version (as written, or
// as resolved) or both. The others take part once, which a note in the results says.
func (c *Catalogue) UseToolchains(cfg *Config, list []toolchain.Toolchain) error {
	c.builds = map[string]build{}
	asked, fixed := cfg.Baseline, cfg.BaselineSet
	cfg.Baseline = ""
	var names []string
	for _, name := range cfg.Subjects {
		s, err := c.find(name)
		if err != nil {
			return err
		}
		if !s.builtByGo() {
			names = append(names, name)
			if fixed && asked == name {
				cfg.Baseline = name
			}
			if name != floorName {
				cfg.Notes = append(cfg.Notes, name+" takes part once: it is not built by the command go")
			}
			continue
		}
		for i := range list {
			t := &list[i]
			full := name + "@" + t.Short()
			c.builds[full] = build{of: name, with: t}
			names = append(names, full)
			spelled := []string{name, t.Asked, t.Short(), t.Version, name + "@" + t.Asked, full}
			if cfg.Baseline == "" && (!fixed || slices.Contains(spelled, asked)) {
				cfg.Baseline = full
			}
		}
	}
	switch {
	case len(c.builds) == 0:
		return fmt.Errorf("--go: none of the subjects %v is built by the command go; name one that is, such as nethttp, or a subject file with a build of go", cfg.Subjects)
	case cfg.Baseline == "":
		return &UnknownError{What: "baseline", Name: asked, Known: names}
	}
	cfg.Subjects = names
	return nil
}

// leaveOut records a subject that its toolchain cannot build, and makes the next build of the
// same subject the baseline if it was that and nobody has asked for it.
func (b *bench) leaveOut(i int, err error) error {
	s := b.subjects[i]
	if s.role == roleBaseline && b.cfg.BaselineSet {
		return fmt.Errorf("the baseline cannot be built: %w", err)
	}
	wasBaseline := s.role == roleBaseline
	s.role = roleSubject
	b.tell(Step{Phase: "build", Subject: s.Name, Err: fmt.Errorf("left out: %w", err)})
	described := s.describe()
	described.LeftOut = err.Error()
	b.file.Subjects = append(b.file.Subjects, described)
	b.file.Notes = append(b.file.Notes, fmt.Sprintf("%s is left out: %v", s.Name, err))
	if !wasBaseline {
		return nil
	}
	for _, next := range b.subjects[i+1:] {
		if next.of == s.of {
			next.role = roleBaseline
			b.cfg.Baseline, b.file.Config.Baseline = next.Name, next.Name
			b.file.Notes = append(b.file.Notes, fmt.Sprintf("%s is the baseline, as %s is left out", next.Name, s.Name))
			return nil
		}
	}
	return fmt.Errorf("no version of --go can build %s: %w", s.of, err)
}

// comparable returns an error if subjects were left out and fewer than two builds remain.
func (b *bench) comparable(fit []*Subject) error {
	var builds []string
	for _, s := range fit {
		if s.with != nil && s.role != roleTwin {
			builds = append(builds, s.Name)
		}
	}
	if len(b.cfg.Go) > 1 && len(builds) == 1 && len(fit) < len(b.subjects)+1 {
		return fmt.Errorf("only %s can be built, so that there is nothing to compare: add a newer version to --go", builds[0])
	}
	return nil
}

// buildTimeout bounds the build of a subject.
const buildTimeout = 10 * time.Minute

// build builds the server of a subject file into dir, if the file has a build command.
func (s *Subject) build(ctx context.Context, kept toolchain.Cache, dir string) error {
	if len(s.Build) == 0 {
		return nil
	}
	for _, tool := range s.Tools {
		if err := s.look(tool); err != nil {
			return &missingError{tool, err}
		}
	}
	if err := s.look(s.Build[0]); err != nil {
		return err
	}
	s.bin = filepath.Join(dir, s.Name)
	return s.compile(ctx, kept, s.here, s.Build)
}

// missingError reports that a tool is missing with which a subject is built.
type missingError struct {
	tool string
	err  error
}

func (e *missingError) Error() string {
	return fmt.Sprintf("it is built by %s, which is not installed here: %v", e.tool, e.err)
}

func (e *missingError) Unwrap() error { return e.err }

// absent reports whether a subject cannot be built because of this machine: it is left out.
func absent(err error) bool {
	_, missing := errors.AsType[*missingError](err)
	return missing || toolchain.IsTooOld(err)
}

// compile runs a command in dir that builds {bin}, with the subject's toolchain if it has one. It links
// nothing that is among the kept programs.
func (s *Subject) compile(ctx context.Context, kept toolchain.Cache, dir string, command []string) error {
	args := make([]string, len(command))
	for i, a := range command {
		args[i] = s.fixed().Replace(a)
	}
	if s.with != nil {
		return kept.Build(s.bin, dir, s.with.Name, command, func() error { return s.with.Build(ctx, dir, s.bin, args) })
	}
	return kept.Build(s.bin, dir, "", command, func() error { return run(ctx, dir, args) })
}

// run runs a command that builds a subject.
func run(ctx context.Context, dir string, args []string) error {
	ctx, cancel := context.WithTimeout(ctx, buildTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.WaitDelay = dir, stopTimeout
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}
