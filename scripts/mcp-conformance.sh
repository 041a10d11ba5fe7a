#!/usr/bin/env bash
# The MCP endpoints before real peers: the official conformance suite, the official
# TypeScript client, and the inspector. Needs npm; installs into .cache on first use.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOFLAGS="${GOFLAGS:--buildvcs=false}"

suite=0.1.16        # @modelcontextprotocol/conformance
next=0.2.0-alpha.12 # the same, for protocol version 2026-07-28
sdk=1.32.2
inspector=2.12.0

node=$(bash scripts/node22.sh)
export PATH="$node:$PATH"
home="$PWD/.cache/mcp-$suite-$next-$sdk-$inspector"
if [ ! -f "$home/complete" ]; then
  mkdir -p "$home"
  npm install --prefix "$home" --no-save --no-audit --no-fund --ignore-scripts \
    "@modelcontextprotocol/conformance@$suite" "conformance-next@npm:@modelcontextprotocol/conformance@$next" \
    "@modelcontextprotocol/sdk@$sdk" "@modelcontextprotocol/inspector@$inspector"
  touch "$home/complete"
fi
modules="$home/node_modules"

work=$(mktemp -d)
pids=()
finish() {
  for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done
  rm -rf "$work"
}
trap finish EXIT

# start NAME COMMAND…: runs a server and sets $address to what it prints first.
start() {
  local name=$1
  shift
  : >"$work/$name.out"
  "$@" >>"$work/$name.out" 2>"$work/$name.err" &
  pids+=($!)
  for _ in $(seq 100); do
    address=$(head -n 1 "$work/$name.out" | sed 's/^listening on //')
    [ -n "$address" ] && return
    sleep 0.1
  done
  cat "$work/$name.err" >&2
  echo "$name does not start" >&2
  return 1
}

# conforms PACKAGE ARGUMENTS…: runs the suite and shows its summary.
conforms() {
  local package=$1
  shift
  if node "$modules/$package/dist/index.js" server "$@" -o "$work/results" >"$work/suite.log" 2>&1; then
    grep -E '^Total|^✗' "$work/suite.log" || true
  else
    cat "$work/suite.log" >&2
    return 1
  fi
}

go build -o "$work/fixture" ./tests/mcp/fixture
go build -o "$work/guildhall" ./cmd/guildhall

echo "-- the fixtures of the suite behind our transport"
start fixture "$work/fixture"
conforms @modelcontextprotocol/conformance --url "$address" --expected-failures tests/mcp/stateless.yml
conforms conformance-next --url "$address" --spec-version 2026-07-28 --expected-failures tests/mcp/stateless-2026-07-28.yml

echo "-- the transport scenarios at the real endpoints"
start serve "$work/guildhall" serve --memory --dev --addr 127.0.0.1:0
base=$address
for door in /mcp /mcp/help /mcp/peer /mcp/commons; do
  for scenario in server-initialize ping tools-list dns-rebinding-protection; do
    conforms @modelcontextprotocol/conformance --url "$base$door" --scenario "$scenario" >/dev/null
  done
done

echo "-- the TypeScript client"
token=$(node tests/mcp/client.mjs "$base" "$modules")

echo "-- the inspector"
inspect() { node "$modules/.bin/mcp-inspector" --cli "$base/mcp" --transport http --header "Authorization: Bearer $token" "$@"; }
inspect --method tools/list | grep '"get_attention"' >/dev/null
inspect --method tools/call --tool-name get_attention --tool-arg wait=0 | grep attention_count >/dev/null
status=0
inspect --method tools/call --tool-name get_target_brief --tool-arg target_id=nothing >/dev/null 2>&1 || status=$?
[ "$status" = 5 ] # it says so when a tool refuses
echo "all of them are content"
