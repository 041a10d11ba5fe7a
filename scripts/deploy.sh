#!/usr/bin/env bash
# Deploys the exchange into the account and region of the AWS credentials in the environment.
# Run it again for every change: it only replaces what is different. docs/deploy.md explains
# every setting.
#
#   scripts/deploy.sh mailFrom='Guildhall <notices@example.com>' [name=value ...]
#
# The first run makes the secret keys, and wants the payment processor's in STRIPE_KEY and
# STRIPE_WEBHOOK_SECRET. Needs Go, Node, npm and the aws command. YES=1 asks nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOFLAGS="${GOFLAGS:--buildvcs=false}" CDK_DISABLE_CLI_TELEMETRY=true JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=20

name=guildhall keysSecret=guildhall/keys stripeSecret=guildhall/stripe mailFrom=
for setting in "$@"; do
  case "$setting" in
    name=*|keysSecret=*|stripeSecret=*|mailFrom=*) declare "${setting%%=*}=${setting#*=}" ;;
    *=*) ;;
    *) sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
done
[ -n "$mailFrom" ] || { echo "mailFrom is needed: scripts/deploy.sh mailFrom='Guildhall <notices@example.com>'" >&2; exit 2; }

# version prints the current version of a secret, nothing when there is none.
version() { aws secretsmanager get-secret-value --secret-id "$1" --query VersionId --output text 2>/dev/null || true; }
# keep makes a secret from the value on standard input, which no process list shows.
keep() { aws secretsmanager create-secret --name "$1" --secret-string file:///dev/stdin --query Name --output text; }
key() { printf '{"current":"%s"}' "$(head -c 32 /dev/urandom | base64 | tr -d '\n')"; }

if [ -z "$(version "$keysSecret")" ]; then
  printf '{"token":%s,"form":%s,"checkpoint":%s}' "$(key)" "$(key)" "$(key)" | keep "$keysSecret"
fi
if [ -z "$(version "$stripeSecret")" ]; then
  : "${STRIPE_KEY:?the secret key of the Stripe account is needed on the first run}" "${STRIPE_WEBHOOK_SECRET:?the signing secret of the webhook is needed on the first run}"
  printf '{"key":"%s","webhook":"%s"}' "$STRIPE_KEY" "$STRIPE_WEBHOOK_SECRET" | keep "$stripeSecret"
fi

# A reservation must leave 100 of the account's concurrency to the others; a new account has 10.
waiting=()
[ "$(aws lambda get-account-settings --query AccountLimit.ConcurrentExecutions --output text)" -ge 250 ] || waiting=(waiting=0)

arch=arm64 dist=dist
for setting in "$@"; do [ "$setting" = arch=x86_64 ] && arch=amd64 dist=dist-amd64; done
go run ./scripts/functions -arch "$arch"
export CDK_OUTDIR="$PWD/cdk.out"
bash scripts/synth.sh "dist=$dist" "${waiting[@]}" "$@" "keysVersion=$(version "$keysSecret")" "stripeVersion=$(version "$stripeSecret")"

cdk=$(bash scripts/cdk.sh)
PATH="$(bash scripts/node22.sh):$PATH"
export PATH
approval=broadening
[ "${YES:-}" = 1 ] && approval=never
"$cdk" bootstrap --app cdk.out
"$cdk" deploy --app cdk.out --all --concurrency 4 --require-approval "$approval" --outputs-file cdk.out/outputs.json
echo "The exchange answers at $(node -p "require('./cdk.out/outputs.json')['$name-shared'].Address")"
