# Guildhall: `make help` lists the targets. `make run` and `make test` need only Go.

GO ?= go
ARCH ?= arm64
export GOFLAGS ?= -buildvcs=false

.DEFAULT_GOAL := help
.PHONY: help run demo test check race generate verify functions synth deploy bench lambda-local mcp emulators clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## the whole exchange on http://127.0.0.1:8080, with the local controls
	$(GO) run ./cmd/guildhall serve --dev

demo: ## one deal, one help request, one handoff and one task, told step by step
	$(GO) run ./cmd/guildhall demo

test: ## every test that needs nothing but Go
	$(GO) test ./...
	cd tests/emulators && $(GO) test ./...

# SEEDS deals and as many whole exchanges, from seed FROM on: a long run can be split and resumed.
SEEDS ?= 100000
FROM ?= 1

sim: ## simulated deals and exchanges with faults (SEEDS=100000 FROM=1); prints what was reached
	cd pkg/bench/deals/path && $(GO) test -count=1 -timeout 0 -run Simulated -path.seeds=$(SEEDS) -path.seed=$(FROM)
	cd tests/simulation && $(GO) test -count=1 -v -timeout 0 -run Simulated -seeds=$(SEEDS) -seed=$(FROM)
	cd pkg/clock/morning && $(GO) test -count=1 -v -run EveryZone -morning.all

mutants: ## deliberate bugs, one at a time: the simulations must find each
	$(GO) run ./scripts/mutants

check: ## exactly what CI runs
	@bash scripts/check.sh

race: ## the tests of every package that starts goroutines, under the race detector
	$(GO) test -race $$($(GO) run ./scripts/parallel)

generate: ## functions/, docs/ and the OpenAPI documents from the catalog
	$(GO) run ./scripts/generate

verify: ## what URL (default: the local server) publishes, against the hashes it names
	$(GO) run ./scripts/verify -url $(or $(URL),http://127.0.0.1:8080)

functions: ## every Lambda function, built for linux/$(ARCH), zipped reproducibly (ARCH=amd64 TAGS=devclock)
	$(GO) run ./scripts/functions -arch $(ARCH) -tags "$(TAGS)"

synth: ## the CloudFormation templates in cdk.out, offline (needs node)
	@bash scripts/synth.sh

deploy: ## everything into the AWS account of the environment: SETTINGS="mailFrom=…", see docs/deploy.md
	@bash scripts/deploy.sh $(SETTINGS)

lambda-local: ## the synthesised template on this machine: real functions, no Docker, no account
	@bash scripts/lambda-local.sh

mcp: ## the MCP endpoints before the conformance suite, the TypeScript client and the inspector
	@bash scripts/mcp-conformance.sh

emulators: ## the adapters against AWS emulators, those on Node included
	@bash scripts/emulators.sh

bench: ## Go benchmarks, and what starts, memory and sizes are beside bare programs
	$(GO) test -run '^$$' -bench . -benchmem ./...
	$(GO) run ./scripts/budget

clean: ## remove what was built
	rm -rf bin dist dist-amd64 cdk.out
