#!/bin/sh
# The parts that run outside a target (readers, analysis, views, driver files, launcher), built with sanitizers; their tests.
set -eu
cd "$(dirname "$0")/.."
folder=build/sanitize
ci/build-sanitized.sh
targets=$(ctest --test-dir "$folder" -N -L outside | sed -n 's/^ *Test *#[0-9]*: //p')
[ -n "$targets" ]
# shellcheck disable=SC2086 # one word a target
ninja -C "$folder" $targets >build/sanitize.log 2>&1 || {
  tail -n 40 build/sanitize.log
  exit 1
}
ASAN_OPTIONS=detect_leaks=1 ctest --test-dir "$folder" --output-on-failure --no-tests=error -L outside -j "$(nproc)"
