#!/usr/bin/env bash
# The suites of the ports on emulators of AWS, and which adapter met which of them.
#
#   scripts/emulators.sh       all
#   scripts/emulators.sh go    those in this process: needs only Go
#   scripts/emulators.sh node  those on Node 22, installed into .cache on first use
set -euo pipefail
cd "$(dirname "$0")/.."
export GOFLAGS="${GOFLAGS:--buildvcs=false}"
which="${1:-all}"
fauxqs=2.4.1

args=(-count=1)
case "$which" in
  go) ;;
  all|node)
    node=$(bash scripts/node22.sh)
    home="$PWD/.cache/fauxqs-$fauxqs"
    if [ ! -f "$home/node_modules/fauxqs/dist/cli.js" ]; then
      mkdir -p "$home"
      PATH="$node:$PATH" npm install --prefix "$home" --no-save --no-audit --no-fund "fauxqs@$fauxqs"
    fi
    export EMULATOR_NODE="$node/node" EMULATOR_FAUXQS="$home/node_modules/fauxqs/dist/cli.js"
    args+=(-tags node -skip 'TestQueueOnFauxqs/a_sent_message_is_received_with_its_id,_body_and_time')
    [ "$which" = all ] || args+=(-run Fauxqs)
    ;;
  *) sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
# Without a package named, the output of a passing run is shown too, the report included.
(cd tests/emulators && go test "${args[@]}")
