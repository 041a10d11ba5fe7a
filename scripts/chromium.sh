#!/usr/bin/env bash
# Prints the path of a Chromium, installed from the distribution's packages on first use.
set -euo pipefail
for name in chromium chromium-browser google-chrome; do
  if command -v "$name"; then exit; fi
done
{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; } >&2
command -v chromium
