#!/usr/bin/env bash
# Synthesises the CloudFormation templates into cdk.out: Go, and Node for jsii; no npm, no
# network, no account. It builds the functions, unless dist= names a folder of built ones.
#
#   scripts/synth.sh                          templates to look at
#   scripts/synth.sh name=hall tips=off       with settings, see docs/deploy.md
set -euo pipefail
cd "$(dirname "$0")/.."
export GOFLAGS="${GOFLAGS:--buildvcs=false}" CDK_OUTDIR="${CDK_OUTDIR:-$PWD/cdk.out}" JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=20
[[ " $* " == *" dist="* ]] || go run ./scripts/functions
settings=("mailFrom=Guildhall <notices@example.com>" "$@")
CDK_CONTEXT_JSON=$(node -e 'const o = {}; for (const a of process.argv.slice(1)) { const i = a.indexOf("="); o[a.slice(0, i)] = a.slice(i + 1) } console.log(JSON.stringify(o))' -- "${settings[@]}")
export CDK_CONTEXT_JSON
go build -C infra -o ../bin/infra .
rm -rf "$CDK_OUTDIR"
bin/infra
echo "$(find "$CDK_OUTDIR" -name '*.template.json' | wc -l) templates in $CDK_OUTDIR"
