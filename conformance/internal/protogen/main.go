// Command protogen generates the messages of Connect's conformance suite from the suite's own
// definitions: the module that has them keeps its generated code internal.
//
//	go generate ./internal/protogen
package main

//go:generate go run . ../conformancev1

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

const (
	suite  = "connectrpc.com/conformance"
	folder = "connectrpc/conformance/v1/"
	target = "github.com/redline-go/redline/conformance/internal/conformancev1"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run writes the generated files to a directory.
func run(dir string) error {
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", suite).Output()
	if err != nil {
		return fmt.Errorf("find module %s: %w", suite, err)
	}
	request := &pluginpb.CodeGeneratorRequest{}
	parameter := "paths=source_relative"
	for _, name := range []string{"config", "server_compat", "service"} {
		file := folder + name + ".proto"
		request.FileToGenerate = append(request.FileToGenerate, file)
		parameter += ",M" + file + "=" + target
	}
	request.Parameter = &parameter
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
		ImportPaths: []string{filepath.Join(strings.TrimSpace(string(module)), "proto")},
	})}
	files, err := compiler.Compile(context.Background(), request.FileToGenerate...)
	if err != nil {
		return fmt.Errorf("compile definitions: %w", err)
	}
	seen := map[string]bool{}
	for _, f := range files {
		request.ProtoFile = withImports(request.ProtoFile, f, seen)
	}
	return generate(request, dir)
}

// withImports appends the descriptors of a file, what it imports first.
func withImports(list []*descriptorpb.FileDescriptorProto, f protoreflect.FileDescriptor, seen map[string]bool) []*descriptorpb.FileDescriptorProto {
	if seen[f.Path()] {
		return list
	}
	seen[f.Path()] = true
	for i := range f.Imports().Len() {
		list = withImports(list, f.Imports().Get(i).FileDescriptor, seen)
	}
	return append(list, protoutil.ProtoFromFileDescriptor(f))
}

// generate has the plugin for Go generate the files of a request.
func generate(request *pluginpb.CodeGeneratorRequest, dir string) error {
	in, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "run", "google.golang.org/protobuf/cmd/protoc-gen-go")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("run protoc-gen-go: %w", err)
	}
	response := &pluginpb.CodeGeneratorResponse{}
	if err := proto.Unmarshal(out, response); err != nil {
		return err
	}
	if response.Error != nil {
		return fmt.Errorf("generate: %s", response.GetError())
	}
	for _, f := range response.File {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(f.GetName())), []byte(f.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
