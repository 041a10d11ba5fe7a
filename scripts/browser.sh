#!/usr/bin/env bash
# The pages in a real browser: axe on every page, light and dark, wide and narrow; a walk by
# keyboard; no error on the console; the same without JavaScript. Chromium comes from the
# distribution's packages, axe-core from npm, both on first use.
#
#   scripts/browser.sh [DIR]    screenshots go to DIR (default: a new temporary folder)
set -euo pipefail
cd "$(dirname "$0")/.."
export GOFLAGS="${GOFLAGS:--buildvcs=false}"
axe=4.14.1

BROWSER_CHROMIUM=$(bash scripts/chromium.sh | tail -n 1)
home="$PWD/.cache/axe-core-$axe"
if [ ! -f "$home/node_modules/axe-core/axe.min.js" ]; then
  node=$(bash scripts/node22.sh)
  mkdir -p "$home"
  PATH="$node:$PATH" npm install --prefix "$home" --no-save --no-audit --no-fund --ignore-scripts "axe-core@$axe" >&2
fi
BROWSER_AXE="$home/node_modules/axe-core/axe.min.js"
BROWSER_SHOTS="${1:-$(mktemp -d)}"
export BROWSER_CHROMIUM BROWSER_AXE BROWSER_SHOTS
go test -count=1 -tags browser -run '^TestBrowser' ./pkg/site
echo "screenshots: $BROWSER_SHOTS"
