#!/usr/bin/env bash
# Starts an emulator of AWS on http://localhost:4566 and returns when it answers: MiniStack
# in Docker where Docker runs, else from pip (Python 3.10 or newer) as a process of this
# machine, which ends with `localstack/up.sh stop`. What it keeps is gone then.
set -euo pipefail
cd "$(dirname "$0")/.."
. localstack/environment.sh
home="$PWD/.cache/ministack-1.5.33"

if [ "${1:-}" = stop ]; then
  [ -f "$home/pid" ] && kill "$(cat "$home/pid")" && rm "$home/pid"
  docker info >/dev/null 2>&1 && docker compose -f localstack/compose.yaml down
  exit 0
fi
answers() { curl -fsS -o /dev/null "$AWS_ENDPOINT_URL/_localstack/health" 2>/dev/null; }
if answers; then echo "something answers on $AWS_ENDPOINT_URL already"; exit; fi
if docker info >/dev/null 2>&1; then
  docker compose -f localstack/compose.yaml up -d ministack
else
  if [ ! -x "$home/bin/ministack" ]; then
    python3 -m venv "$home"
    "$home/bin/pip" install --quiet ministack==1.5.33
  fi
  MINISTACK_REGION="$AWS_REGION" nohup "$home/bin/ministack" >"$home/log" 2>&1 &
  echo $! >"$home/pid"
fi
for _ in $(seq 100); do
  answers && { echo "AWS is played on $AWS_ENDPOINT_URL"; exit; }
  sleep 0.2
done
echo "no emulator answers on $AWS_ENDPOINT_URL" >&2
exit 1
