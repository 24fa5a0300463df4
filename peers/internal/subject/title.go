package subject

import (
	"path"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
)

var majorSuffix = regexp.MustCompile(`^v[0-9]+$`)

// Title is the name of a subject in results: the name and the version of the tested module
// ("echo 4.16.0"). For a package of the standard library, and for a subject that tests no
// module, the version is Go's ("net/http go1.26.8").
func Title(name, module string) string {
	if module == "" {
		module = name
	}
	if host, _, _ := strings.Cut(module, "/"); !strings.Contains(host, ".") {
		return module + " " + runtime.Version()
	}
	version := "(unknown version)"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dependency := range info.Deps {
			if dependency.Path != module {
				continue
			}
			if dependency.Replace != nil {
				dependency = dependency.Replace
			}
			version = strings.TrimPrefix(dependency.Version, "v")
			if version == "" { // a directory takes the module's place
				version = "(devel)"
			}
		}
	}
	return moduleName(module) + " " + version
}

// moduleName is the last element of a module's path that is not its major
// version.
func moduleName(module string) string {
	if majorSuffix.MatchString(path.Base(module)) {
		module = path.Dir(module)
	}
	return path.Base(module)
}
