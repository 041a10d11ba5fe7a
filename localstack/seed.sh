#!/usr/bin/env bash
# Prepares an emulator as an operator prepares an account, with secrets that open nothing,
# and deploys the whole exchange there: the same templates, functions and CDK command as for
# AWS. Functions are built for the processor of this machine.
set -euo pipefail
cd "$(dirname "$0")/.."
. localstack/environment.sh
aws sesv2 create-email-identity --email-identity example.com >/dev/null 2>&1 || true # there from the last time
export STRIPE_KEY=sk_test_of_an_emulator STRIPE_WEBHOOK_SECRET=whsec_of_an_emulator YES=1
arch=arm64
[ "$(uname -m)" = x86_64 ] && arch=x86_64
bash scripts/deploy.sh mailFrom='Guildhall <notices@example.com>' "arch=$arch" "$@"
