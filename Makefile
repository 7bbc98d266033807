# Targets of the project; `make` alone lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
GO ?= go
LINT_VERSION := v2.15.0
FUZZTIME ?= 20s
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS := -s -w -X main.buildVersion=$(VERSION)

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sort | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | column -t -s "$$(printf '\t')"

.PHONY: demo
demo: postgres build ## See it work: a journal, a provider's statement, a run, a report (private PostgreSQL, no setup)
	@bin/reconciler demo

.PHONY: build
build: ## Build bin/reconciler
	@CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/reconciler ./cmd/reconciler

.PHONY: test
test: postgres browser office ## Run all tests, on a real PostgreSQL, browser and spreadsheet (installed if missing)
	$(GO) test -count=1 -shuffle=on -timeout 20m ./...

.PHONY: race
race: postgres browser office ## Run all tests under the race detector
	$(GO) test -count=1 -race -timeout 40m ./...

.PHONY: lint
lint: golangci-lint ## Check the style, the layers and the formatting
	$(LINT) config verify
	$(LINT) run ./...

.PHONY: bench
bench: postgres ## Measure what the program exists for: parse, load, match, apply
	$(GO) test -run '^$$' -bench . -benchmem ./money ./sources/... ./matcher ./postgres

.PHONY: fuzz
fuzz: ## Fuzz every parser for FUZZTIME each (default 20s)
	@set -e; for pkg in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$pkg 2>/dev/null | grep '^Fuzz' || true); do \
	    echo "== $$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$pkg; \
	  done; \
	done

.PHONY: check
check: lint test ## What CI runs

# What the targets above need on the machine, from the system's package manager.
.PHONY: postgres browser office golangci-lint
postgres:
	@.ci/install postgres
browser:
	@.ci/install browser
office:
	@.ci/install office

LINT = $(shell command -v golangci-lint || echo $(shell $(GO) env GOPATH)/bin/golangci-lint)
golangci-lint:
	@$(LINT) version 2>/dev/null | grep -q '$(LINT_VERSION:v%=%)' || \
	  $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)
