# Redline: every command that a developer or CI needs. `make help` lists them.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS   += --no-print-directory
.DEFAULT_GOAL := help

MODULES  := . contrib examples/chi lab lab/diagnose/zoo peers
PACKAGES := ./... ./contrib/... ./examples/chi/... ./lab/... ./lab/diagnose/zoo/... ./peers/...
PORTABLE := $(filter-out ./peers/...,$(PACKAGES))
# Tests that differ with the race detector run twice, all others once: tools/tested says which. A test that
# only repeats code for the sake of documents, flags or other processes does it without the detector, see
# raced, slower and once in their packages.
PLAIN     = $$(tools/tested plain)
# The cases of the transports' suite that the race detector does not disturb: it has them on the same
# transports. All others run without it, and so do all on connections that only it has not.
RACED    := ^TestConformance$$/^(input|output|end|wake|deadline|duplex|hijack|transport|runtime|stay|leave)$$
RACE      = $$(tools/tested race)
# The packages with assembly, and the one that uses them: nothing else knows the tag purego. With it the
# standard library would be compiled anew as well, for every package that imports crypto.
ASSEMBLY  = ./internal/http1/...
WEB      := lab/report/web
CLIENTS  := conformance/clients
JS       := clients/js
BIN      := $(CURDIR)/.bin
TOOLS    := $(addprefix $(BIN)/,staticcheck gofumpt misspell)

BENCHFLAGS ?= --quick --out results/latest
FUZZTIME   ?= 10s
SOAK       ?= 10m
AATIME     ?= 10m
NEWER      ?= go1.27.4
# How long the tests of one package may take; nothing is expected to.
PATIENCE   ?= 30m
# How many packages are tested at a time. Their tests wait more than they compute: two a CPU would
# disturb each other.
JOBS       ?= $(shell echo $$((($$(getconf _NPROCESSORS_ONLN) * 3 + 1) / 2)))
# check runs all of go vet over all packages; what go test runs of it would take minutes, once for
# each way to compile.
TESTFLAGS  ?= -p $(JOBS) -vet=off -timeout $(PATIENCE)
CHROMIUM   ?= chromium

# $(call say,TEXT) announces a step.
say = echo "== $(1)"

# $(call each,MODULES,COMMAND) runs a command in each module and stops at the
# first that fails.
each = for m in $(1); do (cd $$m && $(2)) || { echo "failed in module $$m" >&2; exit 1; }; done

# $(call files,PATTERNS) lists the files that are written by hand.
files = find . -type d \( -name '.?*' -o -name node_modules -o -name testdata -o -name dist -o -path ./results \) -prune -o -type f \( -false $(foreach p,$(1),-o -name '$(p)') \) -print0

# $(call build,GOOS,GOARCH,PACKAGES) compiles for another system. go list -export compiles like go
# build, but links nothing, which takes a second for each of eighty commands: two are linked.
build = $(call say,build for $(1)/$(2)); CGO_ENABLED=0 GOOS=$(1) GOARCH=$(2) go list -export -f '{{.Export}}' $(3) >/dev/null; \
	CGO_ENABLED=0 GOOS=$(1) GOARCH=$(2) go build ./examples/hello ./lab/cmd/redline

# sums lists the checksum of every file of the checkout but the one that any go
# command may add to.
sums = find . -type d \( -name '.?*' -o -name node_modules -o -path ./results \) -prune -o -type f ! -name go.work.sum -exec sha256sum {} + | sort -k2

.NOTPARALLEL:
.PHONY: help bench aa dist test unit race chaos soak full newer push-faults h2spec conformance-h2 mcp clients js cgroup2 gomem gomem-layouts zoo bpf web check generate generated fuzz tools redline clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

bench: redline ## compare the servers side by side, quickly; report in results/latest
	@$(BIN)/redline bench $(BENCHFLAGS)

aa: ## measure false verdicts and power on a machine that is disturbed on purpose, for AATIME (10m) in the pattern AADISTURB (250ms/580ms)
	@go test -v -count=1 -vet=off -timeout $(PATIENCE) -run '^TestAA$$' ./lab/suite -aa $(AATIME) -aadisturb $(AADISTURB)

redline: ## build the lab's command as .bin/redline
	@go build -o $(BIN)/redline ./lab/cmd/redline

dist: ## build static binaries of the lab's command into dist, with checksums
	@rm -rf dist && mkdir dist
	@for arch in amd64 arm64; do \
		$(call say,redline for linux/$$arch); \
		CGO_ENABLED=0 GOOS=linux GOARCH=$$arch go build -trimpath -ldflags '-s -w' -o dist/redline-linux-$$arch ./lab/cmd/redline; \
	done
	@cd dist && sha256sum redline-* >SHA256SUMS && sha256sum -c --quiet SHA256SUMS && cat SHA256SUMS

test: unit race chaos web js check ## everything that CI gates on

unit:
	@$(call say,tests without the race detector)
	@tools/need curl curl
	@tools/need openssl openssl
	@[ "$$(uname)" != Linux ] || tools/need ip iproute2
	@[ "$$(uname)" != Linux ] || tools/need strace strace
	@[ "$$(uname)" != Linux ] || tools/need redis-server redis-server
	@[ "$$(uname)" != Linux ] || tools/need nginx nginx
	@[ "$$(uname)" != Linux ] || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || tools/need pg_ctlcluster postgresql
	@tools/need $(CHROMIUM) chromium
	@CHROMIUM=$$(command -v $(CHROMIUM)) go test $(TESTFLAGS) -skip '$(RACED)' $(PLAIN)
	@GOWORK=off go -C conformance test $(TESTFLAGS) .

race:
	@$(call say,tests with the race detector)
	@tools/need gcc gcc libc6-dev
	@[ "$$(uname)" != Linux ] || tools/need nginx nginx
	@CGO_ENABLED=1 go test -race $(TESTFLAGS) $(RACE)

chaos:
	@$(call say,hostile clients with the race detector)
	@CGO_ENABLED=1 go test -race -vet=off -count=1 -timeout 10m -run '^TestSoak$$' . -soak 24s

soak: ## have hostile clients at the engine for SOAK (10m)
	@go test -v -count=1 -timeout 0 -run '^TestSoak$$' . -soak $(SOAK)

full: ## run the engine's long tables whole on every transport, and bodies of a gibibyte
	@go test -count=1 -timeout $(PATIENCE) . -full

# golang.org/x/net/http2 built with Go 1.27 is a face of net/http, whose client opens no WebSocket over HTTP/2:
# the tag lets tests have its own client.
newer: ## run the tests of what users build into their programs, or look into, with NEWER (go1.27.4)
	@GOTOOLCHAIN=$(NEWER) go test $(TESTFLAGS) -tags http2legacy . ./internal/... ./push/... ./restart/... ./certs/... ./tickets/... ./examples/... ./contrib/... ./lab/gomem/... ./lab/profile/... ./lab/trace/...

push-faults: ## attacks on the push hub and its faults, and killed nodes, brokers and disks of its cluster, at ten times the size of make test
	@go test -v -count=1 -timeout $(PATIENCE) ./contrib/pushfaults -full
	@go test -v -count=1 -timeout $(PATIENCE) ./push -run 'Storm|Together|Stalled|Vanished|ModelRestarts' -scale 10
	@go test -v -count=1 -timeout $(PATIENCE) ./contrib/pushnats -run 'Killed|Disk|Partition' -scale 10

h2spec: ## hold every transport against h2spec, in clear and over TLS
	@GOWORK=off go -C conformance test -count=1 -timeout $(PATIENCE) -run '^TestH2spec$$' . -full

conformance-h2: ## hold every transport against all suites for HTTP/2
	@GOWORK=off go -C conformance test -count=1 -timeout $(PATIENCE) -skip '^Test(Clients|MCP)$$' . -full

mcp: $(CLIENTS)/node_modules/.package-lock.json ## have the conformance suite of the Model Context Protocol at every transport, over TLS
	@GOWORK=off go -C conformance test -v -count=1 -timeout $(PATIENCE) -run '^TestMCP$$' . -full

clients: $(CLIENTS)/node_modules/.package-lock.json $(BIN)/clients/installed ## have real clients of HTTP at every transport: curl, browsers, libraries
	@$(call say,clients)
	@tools/need curl curl
	@tools/need nghttp nghttp2-client
	@tools/need h2load nghttp2-client
	@tools/need java default-jdk-headless
	@tools/need $(CHROMIUM) chromium
	@tools/need certutil libnss3-tools
	@CHROMIUM=$$(command -v $(CHROMIUM)) GOWORK=off go -C conformance test -v -count=1 -timeout $(PATIENCE) -run '^TestClients$$' . -full
	@go test -v -count=1 -timeout $(PATIENCE) ./contrib/mercure -run '^TestClients$$' -clients

cgroup2: ## watch limits and run out of memory with version 2 of control groups, in an emulated machine
	@tools/need qemu-system-x86_64 qemu-system-x86
	@tools/need busybox busybox-static
	@tools/need cpio cpio
	@tools/cgroup2 $(BIN)/cgroup2

gomem: ## read programs that every Go toolchain of the table builds, in every build
	@tools/need gcc gcc libc6-dev
	@go test -v -count=1 -timeout $(PATIENCE) -run '^TestToolchain' ./lab/gomem -toolchains

zoo: redline ## diagnose every service of the zoo and its twin, and write the table of docs/diagnose.md
	@cd lab/diagnose/zoo && go run ./cmd/zoo -redline $(BIN)/redline -doc $(CURDIR)/docs/diagnose.md -check

gomem-layouts: ## write the table of the Go runtime's layouts anew, from downloaded toolchains
	@go test -count=1 -timeout $(PATIENCE) -run '^TestLayouts$$' ./lab/gomem -layouts

bpf: ## compile the eBPF programs of the watch
	@tools/need clang clang
	@tools/need llvm-strip llvm
	@[ -e /usr/include/bpf/bpf_helpers.h ] || { echo 'need the headers of libbpf: apt-get install libbpf-dev' >&2; exit 1; }
	@cd lab/watch/bpf/program && clang -O2 -g -target bpf -mcpu=v3 -Wall -Werror -idirafter /usr/include/$$(uname -m)-linux-gnu \
		-fdebug-compilation-dir=. -DSOURCE="\"$$(LC_ALL=C; cat src/* | sha256sum | cut -d ' ' -f 1)\"" -c src/watch.bpf.c -o watch_bpfel.o
	@llvm-strip -g lab/watch/bpf/program/watch_bpfel.o

$(CLIENTS)/node_modules/.package-lock.json: $(CLIENTS)/package.json $(CLIENTS)/package-lock.json
	@tools/need npm nodejs npm
	@npm --prefix $(CLIENTS) ci --silent
	@touch $@

$(BIN)/clients/installed: $(CLIENTS)/requirements.txt
	@tools/need python3 python3
	@python3 -c 'import ensurepip' 2>/dev/null || { apt-get update -q && apt-get install -y -q python3-venv; } >/dev/null || { echo 'need the venv module of Python: apt-get install python3-venv' >&2; exit 1; }
	@python3 -m venv $(BIN)/clients
	@$(BIN)/clients/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@

web: $(WEB)/node_modules/.package-lock.json
	@$(call say,tests of the report in a browser)
	@tools/need $(CHROMIUM) chromium
	@CHROMIUM=$$(command -v $(CHROMIUM)) npm --prefix $(WEB) test --silent

$(WEB)/node_modules/.package-lock.json: $(WEB)/package.json $(WEB)/package-lock.json
	@$(call say,packages of the report)
	@tools/need npm nodejs npm
	@node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' || { echo "need Node.js 20, found $$(node --version)" >&2; exit 1; }
	@npm --prefix $(WEB) ci --silent
	@touch $@

js: $(JS)/node_modules/.package-lock.json ## test the browser client of the hub, in Node.js and in a browser
	@$(call say,tests of the browser client)
	@tools/need $(CHROMIUM) chromium
	@CHROMIUM=$$(command -v $(CHROMIUM)) npm --prefix $(JS) test --silent

$(JS)/node_modules/.package-lock.json: $(JS)/package.json $(JS)/package-lock.json
	@$(call say,packages of the browser client)
	@tools/need npm nodejs npm
	@node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' || { echo "need Node.js 20, found $$(node --version)" >&2; exit 1; }
	@npm --prefix $(JS) ci --silent
	@touch $@

check: $(TOOLS) generated ## architecture, vet, linters, formatting, cross-builds, generated files
	@$(call say,architecture)
	@go test -count=1 ./internal/archtest
	@$(call say,vet)
	@go vet $(PACKAGES)
	@go vet -tags twin ./lab/diagnose/zoo/...
	@GOWORK=off go -C conformance vet ./...
	@$(call say,staticcheck)
	@$(BIN)/staticcheck $(PACKAGES)
	@$(BIN)/staticcheck -tags twin ./lab/diagnose/zoo/...
	@$(call say,gofumpt)
	@list=$$($(call files,*.go) | grep -zv '\.pb\.go$$' | xargs -0 $(BIN)/gofumpt -l); \
	[ -z "$$list" ] || { printf 'not formatted, run .bin/gofumpt -w:\n%s\n' "$$list" >&2; exit 1; }
	@$(call say,spelling)
	@$(call files,*.go *.md *.ts *.mjs *.css *.html *.yaml *.yml Makefile) | xargs -0 $(BIN)/misspell -error -i rela
	@$(call build,linux,arm64,$(PACKAGES))
	@$(call build,darwin,arm64,$(PORTABLE))
	@$(call say,tests without assembly)
	@go test -tags purego $(TESTFLAGS) $(ASSEMBLY)
	@$(call say,install from outside)
	@tools/install
	@$(call say,requirements)
	@$(call each,$(MODULES) conformance tools,GOWORK=off go mod tidy -diff)
	@! grep -n '"resolved"' $(WEB)/package-lock.json $(CLIENTS)/package-lock.json $(JS)/package-lock.json || { echo 'package-lock.json names a registry: remove the resolved fields' >&2; exit 1; }

generate: $(WEB)/node_modules/.package-lock.json $(JS)/node_modules/.package-lock.json ## write the generated files anew
	@go generate $(PACKAGES)
	@npm --prefix $(WEB) run build --silent
	@npm --prefix $(JS) run live --silent

generated: $(WEB)/node_modules/.package-lock.json $(JS)/node_modules/.package-lock.json
	@$(call say,generated files)
	@npm --prefix $(WEB) run check --silent
	@npm --prefix $(JS) run check --silent
	@before=$$(mktemp); trap 'rm -f "$$before"' EXIT; $(sums) >"$$before"; \
	$(MAKE) generate; \
	diff <($(sums)) "$$before" >/dev/null || { echo 'generated files were out of date, commit what make generate wrote:' >&2; \
	diff <($(sums)) "$$before" | awk '/^[<>]/ { print $$3 }' | sort -u >&2; exit 1; }

fuzz: ## run every fuzz target for FUZZTIME (10s)
	@targets=$$(go test -list '^Fuzz' $(PACKAGES) | \
	awk '/^Fuzz/ { names[++n] = $$1 } /^ok/ { for (i = 1; i <= n; i++) print $$2, names[i]; n = 0 }'); \
	while read -r package name; do \
		[ -n "$$name" ] || { echo 'no fuzz targets' >&2; exit 1; }; \
		$(call say,fuzz $$package $$name); \
		go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) "$$package" </dev/null; \
	done <<<"$$targets"

tools: $(TOOLS) ## install the linters into .bin

$(TOOLS) &: tools/go.mod tools/go.sum
	@$(call say,linters)
	@GOBIN=$(BIN) GOWORK=off go -C tools install tool
	@touch $(TOOLS)

clean: ## remove what the targets build, but not what they measured
	@rm -rf .bin dist $(WEB)/node_modules $(CLIENTS)/node_modules $(JS)/node_modules $(JS)/dist
