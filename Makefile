# `make` lists the targets. Go, make and git are all that is needed; `make test`
# also wants a C compiler, for the race detector.

GO ?= go
SOAK ?= 10000
ADDR ?= 127.0.0.1:7777
PROMPT ?= Count the Go files in internal/agent and summarise README.md and list the top-level folders
export PROMPT

LINT := .tools/bin/golangci-lint@v2.12.2
SUMTYPE := .tools/bin/go-check-sumtype@v0.3.1

# All code is watched for races but SQLite itself, which is C in the form of Go:
# watched, it takes five times as long, and there is nothing in it to find.
RACE := -race -gcflags='modernc.org/...=-race=false'

# Without a home folder Go has no place for its caches, nor have the linters.
ifeq ($(and $(HOME),$(wildcard $(HOME)/.)),)
export HOME := $(CURDIR)/.cache/home
$(shell mkdir -p '$(HOME)')
endif

# Go stamps the commit into the binary. Where git refuses to answer (a clone
# that belongs to somebody else) the build would fail instead of going without.
ifneq ($(shell git rev-parse --git-dir >/dev/null 2>&1 && echo yes),yes)
export GOFLAGS := $(strip $(shell $(GO) env GOFLAGS) -buildvcs=false)
endif

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run demo build test race soak bench oracle lint fmt generate types web e2e screenshots check clean \
	tidy-check generate-check fmt-check needs

help: ## List the targets
	@echo 'make TARGET, where TARGET is one of:'
	@awk -F ':.*## ' '/^[a-z][a-z0-9-]*:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## Build, and serve the web app (another port: ADDR=127.0.0.1:8000; the record goes to bin/data)
	@bin/cadre serve --data bin/data --addr $(ADDR)

demo: build ## Build, and run a demonstration task in the terminal (offline model; other task: PROMPT="...")
	@echo '==> an orchestrator and its sub-agents work on this task, with the offline model:'
	@echo "    $$PROMPT"
	@echo '    The record goes to bin/data.'
	@bin/cadre run --data bin/data --model offline "$$PROMPT"

build: ## Build bin/cadre
	$(GO) build -o bin/cadre ./cmd/cadre

test: needs build ## Run all tests: Go with the race detector, in random order; a brief fuzz; the web app, also in a browser
	CGO_ENABLED=1 $(GO) test $(RACE) -shuffle=on -p 4 -timeout 15m ./internal/tool/shell ./... # many wait for processes and disks, this one most: it begins first
	.ci/fuzz
	.ci/web check unit e2e

race: needs ## Run the tests of the core packages twice over with the race detector
	CGO_ENABLED=1 $(GO) test $(RACE) -shuffle=on -count=2 -timeout 30m \
		./internal/agent/... ./internal/store/... ./internal/feed/... ./internal/engine/...

soak: ## Crash and recover the engine many times over (10000, or SOAK=N; up to 2 hours)
	CADRE_SOAK=$(SOAK) $(GO) test -run 'Crash|Soak' -timeout 2h ./internal/engine/...

oracle: ## Have the vendors' own clients decode the model fixtures anew (a module of its own; a first build takes a minute)
	cd oracle && $(GO) run .

bench: ## Measure Cadre against its bars, beside a floor and two peers, and write docs/benchmarks.md (up to 25 minutes, on a quiet machine)
	cd bench && $(GO) run .

lint: $(LINT) $(SUMTYPE) ## Run go vet and the linters (building them the first time takes minutes)
	$(GO) vet ./...
	$(SUMTYPE) -default-signifies-exhaustive=false ./...
	$(LINT) run ./...

fmt: $(LINT) ## Format the Go files
	$(LINT) fmt ./...

generate: ## Run go generate
	$(GO) generate ./...

types: ## Write the OpenAPI document and the web app's types anew (needs Node)
	$(GO) generate ./internal/api
	cd web && npm run types

web: ## Build the web app into internal/web/dist, and test it (needs Node 20.19 or newer)
	.ci/web build unit

e2e: build ## Test the web app in a browser, on the real server
	.ci/web e2e

screenshots: build ## Take the pictures of the README anew
	.ci/web shots

check: tidy-check generate-check fmt-check lint test ## Everything a change must pass: go.mod, generated code, format, lint, tests
	@echo '==> all checks passed'

clean: ## Remove what was built here, the linters too
	@chmod -R u+w .cache 2>/dev/null || true
	rm -rf bin .tools .cache

tidy-check:
	@echo '==> checking that go.mod and go.sum are tidy'
	$(GO) mod tidy -diff

generate-check:
	@echo '==> checking that generated code is up to date'
	.ci/generated

fmt-check: $(LINT)
	@echo '==> checking that the Go files are formatted'
	$(LINT) fmt --diff ./...

needs:
	@.ci/needs

# The version is part of the file's name, so that a new one is built when the
# version above changes.
$(LINT): TOOL := github.com/golangci/golangci-lint/v2/cmd/golangci-lint
$(SUMTYPE): TOOL := github.com/alecthomas/go-check-sumtype/cmd/go-check-sumtype
$(LINT) $(SUMTYPE):
	@echo '==> building $(@F) into .tools/bin, once; golangci-lint takes some minutes'
	GOFLAGS= CGO_ENABLED=0 GOBIN='$(CURDIR)/.tools/bin' $(GO) install $(TOOL)@$(lastword $(subst @, ,$@))
	@mv .tools/bin/$(notdir $(TOOL)) $@
