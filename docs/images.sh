#!/bin/sh
# images.sh [SESSION]: makes the images of docs/ anew; without SESSION from an example on the simulated driver, which wants
# a quiet machine. After ./check, whose build it uses.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
session=${1-}
if [ -z "$session" ]; then
  session=$work/als.diogenes
  build/bin/diogenes run --driver simulated --output "$session" --report "$work/report.txt" -- build/bin/examples/als >/dev/null
fi
build/bin/diogenes export "$session" --format html -o "$work/report.html"
mkdir -p docs/images
cp tests/web/*.mjs build/release/web_tests
node build/release/web_tests/screenshot.mjs "$work/report.html" docs/images/page.png
