#!/bin/sh
# images.sh: makes the images of docs/ anew, from a session of an example on the simulated driver. After ./check, whose
# build it uses.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build/bin/diogenes run --driver simulated --output "$work/als.diogenes" --report "$work/report.txt" -- build/bin/examples/als >/dev/null
build/bin/diogenes export "$work/als.diogenes" --format html -o "$work/report.html"
mkdir -p docs/images
cp tests/web/*.mjs build/release/web_tests
node build/release/web_tests/screenshot.mjs "$work/report.html" docs/images/page.png
