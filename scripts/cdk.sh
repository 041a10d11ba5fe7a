#!/usr/bin/env bash
# Prints the path of the CDK command: installed from the npm registry into .cache on first
# use. Its version is fixed: templates are made by infra/, the command only deploys them.
set -euo pipefail
cd "$(dirname "$0")/.."
version=2.1148.1
home="$PWD/.cache/cdk-$version"
if [ ! -x "$home/node_modules/.bin/cdk" ]; then
  node=$(bash scripts/node22.sh)
  mkdir -p "$home"
  PATH="$node:$PATH" npm install --prefix "$home" --no-save --no-audit --no-fund "aws-cdk@$version" >&2
fi
echo "$home/node_modules/.bin/cdk"
