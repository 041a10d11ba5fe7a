#!/usr/bin/env bash
# Everything a change must pass, part by part, each with its time. A failing part does not
# stop the others: one run shows everything that is wrong.
#
#   scripts/check.sh             all parts
#   scripts/check.sh vet laws    only these
set -uo pipefail
cd "$(dirname "$0")/.."
export GOFLAGS="${GOFLAGS:--buildvcs=false}"

format() { local bad; bad=$(gofmt -l $(git ls-files '*.go')) && [ -z "$bad" ] || { echo "not formatted: $bad"; return 1; }; }
vet() { go vet ./... && (cd infra && go vet ./...) && (cd tests/emulators && go vet ./...); }
static() { go run -modfile=tools/go.mod honnef.co/go/tools/cmd/staticcheck ./...; }
generated() { go run ./scripts/generate -check; }
laws() { go test -count=1 .; }
tests() { make -s test; }
mutants() { make -s mutants; }
race() { make -s race; }
functions() { go run ./scripts/functions -twice; }
infra() { local node; node=$(bash scripts/node22.sh) && (cd infra && PATH="$node:$PATH" go test ./...); }
emulators() { make -s emulators; }
mcp() { bash scripts/mcp-conformance.sh; }
openapi() { bash scripts/openapi-lint.sh; }
browser() { bash scripts/browser.sh; }

parts=(format vet static generated laws tests mutants race functions infra emulators openapi browser mcp)
[ $# -gt 0 ] && parts=("$@")
failed=() report=()
for part in "${parts[@]}"; do
  printf '== %s\n' "$part"
  start=$SECONDS
  if "$part"; then result=ok; else result=FAILED; failed+=("$part"); fi
  report+=("$(printf '%-11s %-7s %5d s' "$part" "$result" $((SECONDS - start)))")
  printf '== %s\n\n' "${report[-1]}"
done
printf 'Parts:\n'
printf '  %s\n' "${report[@]}"
printf '  %-19s %5d s\n' total "$SECONDS"
if [ ${#failed[@]} -gt 0 ]; then
  printf 'failed: %s\n' "${failed[*]}"
  exit 1
fi
