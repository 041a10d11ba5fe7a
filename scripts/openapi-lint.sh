#!/usr/bin/env bash
# Lints the OpenAPI documents under redocly's recommended rules. Needs npm.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$(bash scripts/node22.sh):$PATH"
export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true
npx --yes @redocly/cli@2.77.0 lint --extends=recommended --max-problems 50 pkg/spec/documents/*.json
