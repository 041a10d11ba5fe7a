#!/usr/bin/env bash
# Prints the folder of a Node 22: the one on PATH when it is new enough, else one that is
# installed from the npm registry into .cache on first use. Some tools need what Node 20 lacks.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "$(node -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0)" -ge 22 ]; then
  dirname "$(command -v node)"
  exit
fi
home="$PWD/.cache/node22"
if [ ! -x "$home/node_modules/node/bin/node" ]; then
  command -v npm >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends npm; } >&2
  mkdir -p "$home"
  npm install --prefix "$home" --no-save --no-audit --no-fund node@22 >&2
fi
echo "$home/node_modules/node/bin"
