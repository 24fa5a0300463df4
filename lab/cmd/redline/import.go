package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/imports"
	"github.com/redline-go/redline/lab/internal/file"
	"github.com/redline-go/redline/lab/load/scenario"
)

// importFlags are the flags of redline import, and those of its formats.
type importFlags struct {
	imports.Settings
	credentials, out string
	har              imports.HAROptions
	openAPI          imports.OpenAPIOptions
}

// newImport returns the command that writes scenarios from files of other tools.
func newImport() *cobra.Command {
	c := &cobra.Command{
		Use:   "import",
		Short: "Write a scenario from curl commands, a HAR file, OpenAPI or vegeta targets",
		Long: `Write a scenario for redline load --targets from files of other tools.

The scenario goes to standard output, unless --out names a file. What was left out
or changed is listed on standard error. The requests are not sent: redline load
--targets FILE --try sends each of them once and shows the answers.`,
		Example: `  redline import curl request.sh --out shop.yaml
  redline import har browser.har --no-assets --out shop.yaml
  redline import openapi openapi.yaml --base http://127.0.0.1:8080 --out shop.yaml
  redline import vegeta targets.txt | redline load --targets -`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				if name := cli.Nearest(strings.ToLower(args[0]), []string{"curl", "har", "openapi", "vegeta"}); name != "" {
					return cli.Usage("unknown format %q; did you mean %s? See redline import --help", args[0], name)
				}
				return cli.Usage("unknown format %q; the formats are curl, har, openapi and vegeta", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newImportCurl(), newImportHAR(), newImportOpenAPI(), newImportVegeta())
	return c
}

func newImportCurl() *cobra.Command {
	var f importFlags
	return f.command(&cobra.Command{
		Use:   "curl [FILE | -- COMMAND...]",
		Short: "Import curl commands, such as those copied from a browser",
		Long: `Import the curl commands of a file, of standard input, or of the command line after --.

The requests are made in turn. Nothing is executed: shell variables and
substitutions are errors. @FILE is relative to the current directory.`,
		Example: `  redline import curl request.sh --out shop.yaml
  redline import curl -- curl -X POST --json '{"item": 7}' http://127.0.0.1:8080/orders`,
	}, func(name string, source []byte) (*imports.Scenario, error) {
		return imports.Curl(name, source, readImported)
	})
}

func newImportHAR() *cobra.Command {
	var f importFlags
	c := f.command(&cobra.Command{
		Use:   "har [FILE]",
		Short: "Import the recording of a browser",
		Long: `Import the recording of a browser (HAR file: Save all as HAR in the developer tools).

The requests to one host become the steps of a flow, in the order of the recording,
with its pauses as think time.`,
		Example: `  redline import har browser.har --host shop.example.com --no-assets --credentials drop --out shop.yaml`,
	}, func(name string, source []byte) (*imports.Scenario, error) { return imports.HAR(name, source, f.har) })
	c.Flags().BoolVar(&f.har.NoAssets, "no-assets", false, "leave out images, fonts, style sheets, scripts and media")
	c.Flags().BoolVar(&f.har.NoCookies, "no-cookies", false, "leave out the cookies that the browser sent")
	c.Flags().BoolVar(&f.har.NoThink, "no-think", false, "leave out the pauses of the recording")
	return c
}

func newImportOpenAPI() *cobra.Command {
	var f importFlags
	c := f.command(&cobra.Command{
		Use:   "openapi [FILE]",
		Short: "Import the operations of an OpenAPI document",
		Long: `Import the operations of an OpenAPI document, version 3.0 or 3.1, in YAML or JSON.

Each GET operation becomes a target. Parameters and bodies are taken from examples,
defaults and enums, and generated from schemas otherwise: look at the result before
you use it. --all also imports operations that change data.`,
		Example: `  redline import openapi openapi.yaml --base http://127.0.0.1:8080 --out shop.yaml`,
	}, func(name string, source []byte) (*imports.Scenario, error) {
		return imports.OpenAPI(name, source, f.openAPI)
	})
	c.Flags().StringVar(&f.openAPI.Base, "base", "", "`URL` that paths are under (default: the document's first server)")
	c.Flags().BoolVar(&f.openAPI.All, "all", false, "import POST, PUT, PATCH and DELETE too")
	return c
}

func newImportVegeta() *cobra.Command {
	var f importFlags
	return f.command(&cobra.Command{
		Use:   "vegeta [FILE]",
		Short: "Import vegeta targets",
		Long: `Import vegeta targets, in its formats http and json.

The targets are requested in turn. redline load --targets reads the format http
directly, too.`,
		Example: `  redline import vegeta targets.json --out shop.yaml`,
	}, imports.Vegeta)
}

// command completes the command of a format; read parses its sources.
func (f *importFlags) command(c *cobra.Command, read func(name string, source []byte) (*imports.Scenario, error)) *cobra.Command {
	c.Args = func(c *cobra.Command, args []string) error {
		words := c.ArgsLenAtDash() >= 0 && c.Name() == "curl"
		if len(args) > 1 && !words {
			return cli.Usage("name one file, such as %s FILE; there are %d arguments", c.CommandPath(), len(args))
		}
		if words && (c.ArgsLenAtDash() > 0 || len(args) == 0) {
			return cli.Usage("write a file, or a command after --, such as %s -- curl http://127.0.0.1:8080/", c.CommandPath())
		}
		return nil
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := f.resolve(); err != nil {
			return err
		}
		var s *imports.Scenario
		var err error
		from := "."
		if c.ArgsLenAtDash() == 0 && c.Name() == "curl" {
			s, err = imports.CurlWords(args, readImported)
		} else {
			name := "-"
			if len(args) == 1 {
				name = args[0]
			}
			if c.Name() == "vegeta" {
				from = filepath.Dir(name) // like redline load, which reads vegeta's files too
			}
			if err := cli.CheckOutput("out", f.out, name); err != nil {
				return err
			}
			var source []byte
			if source, err = readSource(name, c.InOrStdin()); err != nil {
				return err
			}
			s, err = read(name, source)
		}
		if err != nil {
			return err
		}
		return f.write(c, s, from)
	}
	c.Flags().StringVar(&f.out, "out", "-", "`FILE` for the scenario, .yaml; - is standard output")
	c.Flags().StringVar(&f.Host, "host", "", "`HOST`, or HOST:PORT, whose requests are imported (default: that of the first request)")
	c.Flags().StringVar(&f.credentials, "credentials", string(imports.Keep), "`CHOICE` for Authorization, Cookie and similar fields: keep, variables (their values at the top of the file) or drop")
	return c
}

// resolve validates the flags.
func (f *importFlags) resolve() error {
	f.Credentials = imports.Credentials(f.credentials)
	if !slices.Contains([]imports.Credentials{imports.Keep, imports.Variable, imports.Drop}, f.Credentials) {
		return cli.Usage("--credentials %s: write keep, variables or drop", f.credentials)
	}
	if ext := strings.ToLower(filepath.Ext(f.out)); f.out != "-" && !strings.HasPrefix(f.out, "/dev/") && ext != ".yaml" && ext != ".yml" {
		return cli.Usage("--out %s: the scenario is YAML; name the file %s.yaml", f.out, strings.TrimSuffix(f.out, filepath.Ext(f.out)))
	}
	if b := f.openAPI.Base; b != "" && !strings.HasPrefix(b, "http://") && !strings.HasPrefix(b, "https://") {
		return cli.Usage("--base %s: write http://host:port", b)
	}
	return nil
}

// write finishes a scenario and writes it. Files that it names are relative to from.
func (f *importFlags) write(c *cobra.Command, s *imports.Scenario, from string) error {
	if err := s.Finish(f.Settings); err != nil {
		return err
	}
	to := "."
	if f.out != "-" && !strings.HasPrefix(f.out, "/dev/") {
		to = filepath.Dir(f.out)
	}
	if err := s.Relocate(from, to); err != nil {
		return err
	}
	text, err := s.YAML()
	if err != nil {
		return err
	}
	for _, note := range s.Notes {
		fmt.Fprintln(c.ErrOrStderr(), "note:", note)
	}
	if f.out == "-" {
		_, err := c.OutOrStdout().Write(text)
		return err
	}
	if err := file.Write(f.out, text); err != nil {
		return fmt.Errorf("write the scenario: %w", err)
	}
	return nil
}

// readSource reads a whole source; - is standard input.
func readSource(name string, stdin io.Reader) ([]byte, error) {
	in := stdin
	if name != "-" {
		f, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: there is no such file; - is standard input", name)
		}
		if err != nil {
			return nil, fmt.Errorf("read the source: %w", err)
		}
		defer f.Close()
		in = f
	}
	source, err := io.ReadAll(io.LimitReader(in, imports.MaxSource+1))
	if err != nil {
		return nil, fmt.Errorf("read the source: %w", err)
	}
	if len(source) > imports.MaxSource {
		return nil, &scenario.Error{File: name, What: fmt.Sprintf("larger than %d MiB", imports.MaxSource>>20), Do: "import a part of it"}
	}
	return source, nil
}

// readImported reads a file that becomes part of a scenario.
func readImported(name string) ([]byte, error) {
	f, err := os.Open(cmp.Or(name, "."))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, imports.MaxSource))
}
