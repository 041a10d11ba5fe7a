#!/usr/bin/env bash
# Executes the synthesised template on this machine: builds the functions for it (tag
# devclock), synthesises, and serves the API with the local controls. Needs Go and Node.
#
#   scripts/lambda-local.sh                      serves on 127.0.0.1:8080 until interrupted
#   scripts/lambda-local.sh smoke                calls every function once
#   scripts/lambda-local.sh stories [PATTERN]    runs the stories of tests/story against it, and files
#   scripts/lambda-local.sh build                only builds and synthesises: dist-local, dist-local/cdk.out
set -euo pipefail
cd "$(dirname "$0")/.."
export GOFLAGS="${GOFLAGS:--buildvcs=false}"
arch=$(go env GOARCH)
declare -A names=([amd64]=x86_64 [arm64]=arm64)
go run ./scripts/functions -arch "$arch" -tags devclock -out dist-local
CDK_OUTDIR="$PWD/dist-local/cdk.out" bash scripts/synth.sh "dist=dist-local" "arch=${names[$arch]}" texts=on # into the runner's box
go build -o bin/lambda-local ./scripts/lambdalocal/cmd
(cd tests/emulators && go build -o ../../bin/fakes3 ./fakes3) # a module of its own
case "${1:-}" in
  build) ;;
  smoke) exec bin/lambda-local -s3 bin/fakes3 -quiet -smoke ;;
  stories)
    tests="TestFiles|TestStories"
    [ -z "${2:-}" ] || tests="TestStories/$2"
    exec go test -tags lambdalocal -count=1 -v ./scripts/lambdalocal -run "$tests" ;;
  *) exec bin/lambda-local -s3 bin/fakes3 -addr 127.0.0.1:8080 "$@" ;;
esac
