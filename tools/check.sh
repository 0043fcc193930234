#!/usr/bin/env bash
# Every check that a change must pass, on the installed Node: npm run check. It installs nothing. Tests that need a program
# which is not installed are skipped with a message; with CI=true they fail instead. With --without-tests it runs only the
# other checks.
set -euo pipefail
cd "$(dirname "$0")/.."
export REDOCLY_TELEMETRY=off

step() { printf '\n== %s (%s s)\n' "$*" "$SECONDS"; }

if [ "${1:-}" != --without-tests ]; then
  step 'Build and tests'
  npm test
  step 'The image, the archive, and what stands in front'
  npm run test:deploy
  step 'The bank picker and the pages, in a browser'
  npm run test:browser
fi

step 'Lint, unused code, format, types, the OpenAPI document'
npm run lint
npm run types
npm run lint:openapi

step 'The demo starts, answers and stops on Ctrl-C'
output=$(mktemp)
set -m # A process group of its own, which Ctrl-C reaches as a whole.
PORT=0 MANAGEMENT_PORT=0 npm run --silent demo >"$output" 2>&1 &
demo=$!
set +m
trap 'kill -KILL -- "-$demo" 2>/dev/null || true; rm -f "$output"' EXIT
for _ in $(seq 60); do
  url=$(sed -n 's/^ *Bank list *//p' "$output")
  if [ -n "$url" ] || ! kill -0 "$demo" 2>/dev/null; then break; fi
  sleep 1
done
node --input-type=module -e '
  const banks = await (await fetch(process.argv[1])).json();
  console.log(`${banks.length} banks`);
  process.exitCode = banks.length >= 500 ? 0 : 1;
' "$url" || { cat "$output"; exit 1; }
kill -INT -- "-$demo"
# npm reports an interrupted command and does not wait for the demo, so check the demo's last line.
wait "$demo" || true
for _ in $(seq 10); do grep -q 'Everything has stopped' "$output" && break; sleep 1; done
grep 'Everything has stopped' "$output"

step 'Everything passed'
