#!/usr/bin/env bash
# Synthesises the CloudFormation templates into cdk.out: Node for jsii, no npm, no network.
set -euo pipefail
cd "$(dirname "$0")/.."
export CDK_OUTDIR="$PWD/${CDK_OUTDIR:-cdk.out}" CDK_DISABLE_CLI_TELEMETRY=true JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=20
export CDK_CONTEXT_JSON="${CDK_CONTEXT_JSON:-{\"aws:cdk:disable-asset-staging\":true\}}"
cd infra
exec go run .
