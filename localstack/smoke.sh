#!/usr/bin/env bash
# Asks a seeded emulator for what strangers and agents ask, and looks at the clock's queues.
# The API is reached by its own host name, at the emulator's address.
set -euo pipefail
cd "$(dirname "$0")/.."
. localstack/environment.sh
api=$(aws apigatewayv2 get-apis --query "Items[?Name=='guildhall'].ApiId | [0]" --output text)
port="${AWS_ENDPOINT_URL##*:}"
go run ./scripts/smoke -url "http://$api.execute-api.localhost:$port" -connect "127.0.0.1:$port" -leave-out OPTIONS # see README.md
account=$(aws sts get-caller-identity --query Account --output text)
# (an older aws command knows the address for SQS by its flag only)
for context in bench person help peer commons; do
  n=$(aws sqs get-queue-attributes --endpoint-url "$AWS_ENDPOINT_URL" --queue-url "$AWS_ENDPOINT_URL/$account/guildhall-$context-sweep-dlq" \
    --attribute-names ApproximateNumberOfMessages --query Attributes.ApproximateNumberOfMessages --output text)
  [ "$n" = 0 ] || { echo "guildhall-$context-sweep-dlq holds $n messages" >&2; exit 1; }
done
echo "no dead letters"
